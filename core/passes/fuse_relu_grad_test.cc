// fuse_relu_grad changes what a plan executes, and no bit of what it gives.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/passes/pass_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class FuseReluGradTest : public PassTest {
 protected:
  FuseReluGradTest() : PassTest("fuse_relu_grad") {}

  // The gradient of a Relu of such a shape.
  Output ReluGrad(const Shape& shape) {
    return Op("ReluGrad", {Fed("gradients", shape), Fed("features", shape)});
  }
  Output Axes(std::vector<int32_t> axes) { return Constant(Tensor::Vector<int32_t>(axes)); }
};

TEST_F(FuseReluGradTest, SumOverImages) {
  const Output gradient = ReluGrad({3, 9, 8, 5});
  EXPECT_EQ(Saved({Op("BiasAddGrad", {gradient}), Op("Neg", {gradient})}), 1);
}

TEST_F(FuseReluGradTest, SumOverRows) {
  const Output gradient = ReluGrad({70, 130});
  EXPECT_EQ(Saved({Op("Neg", {gradient}), Op("BiasAddGrad", {gradient})}), 1);
  EXPECT_EQ(Saved({Op("BiasAddGrad", {gradient})}), 1);
}

// Cut into groups, and into tiles of columns too.
TEST_F(FuseReluGradTest, LargeSums) {
  const Output images = ReluGrad({12, 31, 33, 32});
  EXPECT_EQ(Saved({Op("Neg", {images}), Op("BiasAddGrad", {images})}), 1);
}
TEST_F(FuseReluGradTest, LargeSumsOfManyColumns) {
  const Output rows = ReluGrad({301, 1100});
  EXPECT_EQ(Saved({Op("Neg", {rows}), Op("BiasAddGrad", {rows})}), 1);
}

TEST_F(FuseReluGradTest, OneChannelOneRowAndNothing) {
  const Output column = ReluGrad({5000, 1});
  EXPECT_EQ(Saved({Op("Neg", {column}), Op("BiasAddGrad", {column})}), 1);
}
TEST_F(FuseReluGradTest, OneRow) {
  const Output row = ReluGrad({1, 77});
  EXPECT_EQ(Saved({Op("Neg", {row}), Op("BiasAddGrad", {row})}), 1);
}
TEST_F(FuseReluGradTest, EmptyBatch) {
  const Output nothing = ReluGrad({0, 7});
  EXPECT_EQ(Saved({Op("Neg", {nothing}), Op("BiasAddGrad", {nothing})}), 1);
}

TEST_F(FuseReluGradTest, TheGradientOfAnAddThatBroadcasts) {
  const Output gradient = ReluGrad({4, 5, 6, 7});
  EXPECT_EQ(Saved({Op("Neg", {gradient}), Op("Sum", {gradient, Axes({0, 1, 2})})}), 1);
  EXPECT_EQ(Saved({Op("Neg", {gradient}), Op("Sum", {gradient, Axes({-2, 0, -3})})}), 1);
  EXPECT_EQ(Saved({Op("Neg", {gradient}), Op("Sum", {gradient, Axes({0, 1})})}), 0);
  EXPECT_EQ(Saved({Op("Neg", {gradient}), Op("Sum", {gradient, Axes({0, 1, 2, 3})})}), 0);
  EXPECT_EQ(Saved({Op("Sum", {gradient, Axes({0, 1, 2})}, {{"keep_dims", true}})}), 0);
}

TEST_F(FuseReluGradTest, OfSeveralSumsOneIsTakenAlong) {
  const Output gradient = ReluGrad({6, 7});
  EXPECT_EQ(Saved({Op("BiasAddGrad", {gradient}), Op("Sum", {gradient, Axes({0})})}), 1);
}

TEST_F(FuseReluGradTest, NotANumberInfinityAndSignsStay) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special = {kNan,  -kNan,  kInfinity, -kInfinity, 0.0f,
                                      -0.0f, 1e-40f, -1e-40f,   1.0f,       -1.0f};
  std::vector<float> gradients;
  std::vector<float> features;
  for (float feature : special) {
    gradients.insert(gradients.end(), special.begin(), special.end());
    features.insert(features.end(), special.size(), feature);
  }
  // Each pair in a column of its own.
  const Output dy = Constant(Tensor::FromValues<float>(Shape({1, 100}), gradients));
  const Output y = Constant(Tensor::FromValues<float>(Shape({1, 100}), features));
  const Output gradient = Op("ReluGrad", {dy, y});
  EXPECT_EQ(Saved({Op("Neg", {gradient}), Op("BiasAddGrad", {gradient})}), 1);
}

TEST_F(FuseReluGradTest, ChannelsThatComeFirstStay) {
  const Output gradient = ReluGrad({2, 3, 5, 4});
  EXPECT_EQ(Saved({Op("BiasAddGrad", {gradient}, {{"data_format", "NCHW"}})}), 0);
}

// The target computes it all the same.
TEST_F(FuseReluGradTest, AGradientThatIsFedIsWhatIsSummed) {
  const Output x = Constant(Numbers({2, 2}));
  const Output gradient = Op("ReluGrad", {x, x});
  const Output sum = Op("BiasAddGrad", {gradient});
  StartSession();
  const Tensor fed = Tensor::FromValues<float>(Shape({2, 2}), {1, 2, 3, 4});
  const StatusOr<std::vector<Tensor>> sums = Run({sum}, {{gradient, fed}}, {gradient.node});
  ASSERT_TRUE(sums.ok()) << sums.status();
  EXPECT_EQ(Elements<float>((*sums)[0]), (std::vector<float>{4, 6}));
}

TEST_F(FuseReluGradTest, OtherTypesAndReadersStay) {
  const Output gradient = ReluGrad({4, 5});
  EXPECT_EQ(Saved({Op("Sum", {Op("Neg", {gradient}), Axes({0})})}), 0);
  const Output doubles = Constant(Tensor::FromValues<double>(Shape({1, 2}), {3, 4}));
  EXPECT_EQ(Saved({Op("BiasAddGrad", {Op("ReluGrad", {doubles, doubles})})}), 0);
}

// What fuse_elementwise takes is left to it.
TEST_F(FuseReluGradTest, AChainOfElementwiseOperationsStaysOne) {
  const Output gradient = ReluGrad({4, 5});
  const Output sum = Op("BiasAddGrad", {Op("ReluGrad", {Op("Neg", {gradient}), gradient})});
  SessionOptions options;
  const int64_t all = RunWith(options, {sum}).instructions;
  options.disabled_passes = {"fuse_relu_grad"};
  EXPECT_EQ(RunWith(options, {sum}).instructions, all);
}

}  // namespace
}  // namespace millstream
