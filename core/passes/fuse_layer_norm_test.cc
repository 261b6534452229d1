// fuse_layer_norm changes what a plan executes, and of what it gives nothing but the rounding.
#include <limits>
#include <string>
#include <vector>

#include "core/passes/rounding_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr float kEpsilon = 1e-3f;

class FuseLayerNormTest : public RoundingPassTest {
 protected:
  FuseLayerNormTest() : RoundingPassTest({"simplify_arithmetic", "fuse_layer_norm"}) {}

  void Operands(const Shape& shape) {
    x_ = Fed("x", shape);
    gamma_ = Fed("gamma", {shape.dim(shape.rank() - 1)});
    beta_ = Fed("beta", {shape.dim(shape.rank() - 1)});
  }
  Output Mul(const Output& x, const Output& y) { return Op("Mul", {x, y}); }
  Output Add(const Output& x, const Output& y) { return Op("AddV2", {x, y}); }
  Output Mean(const Output& x, int32_t axis = -1) {
    return Op("Mean", {x, Constant(Tensor::Vector<int32_t>({axis}))}, {{"keep_dims", true}});
  }
  Output InverseRoot(const Output& squares) {
    return Op("Rsqrt", {Add(Mean(squares), Constant(kEpsilon))});
  }
  // As a formula says it.
  Output ByDifference() {
    const Output difference = Op("Sub", {x_, Mean(x_)});
    const Output root = InverseRoot(Mul(difference, difference));
    return Add(Mul(Mul(difference, root), gamma_), beta_);
  }
  // As moments and batch_normalization do.
  Output ByProducts() {
    const Output mean = Mean(x_);
    const Output squares = Op("SquaredDifference", {x_, Op("StopGradient", {mean})});
    const Output factor = Mul(InverseRoot(squares), gamma_);
    return Add(Mul(x_, factor), Op("Sub", {beta_, Mul(mean, factor)}));
  }

  // Numbers are at most 1 and their deviation at least 0.4 here, so that the result is below 4. A
  // mean of n numbers is off by n units at most, either way, a variance by twice that and more, and
  // the result by its slope of less than 20.
  static constexpr double kBound = 20 * 2 * 40 * 1.2e-7;
  void ExpectFused(const Output& result) {
    EXPECT_EQ(ExecutedOps({result}), std::vector<std::string>{"_LayerNorm"});
    ExpectNear(kBound, {result});
  }
  void ExpectNotFused(const std::vector<Output>& fetches) {
    EXPECT_EQ(Runs("_LayerNorm", fetches), 0);
  }

  Output x_, gamma_, beta_;
};

TEST_F(FuseLayerNormTest, AsAFormulaSaysIt) {
  Operands({6, 37});
  ExpectFused(ByDifference());
}

TEST_F(FuseLayerNormTest, AsBatchNormalizationDoes) {
  Operands({2, 3, 37});
  ExpectFused(ByProducts());
}

TEST_F(FuseLayerNormTest, OrdersAndNamesOfTheParts) {
  Operands({2, 3, 37});
  const Output difference = Op("Sub", {x_, Mean(x_, 2)});
  const Output squares = Op("Square", {difference});
  const Output root = Op("Rsqrt", {Op("Add", {Constant(kEpsilon), Mean(squares, 2)})});
  ExpectFused(Op("Add", {beta_, Mul(gamma_, Mul(root, difference))}));
  ExpectFused(Add(beta_, Mul(Mul(gamma_, root), difference)));
}

TEST_F(FuseLayerNormTest, WhatIsFetchedOrReadByOthersStaysAValue) {
  Operands({6, 37});
  const Output mean = Mean(x_);
  const Output difference = Op("Sub", {x_, mean});
  const Output root = InverseRoot(Mul(difference, difference));
  const Output result = Add(Mul(Mul(difference, root), gamma_), beta_);
  ExpectNotFused({result, mean});
  ExpectNotFused({result, Op("Neg", {root})});
  ExpectNear(0, {result}, {difference.node});
}

TEST_F(FuseLayerNormTest, OtherAxesAndDifferencesStay) {
  Operands({6, 6});
  const Output by_columns = Op("Sub", {x_, Mean(x_, 0)});
  const Output root = InverseRoot(Mul(by_columns, by_columns));
  ExpectNotFused({Add(Mul(Mul(by_columns, root), gamma_), beta_)});
  const Output other = Fed("other", {6, 6});
  const Output difference = Op("Sub", {x_, Mean(other)});
  const Output root_of_it = InverseRoot(Mul(difference, difference));
  ExpectNotFused({Add(Mul(Mul(difference, root_of_it), gamma_), beta_)});
}

TEST_F(FuseLayerNormTest, NoRows) {
  Operands({0, 5});
  ExpectNear(0, {ByDifference(), ByProducts()});
}

TEST_F(FuseLayerNormTest, RowsOfInfinitiesAreNoNumbers) {
  Tensor x = Numbers({3, 5});
  x.data<float>()[1] = std::numeric_limits<float>::infinity();
  x.data<float>()[7] = std::numeric_limits<float>::quiet_NaN();
  x_ = FedValue("x", x);
  gamma_ = Fed("gamma", {5});
  beta_ = Fed("beta", {5});
  ExpectNear(kBound, {ByDifference()});
}

}  // namespace
}  // namespace millstream
