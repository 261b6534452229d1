// Random graphs, every node on a random one of two simulated devices and the CPU, give the same
// bits as on one device whatever the delays.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/on_device/device_session_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int kNodes = 40;
constexpr int64_t kSide = 12;  // of the square matrices that all nodes give

// Of equal seeds, the same graph. The vocabulary of tests, and no test itself.
class RandomGraph : public SessionTest {
 public:
  explicit RandomGraph(int seed) : random_(static_cast<unsigned>(seed)) {
    LoadSims();
    x_ = Placeholder("x", DataType::kFloat, PartialShape({kSide, kSide}));
    axis_ = Placeholder("axis", DataType::kInt32, PartialShape::Vector(1));
    made_ = {x_, Constant(Matrix())};
    while (made_.size() < kNodes) made_.push_back(NewNode());
    for (int i = 0; i < 5; ++i) fetches_.push_back(Any());
    fetches_.push_back(made_.back());
    for (int i = 0; i < 3; ++i) fed_.push_back(Matrix());
    EXPECT_TRUE(build.ok()) << build.status();
  }
  void TestBody() override {}

  void PlaceOn(const std::vector<std::string>& devices) {
    for (const Node* node : graph.nodes()) {
      const std::string& device = devices[Below(devices.size())];
      ASSERT_EQ(graph.SetDevice(node, device), absl::OkStatus());
    }
  }
  void Open(int threads) {
    SessionOptions options;
    options.inter_op_threads = threads;
    options.intra_op_threads = 1;
    options.allow_soft_placement = true;
    options.operation_timeout_ms = kHangGuardMillis;
    StartSession(options);
  }
  // What several steps give, one after the other.
  std::vector<Tensor> RunAll() {
    std::vector<Tensor> all;
    for (size_t i = 0; i < fed_.size(); ++i) {
      const Tensor axis = Values<int32_t>({static_cast<int32_t>(i % 2)});
      const auto results = Run(fetches_, {{x_, fed_[i]}, {axis_, axis}});
      EXPECT_TRUE(results.ok()) << results.status();
      if (results.ok()) all.insert(all.end(), results->begin(), results->end());
    }
    return all;
  }

 private:
  int Below(size_t n) { return static_cast<int>(random_() % n); }
  Output Any() { return made_[Below(made_.size())]; }
  Tensor Matrix() {
    std::vector<float> values(kSide * kSide);
    for (float& value : values) value = static_cast<float>(Below(2001) - 1000) / 700;
    return Tensor::FromValues<float>(Shape({kSide, kSide}), values);
  }

  // Of the axis that is fed: what is an argument in host memory, and computed where this is placed.
  Output Reduced() {
    const Output axis = Below(2) == 0 ? axis_ : Op("Neg", {Op("Neg", {axis_})});
    static constexpr const char* kOps[] = {"Sum", "Max", "Mean"};
    return Op("Add", {Any(), Op(kOps[Below(3)], {Any(), axis}, {{"keep_dims", true}})});
  }
  Output Joined() {
    const Output axis = Constant(Tensor::Scalar<int32_t>(Below(2)));
    const Output joined = build.Variadic("ConcatV2", {{Any(), Any()}, {axis}})->output(0);
    const Output begin = Constant(Values<int32_t>({0, 0}));
    const Output size = Op("Shape", {Any()});
    return Op("Slice", {joined, begin, size});
  }
  Output Reshaped() {
    const Output flat = Op("Reshape", {Any(), Constant(Values<int32_t>({-1}))});
    return Op("Reshape", {flat, Op("Shape", {Any()})});
  }
  Output NewNode() {
    static constexpr const char* kUnary[] = {"Neg",     "Tanh",    "Relu",
                                             "Softmax", "Sigmoid", "Identity"};
    static constexpr const char* kBinary[] = {"Add", "Sub", "Mul", "Maximum", "Minimum"};
    switch (Below(9)) {
      case 0:
      case 1: return Op(kUnary[Below(6)], {Any()});
      case 2:
      case 3:
      case 4: return Op(kBinary[Below(5)], {Any(), Any()});
      case 5: return Op("Tanh", {Op("MatMul", {Any(), Any()})});
      case 6: return Reduced();
      case 7: return Joined();
      default: return Reshaped();
    }
  }

  std::minstd_rand random_;
  Output x_;
  Output axis_;
  std::vector<Output> made_;
  std::vector<Output> fetches_;
  std::vector<Tensor> fed_;
};

class RandomGraphsTest : public ::testing::TestWithParam<int> {};

TEST_P(RandomGraphsTest, GiveTheSameBitsOnSeveralDevices) {
  RandomGraph alone(GetParam());
  alone.PlaceOn({"/device:SIM:0"});
  alone.Open(1);
  const std::vector<Tensor> expected = alone.RunAll();
  RandomGraph spread(GetParam());
  spread.PlaceOn({"/device:SIM:0", "/device:SIM:1", "/device:CPU:0"});
  spread.Open(1 + GetParam() % 3);
  for (int sim = 0; sim < 2; ++sim) SetOnSims(sim, "delay_us", 30);
  const std::vector<Tensor> actual = spread.RunAll();
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i].shape(), expected[i].shape());
    EXPECT_EQ(std::memcmp(actual[i].raw(), expected[i].raw(), expected[i].bytes()), 0)
        << "fetch " << i << ": " << actual[i].DebugString() << ", and not "
        << expected[i].DebugString();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphsTest, ::testing::Range(1, 201));

}  // namespace
}  // namespace millstream
