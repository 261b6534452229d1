// fuse_softmax_grad changes what a plan executes, and no bit of what it gives.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/passes/pass_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// The operations of the gradient that one stands for, without the scale.
constexpr int64_t kSaved = 3;

class FuseSoftmaxGradTest : public PassTest {
 protected:
  FuseSoftmaxGradTest() : PassTest("fuse_softmax_grad") {}

  // A tensor that is fed, with a name of its own.
  Output Values(const Shape& shape) { return Fed("values_" + std::to_string(count_++), shape); }
  Output Total(const Output& x, int32_t axis = -1, bool keeps = true) {
    return Op("Sum", {x, Constant(Tensor::Vector<int32_t>({axis}))}, {{"keep_dims", keeps}});
  }
  // As the gradient of Softmax is added to graphs.
  Output Gradient(const Output& dy, const Output& y) {
    return Op("Mul", {Op("Sub", {dy, Total(Op("Mul", {dy, y}))}), y});
  }
  // The same of fed tensors.
  Output GradientOf(const Shape& shape) {
    return Gradient(Values(shape), Op("Softmax", {Values(shape)}));
  }

 private:
  int count_ = 0;
};

TEST_F(FuseSoftmaxGradTest, RowsOfAnyLength) {
  for (const int64_t columns : {1, 2, 15, 16, 100, 1024, 1025, 5000}) {
    EXPECT_EQ(Saved({GradientOf({3, columns})}), kSaved) << columns;
  }
}

TEST_F(FuseSoftmaxGradTest, BatchesAndVectors) {
  EXPECT_EQ(Saved({GradientOf({2, 3, 5, 7})}), kSaved);
  EXPECT_EQ(Saved({GradientOf({7})}), kSaved);
  EXPECT_EQ(Saved({GradientOf({0, 7})}), kSaved);
  EXPECT_EQ(Saved({GradientOf({7, 0})}), kSaved);
}

// Several threads, and groups of runs.
TEST_F(FuseSoftmaxGradTest, LargeTensors) {
  EXPECT_EQ(Saved({GradientOf({2000, 150})}), kSaved);
  EXPECT_EQ(Saved({GradientOf({3, 100001})}), kSaved);
}

TEST_F(FuseSoftmaxGradTest, FactorsMayStandInAnyOrder) {
  const Output dy = Values({4, 5});
  const Output y = Values({4, 5});
  const Output difference = Op("Sub", {dy, Total(Op("Mul", {y, dy}))});
  EXPECT_EQ(Saved({Op("Mul", {y, difference})}), kSaved);
}

TEST_F(FuseSoftmaxGradTest, TheLastDimensionMayBeNamedByItsNumber) {
  const Output dy = Values({4, 5});
  const Output y = Values({4, 5});
  const auto gradient = [&](int32_t axis) {
    return Op("Mul", {Op("Sub", {dy, Total(Op("Mul", {dy, y}), axis)}), y});
  };
  EXPECT_EQ(Saved({gradient(1)}), kSaved);
  EXPECT_EQ(Saved({gradient(0)}), 0);
}

TEST_F(FuseSoftmaxGradTest, AScaleIsTakenAlong) {
  const Output gradient = GradientOf({4, 5});
  EXPECT_EQ(Saved({Op("Mul", {gradient, Constant(0.3f)})}), kSaved + 1);
  EXPECT_EQ(Saved({Op("Mul", {Constant(0.3f), gradient})}), kSaved + 1);
}

TEST_F(FuseSoftmaxGradTest, WhatMadeTheScaleIsNotComputedInVain) {
  const Output dims = Constant(Tensor::Vector<int32_t>({4, 5}));
  const Output scales = Op("Fill", {dims, Constant(0.3f)});
  EXPECT_EQ(Saved({Op("Mul", {GradientOf({4, 5}), scales})}), kSaved + 2);
  EXPECT_EQ(Saved({Op("Mul", {GradientOf({4, 5}), scales}), Op("Neg", {scales})}), kSaved + 1);
}

TEST_F(FuseSoftmaxGradTest, OtherReadersKeepTheScaleApart) {
  const Output gradient = GradientOf({4, 5});
  const Output scaled = Op("Mul", {gradient, Constant(0.3f)});
  EXPECT_EQ(Saved({scaled, gradient}), kSaved);
  EXPECT_EQ(Saved({scaled, Op("Neg", {gradient})}), kSaved);
  EXPECT_EQ(Saved({Op("Mul", {gradient, Values({5})})}), kSaved);
  EXPECT_EQ(
      Saved({Op("Mul",
                {gradient, Constant(Tensor::FromValues<float>(Shape({2, 1, 1}), {0.3f, 0.3f}))})}),
      kSaved);
}

// Each pair in a row of its own. No NaN is fed: which of two NaNs an operation gives is open.
TEST_F(FuseSoftmaxGradTest, InfinitiesAndTheNaNsThatTheyMakeStay) {
  const Tensor special = SpecialNumbers();
  std::vector<float> numbers;
  for (const float value : Elements<float>(special)) {
    if (!std::isnan(value)) numbers.push_back(value);
  }
  std::vector<float> gradients;
  std::vector<float> softmax;
  for (const float x : numbers) {
    for (const float y : numbers) {
      gradients.insert(gradients.end(), {x, 0.5f});
      softmax.insert(softmax.end(), {y, 0.25f});
    }
  }
  const Shape shape({static_cast<int64_t>(gradients.size()) / 2, 2});
  const Output dy = FedValue("dy", Tensor::FromValues<float>(shape, gradients));
  const Output y = FedValue("y", Tensor::FromValues<float>(shape, softmax));
  EXPECT_EQ(Saved({Gradient(dy, y)}), kSaved);
}

TEST_F(FuseSoftmaxGradTest, WhatIsFetchedOrReadTwiceStaysAValue) {
  const Output dy = Values({4, 5});
  const Output y = Values({4, 5});
  const Output product = Op("Mul", {dy, y});
  const Output total = Total(product);
  const Output difference = Op("Sub", {dy, total});
  const Output gradient = Op("Mul", {difference, y});
  for (const Output& part : {product, total, difference}) {
    EXPECT_EQ(Saved({gradient, part}), 0);
    EXPECT_EQ(Saved({gradient, Op("Neg", {part})}), 0);
    EXPECT_EQ(Saved({gradient}, {part.node}), 0);
  }
  EXPECT_EQ(Saved({gradient}), kSaved);
}

TEST_F(FuseSoftmaxGradTest, OtherFormulasStay) {
  const Output dy = Values({5, 5});
  const Output y = Values({5, 5});
  const Output other = Values({5, 5});
  const auto times = [this](const Output& a, const Output& b) { return Op("Mul", {a, b}); };
  const Output total = Total(times(dy, y));
  EXPECT_EQ(Saved({times(Op("Sub", {dy, total}), other)}), 0);
  EXPECT_EQ(Saved({times(Op("Sub", {other, total}), y)}), 0);
  EXPECT_EQ(Saved({times(Op("Sub", {total, dy}), y)}), 0);
  EXPECT_EQ(Saved({times(Op("Sub", {dy, Total(times(dy, y), -1, false)}), y)}), 0);
  EXPECT_EQ(Saved({times(Op("Sub", {dy, Total(times(y, y))}), y)}), 0);
  EXPECT_EQ(Saved({times(Op("Sub", {dy, Total(Op("AddV2", {dy, y}))}), y)}), 0);
  const Output row = Values({5});
  EXPECT_EQ(Saved({Gradient(dy, row)}), 0);
}

TEST_F(FuseSoftmaxGradTest, OtherTypesStay) {
  const Output dy = FedValue("dy", Tensor::FromValues<double>(Shape({1, 2}), {3, 4}));
  const Output y = FedValue("y", Tensor::FromValues<double>(Shape({1, 2}), {0.25, 0.75}));
  EXPECT_EQ(Saved({Gradient(dy, y)}), 0);
}

}  // namespace
}  // namespace millstream
