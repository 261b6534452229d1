// Mutexes between the steps of a session.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class MutexesTest : public SessionTest {
 protected:
  Output Mutex(const std::string& name) {
    const auto node = TryNode(name, "MutexV2", {}, {{"shared_name", std::string("m")}});
    EXPECT_TRUE(node.ok()) << node.status();
    return (*node)->output(0);
  }
  Output Lock(const Output& mutex) { return Op("MutexLock", {mutex}); }
  // Gives the lock back after other nodes.
  const Node* Consume(const Output& lock, const std::vector<const Node*>& after = {}) {
    build.set_control_inputs(after);
    const Node* const node = build.NodeOf("ConsumeMutexLock", {lock});
    build.set_control_inputs({});
    EXPECT_TRUE(build.ok()) << build.status();
    return node;
  }
};

TEST_F(MutexesTest, OneStepAtATimeHasIt) {
  constexpr int kThreads = 6;
  constexpr int kSteps = 50;
  const Output lock = Lock(Mutex("a"));
  std::atomic<int> inside{0};
  std::atomic<int> runs{0};
  build.set_control_inputs({lock.node});
  const Output section = AddBody(&build, BodyKind::kPlain, {Constant(1.0f)}, [&](MS_Frame* frame) {
    EXPECT_EQ(++inside, 1);
    ++runs;
    --inside;
    return GiveScalar(frame, 1);
  });
  build.set_control_inputs({});
  const Node* const consume = Consume(lock, {section.node});
  StartSession();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int step = 0; step < kSteps; ++step) EXPECT_EQ(Execute({consume}), absl::OkStatus());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs.load(), kThreads * kSteps);
}

TEST_F(MutexesTest, TheEndOfAStepGivesItBack) {
  const Output lock = Lock(Mutex("a"));
  const Output wrong = Constant(Tensor::Scalar(false));
  build.set_control_inputs({lock.node});
  const Node* const check = build.Variadic("Assert", {{wrong}, {wrong}});
  build.set_control_inputs({});
  ASSERT_TRUE(build.ok()) << build.status();
  ExpectError(Execute({check}), kInvalid, {"assertion failed"});
  EXPECT_EQ(Execute({lock.node}), absl::OkStatus()) << "nobody consumes it";
  EXPECT_EQ(Execute({Consume(lock)}), absl::OkStatus());
}

TEST_F(MutexesTest, WhoHasItWaitsForItself) {
  const Output mutex = Mutex("a");
  const Output same = Mutex("b");
  const Output first = Lock(mutex);
  build.set_control_inputs({first.node});
  const Output second = Lock(same);
  build.set_control_inputs({});
  const Node* const consume = Consume(first, {second.node});
  RunOptions options;
  options.timeout_ms = 30;
  ExpectError(Run({}, {}, {consume}, options).status(), absl::StatusCode::kDeadlineExceeded,
              {"waits for mutex 'm'", "(op MutexLock)"});
  EXPECT_EQ(Execute({Consume(Lock(mutex))}), absl::OkStatus());
}

TEST_F(MutexesTest, ALockIsConsumedOnce) {
  const Output lock = Lock(Mutex("a"));
  const Node* const first = Consume(lock);
  ExpectError(Execute({Consume(lock, {first})}), kInvalid,
              {"lock of mutex 'm' was consumed before", "(op ConsumeMutexLock)"});
}

TEST_F(MutexesTest, RefusesOtherHandles) {
  const Output variable = Variable("v", DataType::kFloat, PartialShape::Scalar());
  ExpectError(Execute({Lock(variable).node}), kInvalid, {"'mutex' is no handle of a mutex"});
}

}  // namespace
}  // namespace millstream
