// A session that several threads use, and steps that are stopped from outside.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "core/graph/structural_role.h"
#include "core/host/host_ctx.h"
#include "core/resources/resource_manager.h"
#include "core/session/session.h"
#include "core/structural/structural.h"
#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "framework/held_time_limits_for_tests.h"
#include "framework/op_registry.h"
#include "framework/shape_context.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// After so long in which a step stood still, it asks the front end, and its time limit is over.
constexpr auto kUntilDue = std::chrono::milliseconds(80);

constexpr int kThreads = 4;
constexpr int kStepsPerThread = 300;

// A resource that a step keeps for itself: TestKeep makes it, TestKept tells how many there are.
class Kept : public Resource {
 public:
  static constexpr char kType[] = "Kept";
  Kept() : Resource(kType) { ++alive; }
  ~Kept() override { --alive; }
  void Drop() override {}
  static inline std::atomic<int> alive{0};
};

Status Keep(StructuralFrame* frame) {
  StepContainer* const container = frame->step_container();
  return container->manager()->Create(container->Name(), "kept", MakeResource<Kept>());
}

Status CountKept(StructuralFrame* frame) {
  StepContainer* const container = frame->step_container();
  MS_RETURN_IF_ERROR(container->manager()->Lookup<Kept>(container->Name(), "kept").status());
  MS_ASSIGN_OR_RETURN(const Tensor count, frame->AllocateOutput(0, Shape()));
  *count.data<int32_t>() = Kept::alive;
  return absl::OkStatus();
}

MILLSTREAM_OP("TestKeep").Stateful().Shape(NoOutputs).Doc("Makes a resource of the step's.");
MILLSTREAM_OP("TestKept").Output("count: int32").Stateful().Shape(ScalarShape).Doc("Counts them.");
MILLSTREAM_STRUCTURAL("TestKeep", StructuralRole::kKernel, Keep);
MILLSTREAM_STRUCTURAL("TestKept", StructuralRole::kKernel, CountKept);

class SessionThreadsTest : public SessionTest {
 protected:
  static void OnThreads(const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(body, t);
    for (std::thread& thread : threads) thread.join();
  }

  // A node that stops at the PausePoint, and after it one that counts in the variable `ran`.
  const Node* PauseThenCount() {
    ran_ = Variable("ran", DataType::kInt32, PartialShape::Scalar());
    EXPECT_EQ(Execute({Assign(ran_, Constant(Tensor::Scalar<int32_t>(0)))}), absl::OkStatus());
    const Node* pause = build.NodeOf("TestPause", {});
    const Output one = Constant(Tensor::Scalar<int32_t>(1));
    build.set_control_inputs({pause});
    const Node* previous = build.NodeOf("AssignAddVariableOp", {ran_, one});
    for (int i = 0; i < 200; ++i) {
      build.set_control_inputs({previous});
      previous = build.NodeOf("AssignAddVariableOp", {ran_, one});
    }
    build.set_control_inputs({});
    return previous;
  }
  int32_t Count() { return *Value(Read(ran_)).data<int32_t>(); }

  Output ran_;
};

TEST_F(SessionThreadsTest, ManyThreadsShareASession) {
  const Output x = Placeholder("x", DataType::kFloat, {-1});
  const Output y = Op("Square", {Op("Neg", {x})});
  StartSession();
  OnThreads([&](int t) {
    for (int i = 0; i < kStepsPerThread; ++i) {
      // A few sizes, so that plans are compiled while others run.
      const float value = static_cast<float>(t * kStepsPerThread + i);
      const std::vector<float> fed(1 + i % 5, value);
      EXPECT_THAT(Elements<float>(Value(y, {{x, Values<float>(fed)}})), Each(value * value));
    }
  });
}

TEST_F(SessionThreadsTest, ManyThreadsShareACallable) {
  const Output x = Placeholder("x", DataType::kFloat, {100, 100});
  const Output y = Op("MatMul", {x, x});
  const Output sum = Op("Sum", {y, Constant(Values<int32_t>({0, 1}))});
  const std::unique_ptr<Callable> callable = MakeCallable({{x}, {sum, y}, {}});
  OnThreads([&](int t) {
    const float value = static_cast<float>(t + 1);
    const std::vector<Tensor> feeds = {
        Tensor::FromValues<float>({100, 100}, std::vector<float>(10000, value))};
    for (int i = 0; i < 50; ++i) {
      std::vector<Tensor> results(2);
      ASSERT_EQ(callable->Run(feeds, absl::MakeSpan(results), RunOptions()), absl::OkStatus());
      EXPECT_EQ(*results[0].data<float>(), 1e6f * value * value);
      EXPECT_THAT(Elements<float>(results[1]), Each(100 * value * value));
    }
  });
}

TEST_F(SessionThreadsTest, NoUpdateOfAVariableIsLost) {
  const Output w = Variable("w", DataType::kInt32, {64});
  const Output ones = Constant(Values<int32_t>(std::vector<int32_t>(64, 1)));
  const Node* add = build.NodeOf("AssignAddVariableOp", {w, ones});
  const Output value = Read(w);
  ASSERT_EQ(Execute({Assign(w, Op("ZerosLike", {ones}))}), absl::OkStatus());
  std::atomic<int> torn{0};
  OnThreads([&](int) {
    for (int i = 0; i < kStepsPerThread; ++i) {
      ASSERT_EQ(Execute({add}), absl::OkStatus());
      const Tensor seen = Value(value);
      for (const int32_t element : seen.flat<int32_t>()) torn += element != *seen.data<int32_t>();
    }
  });
  EXPECT_EQ(torn, 0);
  EXPECT_THAT(Elements<int32_t>(Value(value)), Each(kThreads * kStepsPerThread));
}

TEST_F(SessionThreadsTest, AStepFinishesWithWhatItReadBeforeAReset) {
  const Output w = Variable("w", DataType::kFloat, {2});
  ASSERT_EQ(Execute({Assign(w, Constant(Values<float>({1, 2})))}), absl::OkStatus());
  const Output value = Read(w);
  build.set_control_inputs({value.node});
  const Node* pause = build.NodeOf("TestPause", {});
  build.set_control_inputs({pause});
  const Output y = Op("Neg", {value});
  build.set_control_inputs({});
  PausePoint::Close();
  StatusOr<std::vector<Tensor>> step = absl::UnknownError("");
  std::thread runner([&] { step = Run({y}); });
  PausePoint::AwaitStep();
  ASSERT_EQ(session->ResetContainers({"another"}), absl::OkStatus());
  ASSERT_EQ(session->ResetContainers({"localhost"}), absl::OkStatus());
  PausePoint::Open();
  runner.join();
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_THAT(Elements<float>((*step)[0]), ElementsAre(-1, -2));
  ExpectError(Error(y), absl::StatusCode::kFailedPrecondition,
              {"Attempting to use uninitialized value w"});
}

TEST_F(SessionThreadsTest, ContainersAreResetWhileStepsRun) {
  const Output w = Variable("w", DataType::kInt32, {64});
  const Node* init = Assign(w, Constant(Values<int32_t>(std::vector<int32_t>(64, 1))));
  const Output value = Read(w);
  StartSession();
  std::atomic<bool> stop{false};
  std::thread resetter([&] {
    while (!stop) ASSERT_EQ(session->ResetContainers({}), absl::OkStatus());
  });
  std::atomic<int> torn{0};
  OnThreads([&](int) {
    for (int i = 0; i < kStepsPerThread; ++i) {
      ASSERT_EQ(Execute({init}), absl::OkStatus());
      const StatusOr<std::vector<Tensor>> seen = Run({value});
      if (!seen.ok()) {
        ASSERT_EQ(seen.status().code(), absl::StatusCode::kFailedPrecondition) << seen.status();
        continue;
      }
      for (const int32_t element : (*seen)[0].flat<int32_t>()) torn += element != 1;
    }
  });
  stop = true;
  resetter.join();
  EXPECT_EQ(torn, 0);
  // What one plan writes afterwards another one reads: they hold the same variable still.
  ASSERT_EQ(Execute({init}), absl::OkStatus());
  EXPECT_THAT(Elements<int32_t>(Value(value)), Each(1));
}

TEST_F(SessionThreadsTest, AResetOfTheProcessClosesItsSessions) {
  const Output w = Variable("w", DataType::kFloat, {2});
  const Node* init = Assign(w, Constant(Values<float>({1, 2})));
  ASSERT_EQ(Execute({init}), absl::OkStatus());
  const std::unique_ptr<Session> other = Session::Create(&graph, SessionOptions()).value();
  ASSERT_EQ(Session::ResetAll({}), absl::OkStatus());
  ExpectError(Execute({init}), absl::StatusCode::kFailedPrecondition, {"closed"});
  EXPECT_EQ(other->Run({{}, {}, {init}}, {}, {}, RunOptions()).code(),
            absl::StatusCode::kFailedPrecondition);
  StartSession();
  EXPECT_EQ(Execute({init}), absl::OkStatus());
}

TEST_F(SessionThreadsTest, EveryStepHasAContainerThatIsFreedAtItsEnd) {
  const Node* keep = build.NodeOf("TestKeep", {});
  build.set_control_inputs({keep});
  const Output kept = Op("TestKept", {});
  build.set_control_inputs({});
  StartSession();
  OnThreads([&](int) {
    for (int i = 0; i < 50; ++i) {
      const int32_t count = *Value(kept).data<int32_t>();
      EXPECT_GE(count, 1);
      EXPECT_LE(count, kThreads);
    }
  });
  EXPECT_EQ(Kept::alive, 0);
}

TEST_F(SessionThreadsTest, TheGraphGrowsWhileStepsRun) {
  const Output x = Constant(3.0f);
  const Output y = Op("Square", {x});
  StartSession();
  std::atomic<bool> stop{false};
  std::thread builder([&] {
    for (int i = 0; !stop; ++i) {
      NodeSpec spec;
      spec.name = absl::StrCat("extra", i);
      spec.op = "Neg";
      spec.inputs = {y};
      spec.input_counts = {1};
      EXPECT_TRUE(graph.AddNode(std::move(spec)).ok());
    }
  });
  for (int i = 0; i < 200; ++i) EXPECT_THAT(Elements<float>(Value(y)), ElementsAre(9));
  stop = true;
  builder.join();
}

TEST_F(SessionThreadsTest, ClosingCancelsTheStepThatRunsAndWaitsForIt) {
  const Node* last = PauseThenCount();
  PausePoint::Close();
  Status step;
  std::thread runner([&] { step = Execute({last}); });
  PausePoint::AwaitStep();
  std::atomic<bool> closed{false};
  std::thread closer([&] {
    EXPECT_EQ(session->Close(), absl::OkStatus());
    closed = true;
  });
  EXPECT_TRUE(Eventually([&] {
    return session->MakeCallable({}).status().code() == absl::StatusCode::kFailedPrecondition;
  })) << "further steps are refused at once";
  EXPECT_FALSE(closed);
  PausePoint::Open();
  runner.join();
  closer.join();
  ExpectError(step, absl::StatusCode::kCancelled, {"the session was closed"});
  ExpectError(Execute({last}), absl::StatusCode::kFailedPrecondition, {"closed"});
}

// What a signal handler does that runs in the middle of a step.
TEST_F(SessionThreadsTest, ClosingFromInsideAStepCancelsIt) {
  const Node* last = PauseThenCount();
  PausePoint::Close();
  RunOptions options;
  options.should_stop = [](void* closed) {
    EXPECT_EQ(static_cast<Session*>(closed)->Close(), absl::OkStatus());
    return false;
  };
  options.should_stop_argument = session.get();
  Status step;
  std::thread runner([&] { step = Run({}, {}, {last}, options).status(); });
  PausePoint::AwaitStep();
  std::this_thread::sleep_for(kUntilDue);
  PausePoint::Open();
  runner.join();
  ExpectError(step, absl::StatusCode::kCancelled, {"the session was closed"});
  ExpectError(Execute({last}), absl::StatusCode::kFailedPrecondition, {"closed"});
}

TEST_F(SessionThreadsTest, FreeingFromInsideAStepCancelsIt) {
  const Node* last = PauseThenCount();
  PausePoint::Close();
  RunOptions options;
  options.should_stop = [](void* owner) {
    Session::Free(std::move(*static_cast<std::unique_ptr<Session>*>(owner)));
    return false;
  };
  Session* const kept = session.get();
  options.should_stop_argument = &session;
  Status step;
  std::thread runner([&] { step = kept->Run({{}, {}, {last}}, {}, {}, options); });
  PausePoint::AwaitStep();
  std::this_thread::sleep_for(kUntilDue);
  PausePoint::Open();
  runner.join();
  ExpectError(step, absl::StatusCode::kCancelled, {"the session was closed"});
  EXPECT_EQ(session, nullptr);
}

TEST_F(SessionThreadsTest, ACallableOfAClosedSessionIsRefused) {
  const std::unique_ptr<Callable> callable = MakeCallable({{}, {Op("Neg", {Constant(1.0f)})}, {}});
  ASSERT_EQ(session->Close(), absl::OkStatus());
  std::vector<Tensor> results(1);
  ExpectError(callable->Run({}, absl::MakeSpan(results), RunOptions()),
              absl::StatusCode::kFailedPrecondition, {"closed"});
  EXPECT_EQ(session->MakeCallable({}).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SessionThreadsTest, CancellingStopsTheStepAndTheSessionGoesOn) {
  const Node* last = PauseThenCount();
  PausePoint::Close();
  Cancellation cancellation;
  RunOptions options;
  options.cancellation = &cancellation;
  Status step;
  std::thread runner([&] { step = Run({}, {}, {last}, options).status(); });
  PausePoint::AwaitStep();
  cancellation.Cancel();
  PausePoint::Open();
  runner.join();
  ExpectError(step, absl::StatusCode::kCancelled, {"cancelled"});
  EXPECT_LT(Count(), 201);
  ASSERT_EQ(Execute({last}), absl::OkStatus());
}

TEST_F(SessionThreadsTest, AStepThatIsCancelledBeforeRunsNothing) {
  const Node* last = PauseThenCount();
  Cancellation cancellation;
  cancellation.Cancel();
  RunOptions options;
  options.cancellation = &cancellation;
  EXPECT_EQ(Run({}, {}, {last}, options).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(Count(), 0);
}

TEST_F(SessionThreadsTest, AStepThatTakesTooLongIsStopped) {
  const Node* last = PauseThenCount();
  PausePoint::Close();
  RunOptions options;
  options.timeout_ms = 20;
  Status step;
  HeldTimeLimits held;
  std::thread runner([&] { step = Run({}, {}, {last}, options).status(); });
  PausePoint::AwaitStep();
  std::this_thread::sleep_for(kUntilDue);
  held.Release();
  PausePoint::Open();
  runner.join();
  ExpectError(step, absl::StatusCode::kDeadlineExceeded, {"20 ms"});
  EXPECT_LT(Count(), 201);
  options.timeout_ms = kHangGuardMillis;
  EXPECT_EQ(Run({}, {}, {last}, options).status(), absl::OkStatus());
}

TEST_F(SessionThreadsTest, TheSessionsTimeoutHoldsForEveryStep) {
  SessionOptions session_options;
  session_options.operation_timeout_ms = 20;
  HeldTimeLimits held;
  StartSession(session_options);
  const Node* last = PauseThenCount();
  PausePoint::Close();
  Status step;
  std::thread runner([&] { step = Execute({last}); });
  PausePoint::AwaitStep();
  std::this_thread::sleep_for(kUntilDue);
  held.Release();
  PausePoint::Open();
  runner.join();
  ExpectError(step, absl::StatusCode::kDeadlineExceeded, {"20 ms"});
}

TEST_F(SessionThreadsTest, TheFrontEndMayStopAStep) {
  const Node* last = PauseThenCount();
  PausePoint::Close();
  std::atomic<int> asked{0};
  RunOptions options;
  options.should_stop = [](void* count) { return ++*static_cast<std::atomic<int>*>(count) > 0; };
  options.should_stop_argument = &asked;
  Status step;
  std::thread runner([&] { step = Run({}, {}, {last}, options).status(); });
  PausePoint::AwaitStep();
  std::this_thread::sleep_for(kUntilDue);
  PausePoint::Open();
  runner.join();
  ExpectError(step, absl::StatusCode::kCancelled, {"interrupted"});
  EXPECT_EQ(asked, 1);
  EXPECT_LT(Count(), 201);
}

// A kernel that takes as long as it may, asking all the time whether to go on. The step's time is
// not over before it runs.
class LongKernelTest : public SessionThreadsTest {
 protected:
  LongKernelTest() {
    endless_ = AddBody(&build, BodyKind::kPlain, {}, [this](MS_Frame* frame) {
      held_.Release();
      Status go_on;
      EXPECT_TRUE(Eventually([&] { return !(go_on = CheckCancelled(frame)).ok(); }));
      seen_ = go_on.code();
      return go_on.ok() ? GiveScalar(frame, 1) : go_on;
    });
    build.set_control_inputs({endless_.node});
    after_ = Op("Neg", {Constant(1.0f)});
    build.set_control_inputs({});
  }

  Output endless_;
  Output after_;
  absl::StatusCode seen_ = absl::StatusCode::kOk;
  HeldTimeLimits held_;
};

TEST_F(LongKernelTest, EndsAtTheTimeLimit) {
  RunOptions options;
  options.timeout_ms = 30;
  ExpectError(Run({after_}, {}, {}, options).status(), absl::StatusCode::kDeadlineExceeded,
              {"30 ms"});
  EXPECT_EQ(seen_, absl::StatusCode::kCancelled);
}

TEST_F(LongKernelTest, EndsWhenTheFrontEndSaysSo) {
  RunOptions options;
  options.should_stop = [](void*) { return true; };
  ExpectError(Run({after_}, {}, {}, options).status(), absl::StatusCode::kCancelled,
              {"interrupted"});
  EXPECT_EQ(seen_, absl::StatusCode::kCancelled);
}

// The front end's answer may be a step that reads the variable.
TEST_F(LongKernelTest, TheFrontEndIsNotAskedWhileAVariableIsHeld) {
  const Output w = Variable("w", DataType::kFloat, {1});
  ASSERT_EQ(Execute({Assign(w, Constant(Values<float>({7})))}), absl::OkStatus());
  const Output reads = Read(w);
  struct Asked {
    Session* session;
    Output reads;
    Tensor value;
  } asked{session.get(), reads, {}};
  const Output holds = AddBody(&build, BodyKind::kPlain, {w}, [](MS_Frame* frame) {
    MS_LockSet* locks = nullptr;
    MS_RETURN_IF_ERROR(LockFirstInput(frame, &locks));
    Status go_on;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(150);
    while (go_on.ok() && std::chrono::steady_clock::now() < end) go_on = CheckCancelled(frame);
    ResourceApi()->vars_unlock(locks);
    MS_RETURN_IF_ERROR(go_on);
    MS_RETURN_IF_ERROR(CheckCancelled(frame));
    return GiveScalar(frame, 1);
  });
  RunOptions options;
  options.should_stop_argument = &asked;
  options.should_stop = [](void* argument) {
    auto* const self = static_cast<Asked*>(argument);
    EXPECT_EQ(self->session->Run({{}, {self->reads}, {}}, {}, absl::MakeSpan(&self->value, 1),
                                 RunOptions()),
              absl::OkStatus());
    return false;
  };
  EXPECT_EQ(Run({holds}, {}, {}, options).status(), absl::OkStatus());
  EXPECT_THAT(Elements<float>(asked.value), ElementsAre(7));
}

}  // namespace
}  // namespace millstream
