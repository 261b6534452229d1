// fuse_attention changes what a plan executes, and of what it gives nothing but the rounding.
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/passes/rounding_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Sizes {
  int64_t batch = 2;
  int64_t heads = 3;
  int64_t queries = 5;
  int64_t keys = 7;
  int64_t depth = 8;
  int64_t width = 6;
};

class FuseAttentionTest : public RoundingPassTest {
 protected:
  FuseAttentionTest() : RoundingPassTest({"simplify_arithmetic", "fuse_attention"}) {}

  // A tensor that is fed, with a name of its own.
  Output Values(const Shape& shape) { return Fed(absl::StrCat("values_", count_++), shape); }
  Output Product(const Output& x, const Output& y, bool transpose_y) {
    return Op("BatchMatMulV2", {x, y}, {{"adj_y", transpose_y}});
  }
  Output Transposed(const Output& x, const std::vector<int32_t>& order) {
    return Op("Transpose", {x, Constant(Tensor::Vector<int32_t>(order))});
  }
  Output Reshaped(const Output& x, const std::vector<int32_t>& dims) {
    return Op("Reshape", {x, Constant(Tensor::Vector<int32_t>(dims))});
  }
  // [batch, heads, positions, depth], made of columns as programs do it.
  Output Heads(int64_t batch, int64_t heads, int64_t positions, int64_t depth) {
    return Transposed(Values({batch, positions, heads, depth}), {0, 2, 1, 3});
  }
  // [batch, heads, queries, keys]
  Output Scores(const Sizes& sizes) {
    return Product(Heads(sizes.batch, sizes.heads, sizes.queries, sizes.depth),
                   Values({sizes.batch, sizes.heads, sizes.keys, sizes.depth}), true);
  }
  Output Attend(const Output& scores, const Sizes& sizes) {
    const Output values = Values({sizes.batch, sizes.heads, sizes.keys, sizes.width});
    return Product(Op("Softmax", {scores}), values, false);
  }

  // The numbers fed are at most 1. A score is a sum of `depth` products: both ways of adding them
  // are off by at most depth² units of rounding, as is a sum of `keys` products of probabilities,
  // by keys. Probabilities follow the scores' errors twice, the exponential adds 2 units, the
  // scale and the mask 1 each.
  static double Bound(const Sizes& sizes) {
    constexpr double kUnit = std::numeric_limits<float>::epsilon();
    const auto depth = static_cast<double>(sizes.depth);
    return kUnit * (4 * depth * depth + 2 * static_cast<double>(sizes.keys) + 16);
  }
  void ExpectFused(const Output& result, const Sizes& sizes = Sizes()) {
    EXPECT_EQ(Runs("_Attention", {result}), 1);
    EXPECT_EQ(Runs("Softmax", {result}), 0);
    EXPECT_EQ(Runs("Transpose", {result}), 0);
    ExpectNear(Bound(sizes), {result});
  }
  void ExpectNotFused(const std::vector<Output>& fetches) {
    EXPECT_EQ(Runs("_Attention", fetches), 0);
    EXPECT_EQ(Runs("Softmax", fetches), 1);
  }

 private:
  int count_ = 0;
};

TEST_F(FuseAttentionTest, ProductsSoftmaxAndATranspose) {
  ExpectFused(Attend(Scores(Sizes()), Sizes()));
}

// The library is as fast where there is no transpose to spare.
TEST_F(FuseAttentionTest, TheFormWithoutTransposesStays) {
  const Output scores = Product(Values({2, 3, 5, 8}), Values({2, 3, 7, 8}), true);
  ExpectNotFused({Attend(scores, Sizes())});
  const Output scaled = Op("Mul", {scores, Constant(0.3f)});
  ExpectNotFused({Attend(Op("AddV2", {scaled, Values({7})}), Sizes())});
}

TEST_F(FuseAttentionTest, OneTransposeOfAnyOperandOrOfTheResultIsEnough) {
  const Output queries = Values({2, 3, 5, 8});
  const Output keys = Values({2, 3, 7, 8});
  const Output values = Values({2, 3, 7, 6});
  const auto attend = [this](const Output& q, const Output& k, const Output& v) {
    return Product(Op("Softmax", {Product(q, k, true)}), v, false);
  };
  ExpectFused(attend(Heads(2, 3, 5, 8), keys, values));
  ExpectFused(attend(queries, Heads(2, 3, 7, 8), values));
  ExpectFused(attend(queries, keys, Heads(2, 3, 7, 6)));
  ExpectFused(Transposed(attend(queries, keys, values), {0, 2, 1, 3}));
}

TEST_F(FuseAttentionTest, TransposesThatRunAllTheSameAreNotEnough) {
  const Output queries = Heads(2, 3, 5, 8);
  const Output result = Attend(Product(queries, Values({2, 3, 7, 8}), true), Sizes());
  ExpectNotFused({result, queries});
  ExpectNotFused({result, Op("Neg", {queries})});
}

// Keys that are values, too.
TEST_F(FuseAttentionTest, BothProductsMayReadATranspose) {
  const Output keys = Heads(2, 3, 7, 8);
  const Output scores = Product(Values({2, 3, 5, 8}), keys, true);
  const Output result = Product(Op("Softmax", {scores}), keys, false);
  ExpectFused(result, {2, 3, 5, 7, 8, 8});
}

TEST_F(FuseAttentionTest, TheScaleMayBeAFactorOnEitherSide) {
  ExpectFused(Attend(Op("Mul", {Scores(Sizes()), Constant(0.3f)}), Sizes()));
  ExpectFused(Attend(Op("Mul", {Constant(0.3f), Scores(Sizes())}), Sizes()));
}

TEST_F(FuseAttentionTest, TheScaleMayBeADivision) {
  ExpectFused(Attend(Op("RealDiv", {Scores(Sizes()), Constant(2.8284271f)}), Sizes()));
}

TEST_F(FuseAttentionTest, AFactorThatDiffersByElementStays) {
  const Sizes sizes;
  const Output factors = Values({sizes.keys});
  ExpectNotFused({Attend(Op("Mul", {Scores(sizes), factors}), sizes)});
}

TEST_F(FuseAttentionTest, ADivisionByZeroStays) {
  ExpectNotFused({Attend(Op("RealDiv", {Scores(Sizes()), Constant(0.0f)}), Sizes())});
}

TEST_F(FuseAttentionTest, MasksOfAllShapes) {
  const Sizes sizes;
  const std::vector<Shape> shapes = {{},
                                     {sizes.keys},
                                     {sizes.queries, sizes.keys},
                                     {sizes.queries, 1},
                                     {sizes.batch, 1, 1, sizes.keys},
                                     {1, sizes.heads, sizes.queries, 1},
                                     {sizes.batch, sizes.heads, sizes.queries, sizes.keys}};
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(PartialShape(shape).ToString());
    ExpectFused(Attend(Op("AddV2", {Scores(sizes), Values(shape)}), sizes));
  }
  ExpectFused(Attend(Op("Add", {Values({sizes.keys}), Scores(sizes)}), sizes));
}

TEST_F(FuseAttentionTest, ScaleAndMask) {
  const Sizes sizes;
  const Output scaled = Op("Mul", {Scores(sizes), Constant(0.35355339f)});
  ExpectFused(Attend(Op("AddV2", {scaled, Values({sizes.batch, 1, 1, sizes.keys})}), sizes));
}

TEST_F(FuseAttentionTest, AMaskThatMakesScoresLargerStays) {
  const Sizes sizes = {1, 3, 5, 7, 8, 6};
  const Output sum = Op("AddV2", {Scores(sizes), Values({4, 1, 1, 1})});
  const Output values = Values({4, sizes.heads, sizes.keys, sizes.width});
  ExpectNotFused({Product(Op("Softmax", {sum}), values, false)});
}

// Large negative numbers and infinities, in a part of a row and in a whole one.
TEST_F(FuseAttentionTest, MaskedScores) {
  const Sizes sizes;
  for (const float masked : {-1e9f, -kInfinity, kInfinity, std::nanf("")}) {
    SCOPED_TRACE(masked);
    Tensor mask = *Tensor::Create(DataType::kFloat, Shape({sizes.queries, sizes.keys}));
    for (int64_t i = 0; i < mask.num_elements(); ++i) {
      const bool is_masked = i < sizes.keys || i % 3 == 0;
      mask.data<float>()[i] = is_masked ? masked : 0.0f;
    }
    // Scores vanish beside -1e9: the rounding of the sum is the same in both.
    ExpectFused(Attend(Op("AddV2", {Scores(sizes), Constant(mask)}), sizes));
  }
}

// [batch, positions, heads * depth] to heads and back, as programs do it.
TEST_F(FuseAttentionTest, TransposesOfHeadsBecomeAPart) {
  const auto heads = [this](int32_t positions, int32_t depth) {
    return Transposed(Reshaped(Values({2, positions, 3 * depth}), {2, positions, 3, depth}),
                      {0, 2, 1, 3});
  };
  const Output scores = Product(heads(5, 8), heads(7, 8), true);
  const Output attended = Product(Op("Softmax", {scores}), heads(7, 6), false);
  ExpectFused(Reshaped(Transposed(attended, {0, 2, 1, 3}), {2, 5, 18}));
}

TEST_F(FuseAttentionTest, KeysMayBeTransposedByAnOperation) {
  const Output keys = Transposed(Values({2, 3, 7, 8}), {0, 1, 3, 2});
  const Output scores = Product(Values({2, 3, 5, 8}), keys, false);
  ExpectFused(Attend(scores, Sizes()));
}

TEST_F(FuseAttentionTest, QueriesThatAreColumnsAreTransposedFirst) {
  const Output queries = Transposed(Values({2, 3, 8, 5}), {0, 1, 3, 2});
  const Output result = Attend(Product(queries, Heads(2, 3, 7, 8), true), Sizes());
  EXPECT_EQ(Runs("_Attention", {result}), 1);
  EXPECT_EQ(Runs("Transpose", {result}), 1);
  ExpectNear(Bound(Sizes()), {result});
}

TEST_F(FuseAttentionTest, ATransposeThatOthersReadIsComputedToo) {
  const Output queries = Heads(2, 3, 5, 8);
  const Output result = Attend(Product(queries, Heads(2, 3, 7, 8), true), Sizes());
  EXPECT_EQ(Runs("_Attention", {result, queries}), 1);
  EXPECT_EQ(Runs("Transpose", {result, queries}), 1);
  ExpectNear(Bound(Sizes()), {result, queries});
}

TEST_F(FuseAttentionTest, OneBatchDimensionOrNone) {
  const Output queries = Transposed(Values({5, 4, 8}), {1, 0, 2});
  const Output in_batches =
      Product(Op("Softmax", {Product(queries, Values({4, 7, 8}), true)}), Values({4, 7, 6}), false);
  ExpectFused(in_batches);
  const Output scores = Op("MatMul", {Values({5, 8}), Transposed(Values({7, 8}), {1, 0})});
  ExpectFused(Op("MatMul", {Op("Softmax", {scores}), Values({7, 6})}));
}

TEST_F(FuseAttentionTest, ValuesMayBeTransposedByTheProduct) {
  ExpectFused(Product(Op("Softmax", {Scores(Sizes())}), Values({2, 3, 6, 7}), true));
}

TEST_F(FuseAttentionTest, WhatIsFetchedOrReadTwiceStaysAValue) {
  const Output scores = Scores(Sizes());
  const Output probabilities = Op("Softmax", {scores});
  const Output values = Values({2, 3, 7, 6});
  const Output result = Product(probabilities, values, false);
  ExpectNotFused({result, probabilities});
  ExpectNotFused({result, scores});
  ExpectNotFused({result, Op("Neg", {probabilities})});
  ExpectNotFused({result, Op("Neg", {scores})});
}

TEST_F(FuseAttentionTest, ATargetIsComputedInFull) {
  const Output scores = Scores(Sizes());
  const Output result = Attend(scores, Sizes());
  ExpectNear(0, {result}, {scores.node});
}

TEST_F(FuseAttentionTest, BatchesThatBroadcastStay) {
  const Output scores = Product(Heads(2, 3, 5, 8), Values({1, 3, 7, 8}), true);
  ExpectNotFused({Attend(scores, Sizes())});
}

TEST_F(FuseAttentionTest, FewQueriesStay) {
  const Sizes few = {2, 3, 3, 7, 8, 6};
  ExpectNotFused({Attend(Scores(few), few)});
  const Sizes enough = {2, 3, 4, 7, 8, 6};
  ExpectFused(Attend(Scores(enough), enough), enough);
}

TEST_F(FuseAttentionTest, EmptyTensors) {
  for (const Sizes& sizes :
       {Sizes{0, 3, 5, 7, 8, 6}, Sizes{2, 3, 0, 7, 8, 6}, Sizes{2, 3, 5, 0, 8, 6},
        Sizes{2, 3, 5, 7, 0, 6}, Sizes{2, 3, 5, 7, 8, 0}}) {
    ExpectNear(Bound(sizes), {Attend(Scores(sizes), sizes)});
  }
}

// Sizes around those of vectors, strips and tiles.
TEST_F(FuseAttentionTest, RandomSizes) {
  std::mt19937 random(5);
  const auto size = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(1, most)(random);
  };
  for (int i = 0; i < 12; ++i) {
    const Sizes sizes = {size(2), size(2) + 1, size(96) + 4, size(70), size(40), size(40)};
    const Output scaled = Op("Mul", {Scores(sizes), Constant(0.25f)});
    const Output sum = Op("AddV2", {scaled, Values({sizes.queries, sizes.keys})});
    ExpectFused(Attend(sum, sizes), sizes);
  }
}

}  // namespace
}  // namespace millstream
