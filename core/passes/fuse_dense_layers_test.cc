// fuse_gelu and fuse_dense_layers change what a plan executes, and of what it gives nothing but the
// rounding.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/passes/rounding_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr float kErfFactor = 0.70710678f;
constexpr float kTanhFactor = 0.79788456f;
constexpr float kCubeFactor = 0.044715f;

// Numbers from -8 to 8.
Tensor Wide(const Shape& shape) {
  Tensor tensor = Numbers(shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.data<float>()[i] *= 8;
  return tensor;
}

class GeluTest : public RoundingPassTest {
 protected:
  explicit GeluTest(const std::vector<std::string>& passes) : RoundingPassTest(passes) {}
  GeluTest() : GeluTest({"fuse_gelu"}) {}

  Output Mul(const Output& x, const Output& y) { return Op("Mul", {x, y}); }
  Output Add(const Output& x, const Output& y) { return Op("AddV2", {x, y}); }
  Output WithErf(const Output& x) {
    const Output erf = Op("Erf", {Mul(x, Constant(kErfFactor))});
    return Mul(Mul(x, Constant(0.5f)), Add(erf, Constant(1.0f)));
  }
  Output WithTanh(const Output& x) {
    const Output cube = Mul(Constant(kCubeFactor), Mul(x, Mul(x, x)));
    const Output tanh = Op("Tanh", {Mul(Constant(kTanhFactor), Add(x, cube))});
    return Mul(Mul(x, Constant(0.5f)), Add(tanh, Constant(1.0f)));
  }

  // Both are off by less than 4e-7 |x| (kernels/common/gelu.h).
  static constexpr double kBound = 2 * 8 * 4e-7;
  void ExpectFused(const Output& result) {
    EXPECT_EQ(ExecutedOps({result}), std::vector<std::string>{"_Gelu"});
    ExpectNear(kBound, {result});
  }
  void ExpectNotFused(const std::vector<Output>& fetches) { EXPECT_EQ(Runs("_Gelu", fetches), 0); }
};

TEST_F(GeluTest, ByErf) {
  const Output x = FedValue("x", Wide({31, 17}));
  ExpectFused(WithErf(x));
}

TEST_F(GeluTest, FactorsInAnyOrder) {
  const Output x = FedValue("x", Wide({31, 17}));
  const Output half = Constant(0.5f);
  const Output one = Constant(1.0f);
  const Output erf = Op("Erf", {Op("RealDiv", {x, Constant(1.41421356f)})});
  ExpectFused(Mul(x, Mul(half, Add(one, erf))));
  ExpectFused(Mul(half, Mul(Add(one, erf), x)));
  ExpectFused(Mul(Mul(half, x), Add(one, Op("Erf", {Mul(Constant(kErfFactor), x)}))));
  ExpectFused(Op("Mul", {Mul(x, Add(erf, one)), half}));
  ExpectFused(Mul(Op("RealDiv", {x, Constant(2.0f)}), Add(erf, one)));
}

TEST_F(GeluTest, ByTanh) {
  const Output x = FedValue("x", Wide({31, 17}));
  ExpectFused(WithTanh(x));
}

TEST_F(GeluTest, ThePowerMayBeWrittenInManyWays) {
  const Output x = FedValue("x", Wide({31, 17}));
  const Output half = Constant(0.5f);
  const Output one = Constant(1.0f);
  const Output cubes[] = {Op("Pow", {x, Constant(3.0f)}), Mul(Op("Square", {x}), x),
                          Mul(Mul(x, x), x)};
  for (const Output& cube : cubes) {
    const Output sum = Add(x, Mul(cube, Constant(kCubeFactor)));
    const Output tanh = Op("Tanh", {Mul(sum, Constant(kTanhFactor))});
    ExpectFused(Mul(x, Mul(half, Add(one, tanh))));
  }
  const Output sum = Add(one, Mul(Mul(Constant(kCubeFactor), x), x));
  const Output tanh = Op("Tanh", {Mul(Mul(x, Constant(kTanhFactor)), sum)});
  ExpectFused(Mul(Mul(half, x), Add(one, tanh)));
}

TEST_F(GeluTest, OtherNumbersStay) {
  const Output x = FedValue("x", Wide({4}));
  const Output erf = Op("Erf", {Mul(x, Constant(0.7f))});
  ExpectNotFused({Mul(Mul(x, Constant(0.5f)), Add(erf, Constant(1.0f)))});
  const Output right = Op("Erf", {Mul(x, Constant(kErfFactor))});
  ExpectNotFused({Mul(Mul(x, Constant(0.25f)), Add(right, Constant(1.0f)))});
  ExpectNotFused({Mul(Mul(x, Constant(0.5f)), Add(right, Constant(2.0f)))});
  const Output other = FedValue("other", Wide({4}));
  ExpectNotFused({Mul(Mul(other, Constant(0.5f)), Add(right, Constant(1.0f)))});
}

TEST_F(GeluTest, WhatIsFetchedOrReadByOthersStaysAValue) {
  const Output x = FedValue("x", Wide({4}));
  const Output erf = Op("Erf", {Mul(x, Constant(kErfFactor))});
  const Output half = Mul(x, Constant(0.5f));
  const Output result = Mul(half, Add(erf, Constant(1.0f)));
  ExpectNotFused({result, erf});
  ExpectNotFused({result, half});
  ExpectNotFused({result, Op("Neg", {erf})});
}

TEST_F(GeluTest, OneThatIsBroadcastStays) {
  const Output x = FedValue("x", Wide({4}));
  const Output erf = Op("Erf", {Mul(x, Constant(kErfFactor))});
  Tensor ones = *Tensor::Create(DataType::kFloat, Shape({3, 4}));
  std::fill_n(ones.data<float>(), ones.num_elements(), 1.0f);
  ExpectNotFused({Mul(Mul(x, Constant(0.5f)), Add(erf, Constant(ones)))});
}

TEST_F(GeluTest, SpecialNumbers) {
  const Output x = FedValue("x", SpecialNumbers());
  EXPECT_EQ(Runs("_Gelu", {WithErf(x)}), 1);
  const auto value = [&](const Output& gelu, float at) {
    return *Value(gelu, {{x, Tensor::Scalar<float>(at)}}).data<float>();
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Output& gelu : {WithErf(x), WithTanh(x)}) {
    EXPECT_EQ(value(gelu, kInfinity), kInfinity);
    EXPECT_TRUE(std::isnan(value(gelu, -kInfinity)));
    EXPECT_TRUE(std::isnan(value(gelu, std::nanf(""))));
    EXPECT_EQ(value(gelu, 0.0f), 0.0f);
    EXPECT_EQ(value(gelu, 1e30f), 1e30f);
    EXPECT_EQ(value(gelu, -1e30f), 0.0f);
  }
}

class FuseDenseLayersTest : public GeluTest {
 protected:
  FuseDenseLayersTest() : GeluTest({"fuse_gelu", "fuse_dense_layers"}) {}

  Output Product() {
    return Op("MatMul", {Fed(absl::StrCat("x_", count_++), {kRows, kDepth}), Weights()});
  }
  Output Weights() { return Constant(Numbers({kDepth, kColumns})); }
  Output Biased() { return Op("BiasAdd", {Product(), Constant(Numbers({kColumns}))}); }
  Output Residual() { return Fed(absl::StrCat("residual_", count_++), {kRows, kColumns}); }

  // A sum of products of numbers up to 1 is off by at most the square of their number, either way;
  // what follows has a slope of less than 2.
  static constexpr double kBound = 4.0 * 40 * 40 * 1.2e-7;
  void ExpectFused(const Output& result) {
    EXPECT_EQ(ExecutedOps({result}), std::vector<std::string>{"_DenseLayer"});
    ExpectNear(kBound, {result});
  }

  static constexpr int64_t kRows = 11;
  static constexpr int64_t kDepth = 40;
  static constexpr int64_t kColumns = 37;

 private:
  int count_ = 0;
};

TEST_F(FuseDenseLayersTest, ProductsAndWhatFollows) {
  ExpectFused(Product());
  ExpectFused(Biased());
  ExpectFused(Op("Relu", {Biased()}));
  ExpectFused(WithErf(Biased()));
  ExpectFused(WithTanh(Biased()));
  ExpectFused(Op("AddV2", {Biased(), Residual()}));
  ExpectFused(Op("Add", {Residual(), Product()}));
  ExpectFused(Op("AddV2", {Residual(), Op("Relu", {Product()})}));
  ExpectFused(Op("AddV2", {WithTanh(Biased()), Residual()}));
}

TEST_F(FuseDenseLayersTest, TransposedWeights) {
  const Output x = Fed("x", {kRows, kDepth});
  const Output weights = Constant(Numbers({kColumns, kDepth}));
  ExpectFused(Op("MatMul", {x, weights}, {{"transpose_b", true}}));
}

TEST_F(FuseDenseLayersTest, OtherProductsStay) {
  const Output x = Fed("x", {kRows, kDepth});
  EXPECT_EQ(Runs("_DenseLayer", {Op("MatMul", {x, Fed("w", {kDepth, kColumns})})}), 0);
  const Output turned = Fed("turned", {kDepth, kRows});
  const Output product = Op("MatMul", {turned, Weights()}, {{"transpose_a", true}});
  EXPECT_EQ(Runs("_DenseLayer", {product}), 0);
  const Output narrow = Constant(Numbers({kDepth, 7}));
  EXPECT_EQ(Runs("_DenseLayer", {Op("MatMul", {x, narrow})}), 0);
}

TEST_F(FuseDenseLayersTest, FewRows) {
  for (const int64_t rows : {1, 2, 3, 7}) {
    const Output x = Fed(absl::StrCat("rows_", rows), {rows, kDepth});
    ExpectFused(Op("MatMul", {x, Weights()}));
    const Output sum = Op("BiasAdd", {Op("MatMul", {x, Weights()}), Constant(Numbers({kColumns}))});
    ExpectFused(Op("Relu", {sum}));
  }
}

TEST_F(FuseDenseLayersTest, FewColumns) {
  const Output weights = Constant(Numbers({kDepth, 10}));
  ExpectFused(Op("MatMul", {Fed("x", {kRows, kDepth}), weights}));
  ExpectFused(Op("MatMul", {Fed("row", {1, kDepth}), weights}));
}

// They would be in memory twice.
TEST_F(FuseDenseLayersTest, FewRowsAndManyWeightsStay) {
  const auto fused = [this](int64_t rows, int64_t depth) {
    const Output x = Fed(absl::StrCat("x_", rows, "_", depth), {rows, depth});
    return Runs("_DenseLayer", {Op("MatMul", {x, Constant(Numbers({depth, 1024}))})});
  };
  EXPECT_EQ(fused(7, 2048), 1);
  EXPECT_EQ(fused(7, 2049), 0);
  EXPECT_EQ(fused(8, 2049), 1);
}

TEST_F(FuseDenseLayersTest, WhatIsFetchedOrReadTwiceStaysAValue) {
  const Output product = Product();
  const Output sum = Op("BiasAdd", {product, Constant(Numbers({kColumns}))});
  const Output relu = Op("Relu", {sum});
  EXPECT_EQ(ExecutedOps({relu, sum}), (std::vector<std::string>{"_DenseLayer", "Relu"}));
  EXPECT_EQ(ExecutedOps({relu, product}),
            (std::vector<std::string>{"_DenseLayer", "BiasAdd", "Relu"}));
  ExpectNear(kBound, {relu, sum, product});
  ExpectNear(kBound, {relu}, {product.node});
}

TEST_F(FuseDenseLayersTest, AVectorAfterTheActivationStays) {
  const Output sum = Op("AddV2", {Op("Relu", {Product()}), Constant(Numbers({kColumns}))});
  EXPECT_EQ(ExecutedOps({sum}), (std::vector<std::string>{"_DenseLayer", "AddV2"}));
  ExpectNear(kBound, {sum});
}

TEST_F(FuseDenseLayersTest, NotANumberStays) {
  const Output nan = Constant(Tensor::Scalar<float>(std::nanf("")));
  const Output x = Op("Mul", {Fed("x", {kRows, kDepth}), nan});
  const Output result = Op("Relu", {Op("MatMul", {x, Weights()})});
  ExpectNear(kBound, {result});
}

}  // namespace
}  // namespace millstream
