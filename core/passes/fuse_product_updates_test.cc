// fuse_product_updates changes what a plan executes, and of what the variable is afterwards nothing
// but the rounding of its gradient.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/passes/pass_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// Small integers: products and sums of some hundreds of them are exact, in any order.
Tensor Integers(DataType dtype, const Shape& shape) {
  Tensor tensor = *Tensor::Create(dtype, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const int64_t value = (i * 7919) % 17 - 8;
    if (dtype == DataType::kFloat) {
      tensor.data<float>()[i] = static_cast<float>(value);
    } else {
      tensor.data<double>()[i] = static_cast<double>(value);
    }
  }
  return tensor;
}

// The weights of a dense layer, whose gradient is transpose(x) * dy.
class FuseProductUpdatesTest : public PassTest {
 protected:
  FuseProductUpdatesTest() : PassTest("fuse_product_updates") {}

  void Layer(const Tensor& x, const Tensor& dy) {
    x_ = FedValue("x", x);
    dy_ = FedValue("dy", dy);
    const Tensor initial = Integers(x.dtype(), {x.shape().dim(1), dy.shape().dim(1)});
    weights_ = Variable("weights", x.dtype(), PartialShape(initial.shape()));
    initial_ = Assign(weights_, Constant(initial));
    gradient_ = Op("MatMul", {x_, dy_}, {{"transpose_a", true}});
  }
  void Layer(int64_t batch, int64_t rows, int64_t columns) {
    Layer(Integers(DataType::kFloat, {batch, rows}), Integers(DataType::kFloat, {batch, columns}));
  }

  const Node* Descend(const Output& gradient) {
    build.set_control_inputs({initial_});
    const Output rate = build.ScalarOf(gradient.dtype(), 0.25);
    const Node* const update =
        build.NodeOf("ResourceApplyGradientDescent", {weights_, rate, gradient});
    build.set_control_inputs({});
    EXPECT_TRUE(build.ok()) << build.status();
    return update;
  }
  // What the step leaves in the variable, with and without the pass, and how many instructions the
  // pass saves.
  int64_t SavedBy(const Node* update) { return Saved({Read(weights_, {update})}); }

  Output x_, dy_, weights_, gradient_;
  const Node* initial_ = nullptr;
};

TEST_F(FuseProductUpdatesTest, AStepAlongAProduct) {
  Layer(16, 40, 70);
  EXPECT_EQ(SavedBy(Descend(gradient_)), 1);
}

TEST_F(FuseProductUpdatesTest, OneExample) {
  Layer(1, 9, 300);
  EXPECT_EQ(SavedBy(Descend(gradient_)), 1);
}

TEST_F(FuseProductUpdatesTest, LargeEnoughForSeveralThreads) {
  Layer(4, 1003, 517);
  EXPECT_EQ(SavedBy(Descend(gradient_)), 1);
}

TEST_F(FuseProductUpdatesTest, NoExamples) {
  Layer(0, 5, 64);
  EXPECT_EQ(SavedBy(Descend(gradient_)), 1);
}

TEST_F(FuseProductUpdatesTest, ManySummandsAreTheLibrarysBusiness) {
  Layer(33, 40, 70);
  EXPECT_EQ(SavedBy(Descend(gradient_)), 0);
}

TEST_F(FuseProductUpdatesTest, NarrowProductsStay) {
  Layer(4, 40, 63);
  EXPECT_EQ(SavedBy(Descend(gradient_)), 0);
}

TEST_F(FuseProductUpdatesTest, AGradientThatSomebodyElseWantsStaysAValue) {
  Layer(4, 40, 70);
  const Node* const update = Descend(gradient_);
  const Output read = Read(weights_, {update});
  EXPECT_EQ(Saved({read, gradient_}), 0);
  EXPECT_EQ(Saved({read, Op("Neg", {gradient_})}), 0);
  EXPECT_EQ(Saved({read}, {gradient_.node}), 0);
  EXPECT_EQ(Saved({read}), 1);
}

TEST_F(FuseProductUpdatesTest, OtherProductsStay) {
  x_ = FedValue("x", Integers(DataType::kFloat, {7, 4}));
  dy_ = FedValue("dy", Integers(DataType::kFloat, {4, 90}));
  weights_ = Variable("weights", DataType::kFloat, PartialShape({7, 90}));
  initial_ = Assign(weights_, Constant(Integers(DataType::kFloat, {7, 90})));
  EXPECT_EQ(SavedBy(Descend(Op("MatMul", {x_, dy_}))), 0);
}

// An empty label is that of the usual kernel.
TEST_F(FuseProductUpdatesTest, AKernelThatTheProgramNamesStays) {
  Layer(4, 7, 90);
  const Output named = Op("MatMul", {x_, dy_}, {{"transpose_a", true}, {"_kernel", ""}});
  EXPECT_EQ(SavedBy(Descend(named)), 0);
}

TEST_F(FuseProductUpdatesTest, OtherTypesStay) {
  Layer(Integers(DataType::kDouble, {4, 7}), Integers(DataType::kDouble, {4, 90}));
  EXPECT_EQ(SavedBy(Descend(gradient_)), 0);
}

// Each sum of n products is off by at most n roundings of the sum of their sizes; here 8 summands
// of at most 1, and the step's own rounding.
TEST_F(FuseProductUpdatesTest, FractionsDifferByRoundingsOnly) {
  Layer(Numbers({8, 30}), Numbers({8, 70}));
  const Output read = Read(weights_, {Descend(gradient_)});
  SessionOptions plain;
  plain.disabled_passes = PassNames();
  const std::vector<float> expected = Elements<float>(RunWith(plain, {read}).values[0]);
  const std::vector<float> fused = Elements<float>(RunWith(SessionOptions(), {read}).values[0]);
  ASSERT_EQ(fused.size(), 2100u);
  for (size_t i = 0; i < fused.size(); ++i) EXPECT_NEAR(fused[i], expected[i], 8 * 8 * 6e-8 + 1e-6);
}

TEST_F(FuseProductUpdatesTest, AnUninitializedVariableIsAnErrorAsBefore) {
  Layer(4, 7, 90);
  const Node* const update =
      build.NodeOf("ResourceApplyGradientDescent", {weights_, Constant(0.25f), gradient_});
  StartSession();
  const Tensor x = Integers(DataType::kFloat, {4, 7});
  const Tensor dy = Integers(DataType::kFloat, {4, 90});
  ExpectError(Execute({update}, {{x_, x}, {dy_, dy}}), absl::StatusCode::kFailedPrecondition,
              {"weights"});
}

}  // namespace
}  // namespace millstream
