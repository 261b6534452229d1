// Work that a device records once and later steps enqueue as a whole ("ms.capture/1"): the same
// bits as without, for every step.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/on_device/device_session_fixture.h"
#include "core/testing/stderr_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

constexpr int kSteps = 6;

class CaptureTest : public DeviceSessionTest {
 protected:
  CaptureTest() : DeviceSessionTest({{"delay_us", 100}}, AsWritten(true)) {}

  // Each node is one kernel, so that what is recorded is known.
  static SessionOptions AsWritten(bool capture) {
    SessionOptions options;
    options.optimize = false;
    if (!capture) options.disabled_passes = {"capture"};
    return options;
  }
  static uint64_t Replays() { return UsesOfSims(0).replays; }
  static uint64_t Graphs() { return UsesOfSims(0).graphs; }

  Output Neg(const Output& x) { return OpOn("SIM:0", "Neg", {x}); }
  Output Add(const Output& x, const Output& y) { return OpOn("SIM:0", "Add", {x, y}); }
  Output Mul(const Output& x, const Output& y) { return OpOn("SIM:0", "Mul", {x, y}); }
  // Four kernels: x * x - 2 x.
  Output Polynomial(const Output& x) { return Add(Mul(x, x), Neg(Add(x, x))); }

  // The values of `fetches` in steps of one session, each with its feeds.
  std::vector<std::vector<Tensor>> StepsOf(bool capture, const std::vector<Output>& fetches,
                                           const std::vector<std::vector<Feed>>& feeds,
                                           const std::vector<const Node*>& initialize,
                                           const std::vector<const Node*>& targets) {
    StartSession(AsWritten(capture));
    if (!initialize.empty()) {
      EXPECT_EQ(Execute(initialize), absl::OkStatus());
    }
    std::vector<std::vector<Tensor>> values;
    for (const std::vector<Feed>& step : feeds) {
      StatusOr<std::vector<Tensor>> got = Run(fetches, step, targets);
      EXPECT_TRUE(got.ok()) << got.status();
      values.push_back(got.ok() ? *std::move(got) : std::vector<Tensor>());
    }
    return values;
  }
  // With and without recorded work; true if it was used.
  bool ExpectSameBits(const std::vector<Output>& fetches,
                      const std::vector<std::vector<Feed>>& feeds,
                      const std::vector<const Node*>& initialize = {},
                      const std::vector<const Node*>& targets = {}) {
    const auto called = StepsOf(false, fetches, feeds, initialize, targets);
    EXPECT_EQ(Replays(), 0u);
    const auto replayed = StepsOf(true, fetches, feeds, initialize, targets);
    for (size_t i = 0; i < feeds.size(); ++i) {
      for (size_t k = 0; k < fetches.size() && k < replayed[i].size(); ++k) {
        EXPECT_TRUE(TensorsEqual(called[i][k], replayed[i][k])) << "step " << i << ", fetch " << k;
      }
    }
    return Replays() != 0;
  }
};

std::vector<float> Numbers(size_t size, float first) {
  std::vector<float> numbers(size);
  for (size_t i = 0; i < size; ++i) numbers[i] = first + 0.25f * static_cast<float>(i % 17);
  return numbers;
}

// Each step's feeds lie elsewhere, in the host's memory and in the device's.
TEST_F(CaptureTest, FeedsMoveFromStepToStep) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(1000));
  const Output y = Placeholder("y", DataType::kFloat, PartialShape::Vector(1000));
  const Output z = Add(Polynomial(x), Mul(y, x));
  std::vector<std::vector<Feed>> feeds;
  for (int i = 0; i < kSteps; ++i) {
    const auto first = static_cast<float>(i);
    feeds.push_back({{x, Values(Numbers(1000, first))}, {y, Values(Numbers(1000, -first))}});
  }
  EXPECT_TRUE(ExpectSameBits({z}, feeds));
}

// The caller keeps each step's results, so that the next step has other memory for them.
TEST_F(CaptureTest, FetchedResultsMoveFromStepToStep) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(50));
  const Output y = Polynomial(x);
  const Output z = Polynomial(y);
  std::vector<std::vector<Feed>> feeds;
  for (int i = 0; i < kSteps; ++i) {
    feeds.push_back({{x, Values(Numbers(50, static_cast<float>(i)))}});
  }
  EXPECT_TRUE(ExpectSameBits({y, z}, feeds));
}

TEST_F(CaptureTest, VariablesAreUpdatedInPlace) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(3));
  const Output w =
      On("SIM:0", [&] { return Variable("w", DataType::kFloat, PartialShape::Vector(3)); });
  const Node* const initialize = Assign(w, Constant(Values<float>({1, 2, 3})));
  const Output value = On("SIM:0", [&] { return Read(w); });
  const Output delta = Mul(Polynomial(Mul(value, x)), OpOn("SIM:0", "Square", {x}));
  const Node* const train = On("SIM:0", [&] {
    return build.NodeOf("AssignSubVariableOp", {w, delta});
  });
  std::vector<std::vector<Feed>> feeds;
  for (int i = 0; i < kSteps; ++i) {
    feeds.push_back({{x, Values<float>({0.25f, 0.5f, -0.125f * static_cast<float>(i)})}});
  }
  EXPECT_TRUE(ExpectSameBits({delta}, feeds, {initialize}, {train}));
}

TEST_F(CaptureTest, ReadsAndFeedsBetweenKernelsDoNotCutARow) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output z = Placeholder("z", DataType::kFloat, PartialShape::Vector(2));
  const auto variable = [&](const std::string& name, const Tensor& value) {
    const Output handle =
        On("SIM:0", [&] { return Variable(name, DataType::kFloat, PartialShape::Vector(2)); });
    EXPECT_EQ(Execute({Assign(handle, Constant(value))}), absl::OkStatus());
    return On("SIM:0", [&] { return Read(handle); });
  };
  const Output w = variable("w", Values<float>({2, 3}));
  const Output v = variable("v", Values<float>({10, 20}));
  const Output y = Mul(Add(Mul(x, w), v), z);
  for (int i = 0; i < kSteps; ++i) {
    const auto first = static_cast<float>(i);
    const Tensor value = Value(y, {{x, Values<float>({first, 1})}, {z, Values<float>({1, first})}});
    EXPECT_THAT(Elements<float>(value), ElementsAre(2 * first + 10, 23 * first));
  }
  EXPECT_EQ(Replays(), kSteps - 1u) << "one row of three kernels, from the second step on";
}

// Of two variables with one value, one is assigned anew between the steps.
TEST_F(CaptureTest, VariablesThatSharedMemoryMaySeparate) {
  const Output v =
      On("SIM:0", [&] { return Variable("v", DataType::kFloat, PartialShape::Vector(2)); });
  const Output w =
      On("SIM:0", [&] { return Variable("w", DataType::kFloat, PartialShape::Vector(2)); });
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output v_value = On("SIM:0", [&] { return Read(v); });
  const Output w_value = On("SIM:0", [&] { return Read(w); });
  const Node* const assign_v = Assign(v, x);
  const Node* const assign_w = Assign(w, v_value);
  const Output y = Add(Mul(v_value, v_value), Neg(w_value));
  ASSERT_EQ(Execute({assign_v}, {{x, Values<float>({2, 3})}}), absl::OkStatus());
  ASSERT_EQ(Execute({assign_w}), absl::OkStatus());
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Elements<float>(Value(y)), ElementsAre(2, 6));
  ASSERT_EQ(Execute({assign_v}, {{x, Values<float>({5, 7})}}), absl::OkStatus());
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Elements<float>(Value(y)), ElementsAre(23, 46));
  EXPECT_GT(Replays(), 0u);
}

// Each step draws other numbers: the kernel that draws them is called in every step.
TEST_F(CaptureTest, RandomNumbersAreDrawnInEveryStep) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(8));
  const Output shape = Constant(Values<int32_t>({8}));
  const Output random = OpOn("SIM:0", "RandomUniform", {shape},
                             {{"dtype", AttrValue(DataType::kFloat)},
                              {"seed", AttrValue(int64_t{5})},
                              {"seed2", AttrValue(int64_t{7})}});
  const Output y = Polynomial(Add(random, x));
  const std::vector<Feed> feed = {{x, Values(Numbers(8, 1))}};
  EXPECT_TRUE(ExpectSameBits({random, y}, {kSteps, feed}));
  const Tensor first = Value(random, feed);
  EXPECT_FALSE(TensorsEqual(first, Value(random, feed)));
}

// With passes, kernels are fused and prepared.
TEST_F(CaptureTest, OptimizedStepsAreRecordedToo) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape({4, 3}));
  const Output weights = Constant(Values(Numbers(15, -1)).Reshaped(Shape({3, 5})));
  const Output product = OpOn("SIM:0", "MatMul", {x, weights});
  const Output hidden = OpOn("SIM:0", "Tanh", {product});
  const Output sum = OpOn("SIM:0", "Sum", {hidden, Constant(Values<int32_t>({0}))});
  const Output y =
      OpOn("SIM:0", "Softmax",
           {OpOn("SIM:0", "MatMul", {hidden, hidden}, {{"transpose_b", AttrValue(true)}})});
  std::vector<Tensor> expected;
  for (const bool capture : {false, true}) {
    SessionOptions options;
    if (!capture) options.disabled_passes = {"capture"};
    StartSession(options);
    for (int i = 0; i < kSteps; ++i) {
      const Tensor fed = Values(Numbers(12, static_cast<float>(i))).Reshaped(Shape({4, 3}));
      const StatusOr<std::vector<Tensor>> got = Run({sum, y}, {{x, fed}});
      ASSERT_TRUE(got.ok()) << got.status();
      for (size_t k = 0; k < 2; ++k) {
        if (!capture) {
          expected.push_back((*got)[k]);
        } else {
          EXPECT_TRUE(TensorsEqual((*got)[k], expected[2 * i + k])) << i;
        }
      }
    }
    EXPECT_EQ(Replays() > 0, capture);
  }
}

// Two steps at the same time have graphs of their own.
TEST_F(CaptureTest, StepsOfSeveralThreadsDoNotDisturbEachOther) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(200));
  const Output y = Polynomial(Polynomial(x));
  const auto run = [&](float first) {
    for (int i = 0; i < 20; ++i) {
      const float from = first + static_cast<float>(i % 3);
      const Tensor got = Value(y, {{x, Values(Numbers(200, from))}});
      std::vector<float> expected = Numbers(200, from);
      for (float& number : expected) {
        const float inner = number * number + -(number + number);
        number = inner * inner + -(inner + inner);
      }
      EXPECT_EQ(Elements<float>(got), expected);
    }
  };
  run(0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(run, static_cast<float>(10 * i));
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(Replays(), 0u);
}

TEST_F(CaptureTest, GraphsGoWithTheSession) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(4));
  const Output y = Polynomial(x);
  for (int i = 0; i < 3; ++i) Value(y, {{x, Values(Numbers(4, 1))}});
  EXPECT_GT(Graphs(), 0u);
  EXPECT_EQ(session->Close(), absl::OkStatus());
  session = nullptr;
  EXPECT_EQ(Graphs(), 0u);
}

// ---- Devices that refuse, and errors ----

class CaptureFaultsTest : public CaptureTest {
 protected:
  CaptureFaultsTest() {
    x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
    y = NodeOn("SIM:0", "y", "Neg", {x});
    z = NodeOn("SIM:0", "z", "Square", {y});
  }
  void ExpectWorks() {
    EXPECT_THAT(Elements<float>(Value(z, {{x, Values<float>({1, 2})}})), ElementsAre(1, 4));
    EXPECT_THAT(Elements<float>(Value(z, {{x, Values<float>({3, 5})}})), ElementsAre(9, 25));
  }
  Status ErrorWithin(int64_t milliseconds) {
    RunOptions options;
    options.timeout_ms = milliseconds;
    return Run({z}, {{x, Values<float>({1, 2})}}, {}, options).status();
  }

  Output x;
  Output y;
  Output z;
};

TEST_F(CaptureFaultsTest, ADeviceThatRecordsNothingIsCalledInEveryStep) {
  Set(0, "capture", 0);
  for (int i = 0; i < 3; ++i) ExpectWorks();
  EXPECT_EQ(Replays(), 0u);
}

TEST_F(CaptureFaultsTest, ARecordingThatFailsIsNoErrorOfTheStep) {
  Set(0, "fail_capture", 1);
  StderrText log;
  ExpectWorks();
  EXPECT_TRUE(
      log.Await("recorded work of a step on /job:localhost/replica:0/task:0/device:SIM:0 is "
                "not used"));
  EXPECT_TRUE(log.Await("recording 1 fails: switch fail_capture"));
  for (int i = 0; i < 3; ++i) ExpectWorks();
  EXPECT_EQ(Replays(), 0u);
  EXPECT_EQ(Graphs(), 0u);
}

TEST_F(CaptureFaultsTest, AReplayThatIsRefusedIsNoErrorOfTheStep) {
  ExpectWorks();
  Set(0, "fail_replay", 2);
  for (int i = 0; i < 3; ++i) ExpectWorks();
}

TEST_F(CaptureFaultsTest, WorkThatCannotFollowItsMemoryIsRecordedAnew) {
  Set(0, "follow", 0);
  for (int i = 0; i < 6; ++i) ExpectWorks();
}

TEST_F(CaptureFaultsTest, WorkThatIsRefusedNamesItsNode) {
  ExpectWorks();
  const uint64_t before = Replays();
  ExpectWorks();
  EXPECT_GT(Replays(), before);
  Set(0, "fail_work", 2);
  ExpectError(Error(z, {{x, Values<float>({1, 2})}}), absl::StatusCode::kInternal,
              {"fail_work", "node 'z' (op Square)"});
  ExpectWorks();
}

TEST_F(CaptureFaultsTest, WorkThatHangsInAReplayEndsWithTheTimeLimit) {
  ExpectWorks();
  Set(0, "hang_work", 2);
  const Status status = RunUntilItHangs(0, [this] { return ErrorWithin(50); });
  ExpectError(status, absl::StatusCode::kDeadlineExceeded, {"50 ms", "'y'", "'z'", "SIM:0"});
  Set(0, "hang_work", 0);
  ExpectWorks();
}

TEST_F(CaptureFaultsTest, ADeviceThatIsLostInAReplayFailsTheStep) {
  ExpectWorks();
  Set(0, "lose_work", 2);
  ExpectError(Error(z, {{x, Values<float>({1, 2})}}), absl::StatusCode::kUnavailable,
              {"SIM:0", "lost"});
  EXPECT_EQ(session->Close(), absl::OkStatus());
  session = nullptr;
  EXPECT_EQ(Graphs(), 0u);
}

// The kernel finds a wrong index in a replay.
TEST_F(CaptureFaultsTest, AnErrorOfAKernelInAReplayNamesTheNode) {
  const Output indices = Placeholder("indices", DataType::kInt32, PartialShape::Vector(1));
  const Output axis = Constant(Tensor::Scalar<int32_t>(0));
  const Output rows = NodeOn("SIM:0", "rows", "GatherV2", {y, indices, axis});
  const Output negative = NodeOn("SIM:0", "negative", "Neg", {rows});
  const auto feeds = [&](int32_t index) {
    return std::vector<Feed>{{x, Values<float>({1, 2})}, {indices, Values<int32_t>({index})}};
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Elements<float>(Value(negative, feeds(1))), ElementsAre(2));
  }
  EXPECT_GT(Replays(), 0u);
  ExpectError(Error(negative, feeds(7)), absl::StatusCode::kInvalidArgument,
              {"7", "rows", "SIM:0"});
  EXPECT_THAT(Elements<float>(Value(negative, feeds(0))), ElementsAre(1));
}

}  // namespace
}  // namespace millstream
