// Sessions with devices of their own memory that several threads use.
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/on_device/device_session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

constexpr int kThreads = 8;
constexpr int kSteps = 200;
constexpr int64_t kElements = 1000;

class ThreadsTest : public DeviceSessionTest {
 protected:
  ThreadsTest() : DeviceSessionTest({{"delay_us", 10}}) {}

  static void OnThreads(const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(body, t);
    for (std::thread& thread : threads) thread.join();
  }
  static Tensor AllOf1000(float value) {
    return Tensor::Vector<float>(std::vector<float>(kElements, value));
  }
  // A variable of equal numbers, and what adds one to each.
  struct Counter {
    Output handle;
    const Node* add = nullptr;
    Output value;
  };
  Counter CounterOn(const std::string& device, const std::string& name) {
    Counter counter;
    counter.handle = On(
        device, [&] { return Variable(name, DataType::kFloat, PartialShape::Vector(kElements)); });
    EXPECT_EQ(Execute({Assign(counter.handle, Constant(AllOf1000(0)))}), absl::OkStatus());
    counter.add = On(device, [&] {
      return build.NodeOf("AssignAddVariableOp", {counter.handle, Constant(AllOf1000(1))});
    });
    counter.value = On(device, [&] { return Read(counter.handle); });
    return counter;
  }
  static bool IsTorn(const Tensor& tensor) {
    for (const float element : tensor.flat<float>()) {
      if (element != *tensor.data<float>()) return true;
    }
    return false;
  }
};

TEST_F(ThreadsTest, AVariableIsNeverReadHalfWritten) {
  const Counter counter = CounterOn("SIM:0", "w");
  const Output elsewhere = OpOn("SIM:1", "Identity", {counter.value});
  const Output on_host = OpOn("CPU:0", "Neg", {counter.value});
  std::atomic<int> torn{0};
  OnThreads([&](int t) {
    for (int i = 0; i < kSteps; ++i) {
      ASSERT_EQ(Execute({counter.add}), absl::OkStatus());
      const Output seen[] = {counter.value, elsewhere, on_host};
      torn += IsTorn(Value(seen[(t + i) % 3]));
    }
  });
  EXPECT_EQ(torn, 0);
  EXPECT_THAT(Elements<float>(Value(counter.value)),
              ::testing::AllOf(SizeIs(kElements), Each(kThreads * kSteps)));
}

TEST_F(ThreadsTest, NobodySeesWhatAnotherThreadFeeds) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(-1));
  const Output a = OpOn("SIM:0", "Neg", {x});
  const Output b = OpOn("SIM:1", "Sub", {a, Constant(1.0f)});
  const Output c = OpOn("CPU:0", "Neg", {b});
  const Output d = OpOn("SIM:0", "Mul", {c, a});
  OnThreads([&](int t) {
    Tensor fed = AllOf1000(0);
    for (int i = 0; i < kSteps / 2; ++i) {
      const float value = static_cast<float>(t * kSteps + i);
      for (float& element : fed.flat<float>()) element = value;
      const StatusOr<std::vector<Tensor>> results = Run({d, c}, {{x, fed}});
      ASSERT_TRUE(results.ok()) << results.status();
      for (float& element : fed.flat<float>()) element = -1;  // the step is over
      EXPECT_THAT(Elements<float>((*results)[0]), Each(-value * (value + 1)));
      EXPECT_THAT(Elements<float>((*results)[1]), Each(value + 1));
    }
  });
}

TEST_F(ThreadsTest, ACallableIsSharedByThreads) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(kElements));
  const Output y = OpOn("SIM:1", "Square", {OpOn("SIM:0", "Neg", {x})});
  const std::unique_ptr<Callable> callable = MakeCallable({{x}, {y}, {}});
  OnThreads([&](int t) {
    const std::vector<Tensor> feeds = {AllOf1000(static_cast<float>(t))};
    for (int i = 0; i < kSteps; ++i) {
      std::vector<Tensor> results(1);
      ASSERT_EQ(callable->Run(feeds, absl::MakeSpan(results), RunOptions()), absl::OkStatus());
      ASSERT_THAT(Elements<float>(results[0]), Each(static_cast<float>(t * t)));
    }
  });
}

// The device tells of an error once, and not whose it is: that another step asks first must not let
// this one succeed.
TEST_F(ThreadsTest, NoStepSucceedsWithTheErrorOfItsKernel) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(kElements));
  const Output index = Placeholder("index", DataType::kInt32, PartialShape::Vector(1));
  const Output axis = Constant(Tensor::Scalar<int32_t>(0));
  const Output y = OpOn("SIM:0", "GatherV2", {x, index, axis}, {{"batch_dims", int64_t{0}}});
  const Tensor numbers = AllOf1000(3);
  OnThreads([&](int t) {
    const bool is_wrong = t % 2 == 1;
    const Tensor fed = Values<int32_t>({is_wrong ? 5000 : 5});
    for (int i = 0; i < kSteps; ++i) {
      const StatusOr<std::vector<Tensor>> results = Run({y}, {{x, numbers}, {index, fed}});
      EXPECT_FALSE(is_wrong && results.ok());
      const Tensor seen = results.ok() ? (*results)[0] : Values<float>({});
      EXPECT_THAT(Elements<float>(seen), Each(3));
    }
  });
}

TEST_F(ThreadsTest, SessionsComeAndGoWhileOthersRun) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(kElements));
  const Output y = OpOn("SIM:1", "Square", {OpOn("SIM:0", "Neg", {x})});
  OnThreads([&](int t) {
    const std::vector<Tensor> feeds = {AllOf1000(static_cast<float>(t))};
    const StepSignature signature{{x}, {y}, {}};
    SessionOptions options;
    options.allow_soft_placement = true;
    for (int i = 0; i < 10; ++i) {
      StatusOr<std::unique_ptr<Session>> own = Session::Create(&graph, options);
      ASSERT_TRUE(own.ok()) << own.status();
      for (int j = 0; j < 3; ++j) {
        std::vector<Tensor> results(1);
        ASSERT_EQ((*own)->Run(signature, feeds, absl::MakeSpan(results), RunOptions()),
                  absl::OkStatus());
        EXPECT_THAT(Elements<float>(results[0]), Each(static_cast<float>(t * t)));
      }
      EXPECT_THAT(Elements<float>(Value(y, {{x, feeds[0]}})), Each(static_cast<float>(t * t)));
    }
  });
}

TEST_F(ThreadsTest, ASessionClosesWhileThreadsUseIt) {
  const Counter counter = CounterOn("SIM:0", "w");
  const Output elsewhere = OpOn("SIM:1", "Neg", {counter.value});
  for (int round = 0; round < 5; ++round) {
    SessionOptions options;
    options.allow_soft_placement = true;
    StatusOr<std::unique_ptr<Session>> closing = Session::Create(&graph, options);
    ASSERT_TRUE(closing.ok()) << closing.status();
    std::atomic<int> steps{0};
    std::thread closer([&] {
      while (steps < 20) std::this_thread::yield();
      EXPECT_EQ((*closing)->Close(), absl::OkStatus());
    });
    const Node* const init = Assign(counter.handle, Constant(AllOf1000(1)));
    OnThreads([&](int) {
      while (true) {
        std::vector<Tensor> results(1);
        const Status status =
            (*closing)->Run({{}, {elsewhere}, {init}}, {}, absl::MakeSpan(results), RunOptions());
        ++steps;
        if (status.code() == absl::StatusCode::kFailedPrecondition) {
          if (status.message().find("closed") != std::string::npos) return;
          continue;  // the variable has no value yet
        }
        if (status.ok()) continue;
        EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
      }
    });
    closer.join();
  }
}

}  // namespace
}  // namespace millstream
