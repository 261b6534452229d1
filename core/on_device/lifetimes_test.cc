// What outlives what: fetched tensors, feeds, callables, sessions and the memory of devices.
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/on_device/device_session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr int64_t kElements = 100000;

class LifetimesTest : public DeviceSessionTest {
 protected:
  LifetimesTest() : DeviceSessionTest({{"delay_us", 20}}) {}

  // Of this process, among them the memory of simulated devices.
  static int64_t ResidentBytes() {
    int64_t size = 0;
    int64_t resident = 0;
    std::ifstream("/proc/self/statm") >> size >> resident;
    return resident * sysconf(_SC_PAGESIZE);
  }
  static Tensor Equal(float value) {
    return Tensor::Vector<float>(std::vector<float>(kElements, value));
  }
};

TEST_F(LifetimesTest, AFetchedTensorOutlivesSessionAndDevices) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(kElements));
  const Output y = OpOn("SIM:0", "Neg", {x});
  const Output on_peer = OpOn("SIM:1", "Neg", {y});
  const Output on_host = OpOn("CPU:0", "Add", {y, y});
  const Output constant = OpOn("SIM:0", "Fill", {Constant(Values<int32_t>({2})), Constant(3.0f)});
  StatusOr<std::vector<Tensor>> fetched = Run({y, on_peer, on_host, constant, x}, {{x, Equal(2)}});
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  session = nullptr;
  StartSession();  // new devices, which may get the same memory
  Value(y, {{x, Equal(7)}});
  session = nullptr;
  EXPECT_THAT(Elements<float>((*fetched)[0]), Each(-2));
  EXPECT_THAT(Elements<float>((*fetched)[1]), Each(2));
  EXPECT_THAT(Elements<float>((*fetched)[2]), Each(-4));
  EXPECT_THAT(Elements<float>((*fetched)[3]), ElementsAre(3, 3));
  EXPECT_THAT(Elements<float>((*fetched)[4]), Each(2));
  for (Tensor& tensor : *fetched) tensor.data<float>()[0] = 1;  // the caller's to write
}

TEST_F(LifetimesTest, AVariableIsFetchedAsItWas) {
  const Output w =
      On("SIM:0", [&] { return Variable("w", DataType::kFloat, PartialShape::Vector(kElements)); });
  const Output value = On("SIM:0", [&] { return Read(w); });
  const Node* const add = On("SIM:0", [&] {
    return build.NodeOf("AssignAddVariableOp", {w, Constant(Equal(1))});
  });
  ASSERT_EQ(Execute({Assign(w, Constant(Equal(0)))}), absl::OkStatus());
  std::vector<Tensor> seen;
  for (int i = 0; i < 10; ++i) {
    seen.push_back(Value(value));
    ASSERT_EQ(Execute({add}), absl::OkStatus());
  }
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Elements<float>(seen[i]), Each(i));
}

// The handle asks for no device, so that every step puts it where it likes.
TEST_F(LifetimesTest, AVariableIsUsedOnlyWhereItsValueIs) {
  const Output w = Variable("w", DataType::kFloat, PartialShape::Vector(kElements));
  const auto assign_on = [&](const char* device, float value) {
    return On(device, [&] { return Assign(w, Constant(Equal(value))); });
  };
  const auto grow_on = [&](const char* device) {
    return On(device, [&] { return build.NodeOf("AssignAddVariableOp", {w, Constant(Equal(1))}); });
  };
  const Output on_host = On("CPU:0", [&] { return Read(w); });
  const Output on_peer = On("SIM:1", [&] { return Read(w); });
  ASSERT_EQ(Execute({assign_on("SIM:0", 1)}), absl::OkStatus());
  const std::vector<std::string> texts = {"the value of variable 'w' is on", "SIM:0"};
  ExpectError(Execute({grow_on("SIM:1")}), absl::StatusCode::kInvalidArgument, texts);
  ExpectError(Execute({grow_on("CPU:0")}), absl::StatusCode::kInvalidArgument, texts);
  ExpectError(Error(OpOn("SIM:1", "Neg", {on_peer})), absl::StatusCode::kInvalidArgument, texts);
  ExpectError(Error(OpOn("CPU:0", "Neg", {on_host})), absl::StatusCode::kInvalidArgument, texts);
  EXPECT_EQ(Execute({grow_on("SIM:0")}), absl::OkStatus());
  // Assigned elsewhere, it is there.
  ASSERT_EQ(Execute({assign_on("SIM:1", 5)}), absl::OkStatus());
  EXPECT_EQ(Execute({grow_on("SIM:1")}), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(OpOn("SIM:1", "Neg", {on_peer}))), Each(-6));
}

TEST_F(LifetimesTest, FeedsMayBeChangedAfterTheStep) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(kElements));
  const Output w =
      On("SIM:0", [&] { return Variable("w", DataType::kFloat, PartialShape::Vector(kElements)); });
  Tensor fed = Equal(4);
  ASSERT_EQ(Execute({Assign(w, x)}, {{x, fed}}), absl::OkStatus());
  for (float& element : fed.flat<float>()) element = 0;
  EXPECT_THAT(Elements<float>(Value(Read(w))), Each(4));
}

TEST_F(LifetimesTest, ACallableRunsAgainAndAgainAndEndsWithItsSession) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(-1));
  const Output y = OpOn("SIM:1", "Neg", {OpOn("SIM:0", "Square", {x})});
  std::unique_ptr<Callable> callable = MakeCallable({{x}, {y}, {}});
  for (int i = 1; i < 50; ++i) {
    const std::vector<Tensor> feeds = {Tensor::Vector<float>(std::vector<float>(i, 3))};
    std::vector<Tensor> results(1);
    ASSERT_EQ(callable->Run(feeds, absl::MakeSpan(results), RunOptions()), absl::OkStatus());
    EXPECT_THAT(Elements<float>(results[0]), Each(-9));
  }
  ASSERT_EQ(session->Close(), absl::OkStatus());
  const std::vector<Tensor> feeds = {Values<float>({1})};
  std::vector<Tensor> results(1);
  ExpectError(callable->Run(feeds, absl::MakeSpan(results), RunOptions()),
              absl::StatusCode::kFailedPrecondition, {"closed"});
  callable = nullptr;
  session = nullptr;
}

TEST_F(LifetimesTest, ATrimmedSessionHasVariablesOnly) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(kElements));
  const Output w =
      On("SIM:0", [&] { return Variable("w", DataType::kFloat, PartialShape::Vector(kElements)); });
  const Output y = OpOn("SIM:0", "Add", {On("SIM:0", [&] { return Read(w); }), x});
  ASSERT_EQ(Execute({Assign(w, x)}, {{x, Equal(4)}}), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(y, {{x, Equal(1)}})), Each(5));
  const auto reserved = [this] {
    size_t bytes = 0;
    for (const DeviceInfo& device : session->ListDevices()) bytes += device.memory.reserved;
    return bytes;
  };
  const size_t before = reserved();
  ASSERT_EQ(session->Trim(), absl::OkStatus());
  EXPECT_LT(reserved(), before);
  EXPECT_GE(reserved(), kElements * sizeof(float));
  EXPECT_THAT(Elements<float>(Value(y, {{x, Equal(1)}})), Each(5));
}

// SIM:2 pools its memory itself, the others do not.
TEST_F(LifetimesTest, ADeviceReportsItsMemoryWhoeverDividesIt) {
  constexpr int kPooled = 2;
  const std::string device = absl::StrCat("SIM:", kPooled);
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(kElements));
  const Output w =
      On(device, [&] { return Variable("w", DataType::kFloat, PartialShape::Vector(kElements)); });
  const auto memory = [&]() -> ArenaStats {
    for (const DeviceInfo& info : session->ListDevices()) {
      if (absl::StrContains(info.name, device)) return info.memory;
    }
    ADD_FAILURE() << "no device " << device;
    return ArenaStats();
  };
  const ArenaStats before = memory();
  ASSERT_EQ(Execute({Assign(w, x)}, {{x, Equal(4)}}), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(OpOn(device, "Neg", {Read(w)}))), Each(-4));
  const ArenaStats after = memory();
  EXPECT_GE(after.in_use, before.in_use + kElements * sizeof(float));
  EXPECT_GE(after.peak_in_use, after.in_use);
  EXPECT_GE(after.reserved, after.in_use);
  EXPECT_GT(after.allocations, before.allocations);
  EXPECT_GT(after.limit, after.in_use);
}

// What a step left there may need its plan, which the session would otherwise delete.
TEST_F(LifetimesTest, AStepThatWasLeftAtWorkOutlivesATrim) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(kElements));
  const Output y = OpOn("SIM:0", "Neg", {x});
  RunOptions options;
  options.timeout_ms = 20;
  Set(0, "hang_work", 1);
  const Status late = RunUntilItHangs(0, [&] {
    return Run({y}, {{x, Equal(2)}}, {}, options).status();
  });
  ExpectError(late, absl::StatusCode::kDeadlineExceeded, {});
  ASSERT_EQ(session->Trim(), absl::OkStatus());
  ASSERT_EQ(session->Trim(), absl::OkStatus());
  Set(0, "hang_work", 0);
  EXPECT_THAT(Elements<float>(Value(y, {{x, Equal(2)}})), Each(-2));
  ASSERT_EQ(session->Trim(), absl::OkStatus());
}

TEST_F(LifetimesTest, AStepThatIsStoppedLeavesTheDeviceAtWork) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(kElements));
  const Output y = OpOn("SIM:0", "Neg", {x});
  const Output on_host = OpOn("CPU:0", "Neg", {y});
  const Output on_peer = OpOn("SIM:1", "Neg", {y});
  const std::vector<Feed> feeds = {{x, Equal(2)}};
  EXPECT_THAT(Elements<float>(Value(y, feeds)), Each(-2));
  RunOptions options;
  options.timeout_ms = 50;
  for (const Output& fetch : {y, on_host, on_peer}) {
    Set(0, "hang_work", 1);
    const Status late =
        RunUntilItHangs(0, [&] { return Run({fetch}, feeds, {}, options).status(); });
    EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
    // The next step waits for what is left, and says so.
    ExpectError(Run({fetch}, feeds, {}, options).status(), absl::StatusCode::kDeadlineExceeded,
                {"left at work on", "SIM:0"});
    Set(0, "hang_work", 0);
    EXPECT_THAT(Elements<float>(Value(fetch, feeds)), Each(fetch == y ? -2 : 2));
  }
  Set(0, "hang_work", 1);
  EXPECT_FALSE(RunUntilItHangs(0, [&] { return Run({y}, feeds, {}, options).status(); }).ok());
  session = nullptr;
}

// Each step has half a dozen tensors of 400 kB on devices, pinned and on the host.
TEST_F(LifetimesTest, StepsLeaveNoMemoryBehind) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer keeps what was freed for a while, to see whether it is used";
#endif
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(kElements));
  const Output a = OpOn("SIM:0", "Neg", {x});
  const Output b = OpOn("CPU:0", "Neg", {OpOn("SIM:1", "Neg", {a})});
  const Output c = OpOn("SIM:0", "Add", {b, a});
  const std::unique_ptr<Callable> callable = MakeCallable({{x}, {c}, {}});
  const std::vector<Tensor> feeds = {Equal(2)};
  const auto run = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      std::vector<Tensor> results(1);
      ASSERT_EQ(callable->Run(feeds, absl::MakeSpan(results), RunOptions()), absl::OkStatus());
    }
  };
  run(200);
  const int64_t before = ResidentBytes();
  run(2000);
  EXPECT_LT(ResidentBytes() - before, 40 * feeds[0].bytes());
}

}  // namespace
}  // namespace millstream
