// Placement by costs, on simulated devices of which one is fast, one slower and one slow.
#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/on_device/device_session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kPeriod = 4;
// More than a step is placed again.
constexpr int kUntilSettled = 6 * kPeriod;
constexpr int kBranches = 6;
constexpr int kDepth = 4;
constexpr int64_t kSize = 8;

SessionOptions Adaptive() {
  SessionOptions options;
  options.placement_period = kPeriod;
  options.build_cost_model = 3;
  return options;
}

class PlacementTest : public DeviceSessionTest {
 protected:
  explicit PlacementTest(const SessionOptions& options = Adaptive())
      : DeviceSessionTest({}, options) {
    SetLatencies(1000, 2000, 12000);
    x = Placeholder("x", DataType::kFloat, PartialShape({kSize, kSize}));
  }

  static void SetLatencies(int first, int second, int third) {
    Set(0, "latency_us", first);
    Set(1, "latency_us", second);
    Set(2, "latency_us", third);
  }

  // What takes long and does not wait for each other, and its sum.
  Output Branches() {
    std::vector<Output> ends;
    for (int i = 0; i < kBranches; ++i) {
      const Output weights = Constant(Numbers(0.1f * static_cast<float>(i + 1)));
      Output end = x;
      for (int k = 0; k < kDepth; ++k) end = Op("MatMul", {end, weights});
      ends.push_back(end);
    }
    return build.Variadic("AddN", {ends})->output(0);
  }

  static Tensor Fed() { return Numbers(1); }
  static Tensor Numbers(float scale) {
    std::vector<float> values;
    for (int64_t i = 0; i < kSize * kSize; ++i)
      values.push_back(scale * (static_cast<float>(i % 7) / 8 - 0.3f));
    return Values(values).Reshaped(Shape({kSize, kSize}));
  }

  std::unique_ptr<Callable> CallableOf(const Output& fetch) {
    StepSignature signature;
    signature.feeds = {x};
    signature.fetches = {fetch};
    return MakeCallable(signature);
  }

  static Tensor RunOnce(Callable* callable) {
    Tensor value;
    const Tensor fed = Fed();
    EXPECT_EQ(callable->Run({&fed, 1}, absl::MakeSpan(&value, 1), RunOptions()), absl::OkStatus());
    return value;
  }

  // How many nodes of the op are on the device.
  static int Count(const std::string& placement, const std::string& op, const std::string& device) {
    int count = 0;
    for (const absl::string_view line : absl::StrSplit(placement, '\n')) {
      count += absl::StrContains(line, absl::StrCat("(", op, "): ")) &&
               absl::StrContains(line, absl::StrCat("device:", device, " "));
    }
    return count;
  }

  Output x;
};

TEST_F(PlacementTest, WhatIsEstimatedToTakeLongIsSpreadOverDevicesOfOneTypeAlike) {
  const Output large = Placeholder("large", DataType::kFloat, PartialShape({2048, 2048}));
  std::vector<Output> ends;
  for (int i = 0; i < 6; ++i) {
    ends.push_back(Op("MatMul", {Op("MatMul", {Op("MatMul", {large, large}), large}), large}));
  }
  x = large;
  const std::string text = CallableOf(build.Variadic("AddN", {ends})->output(0))->placement_text();
  for (const char* device : {"SIM:0", "SIM:1", "SIM:2"}) {
    EXPECT_EQ(Count(text, "MatMul", device), 6) << text;
  }
  EXPECT_THAT(text, HasSubstr(" ms here, at "));
  EXPECT_THAT(text, HasSubstr(" ms on SIM:2"));
}

// At first it is taken for as fast as the one that was measured.
TEST_F(PlacementTest, TheSlowDeviceGetsLessOnceItWasMeasured) {
  const std::unique_ptr<Callable> step = CallableOf(Branches());
  const std::string first = step->placement_text();
  EXPECT_EQ(Count(first, "MatMul", "SIM:0"), kBranches * kDepth) << "copies were not worth it";
  int most = 0;
  for (int i = 0; i < kUntilSettled; ++i) {
    RunOnce(step.get());
    most = std::max(most, Count(step->placement_text(), "MatMul", "SIM:2"));
  }
  const std::string settled = step->placement_text();
  EXPECT_GE(most, kDepth);
  EXPECT_LT(Count(settled, "MatMul", "SIM:2"), most) << settled;
  EXPECT_LT(Count(settled, "MatMul", "SIM:2"), Count(settled, "MatMul", "SIM:0")) << settled;
}

TEST_F(PlacementTest, TheBitsStayTheSameAsNodesMove) {
  const std::unique_ptr<Callable> step = CallableOf(Branches());
  const std::vector<float> expected = Elements<float>(RunOnce(step.get()));
  std::set<std::string> placements;
  for (int i = 0; i < kUntilSettled; ++i) {
    EXPECT_EQ(Elements<float>(RunOnce(step.get())), expected) << i;
    placements.insert(step->placement_text());
  }
  EXPECT_GE(placements.size(), 2);
}

TEST_F(PlacementTest, RequestsAndColocationAreKept) {
  const Output asked = OpOn("SIM:2", "MatMul", {x, x});
  const Output together =
      Op("MatMul", {asked, x},
         {{"_class", AttrValue(std::vector<std::string>{"loc:@" + asked.node->name()})}});
  const std::unique_ptr<Callable> step =
      CallableOf(build.Variadic("AddN", {{together, Branches()}})->output(0));
  for (int i = 0; i < kUntilSettled; ++i) RunOnce(step.get());
  for (const Node* node : {asked.node, together.node}) {
    EXPECT_THAT(step->placement_text(),
                HasSubstr(absl::StrCat(node->name(), ": (MatMul): /job:localhost/replica:0/task:0/",
                                       "device:SIM:2 ")));
  }
}

// The variable has its value on the device where it is first.
TEST_F(PlacementTest, StateStaysWhereItIs) {
  const Output w = Variable("w", DataType::kFloat, PartialShape({kSize, kSize}));
  EXPECT_EQ(Execute({Assign(w, Constant(Fed()))}), absl::OkStatus());
  const Output product = Op("MatMul", {Read(w), x});
  const std::unique_ptr<Callable> step =
      CallableOf(build.Variadic("AddN", {{product, Branches()}})->output(0));
  const std::string before = step->placement_text();
  EXPECT_EQ(Count(before, "VarHandleOp", "SIM:0"), 1) << before;
  SetLatencies(12000, 1000, 1000);
  for (int i = 0; i < kUntilSettled; ++i) RunOnce(step.get());
  const std::string after = step->placement_text();
  EXPECT_EQ(Count(after, "VarHandleOp", "SIM:0"), 1) << after;
  EXPECT_EQ(Count(after, "ReadVariableOp", "SIM:0"), 1) << after;
}

// Its counter is the kernel's, which belongs to a device: elsewhere the numbers would start again.
TEST_F(PlacementTest, RandomNumbersGoOnAsNodesMove) {
  const Output shape = Constant(Values<int32_t>({kSize, kSize}));
  const Output random = Op("RandomUniform", {shape},
                           {{"dtype", AttrValue(DataType::kFloat)},
                            {"seed", AttrValue(int64_t{3})},
                            {"seed2", AttrValue(int64_t{4})}});
  const Output sum = build.Variadic("AddN", {{random, Branches()}})->output(0);
  const auto values = [&] {
    const std::unique_ptr<Callable> step = CallableOf(sum);
    std::vector<std::vector<float>> found;
    for (int i = 0; i < kUntilSettled; ++i) found.push_back(Elements<float>(RunOnce(step.get())));
    return found;
  };
  const std::vector<std::vector<float>> adaptive = values();
  StartSession();
  EXPECT_EQ(values(), adaptive);
}

TEST_F(PlacementTest, StepsGoOnInManyThreadsAsNodesMove) {
  SetLatencies(100, 200, 3000);
  const Output fetch = Branches();
  const std::unique_ptr<Callable> step = CallableOf(fetch);
  const std::vector<float> expected = Elements<float>(RunOnce(step.get()));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kUntilSettled; ++i) {
        wrong += Elements<float>(RunOnce(step.get())) != expected;
        wrong += step->placement_text().empty();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

class FixedPlacementTest : public PlacementTest {
 protected:
  FixedPlacementTest() : PlacementTest(SessionOptions()) {}
};

TEST_F(FixedPlacementTest, WithoutAPeriodTheFirstAcceleratorGetsAll) {
  const std::unique_ptr<Callable> step = CallableOf(Branches());
  for (int i = 0; i < kPeriod; ++i) RunOnce(step.get());
  const std::string text = step->placement_text();
  EXPECT_EQ(Count(text, "MatMul", "SIM:0"), kBranches * kDepth) << text;
  EXPECT_THAT(text, Not(HasSubstr("it would end")));
}

}  // namespace
}  // namespace millstream
