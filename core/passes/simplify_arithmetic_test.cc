// simplify_arithmetic changes what a plan executes, and no bit of what it gives.
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "core/passes/pass_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class SimplifyArithmeticTest : public PassTest {
 protected:
  SimplifyArithmeticTest() : PassTest("simplify_arithmetic") { special_ = SpecialNumbers(); }

  Output Special() { return FedValue("special", special_); }
  Output Ints(const std::vector<int32_t>& values) {
    return Constant(Tensor::Vector<int32_t>(values));
  }
  Output Doubles(const Output& x) { return Op("Cast", {x}, {{"DstT", DataType::kDouble}}); }
  Output Transposed(const Output& x, const std::vector<int32_t>& permutation) {
    return Op("Transpose", {x, Ints(permutation)});
  }

  Tensor special_;
};

// ---- Numbers ----

TEST_F(SimplifyArithmeticTest, OneIsNeutral) {
  const Output x = Special();
  const Output one = Constant(1.0f);
  EXPECT_EQ(Saved({Op("Mul", {x, one})}), 1);
  EXPECT_EQ(Saved({Op("Mul", {one, x})}), 1);
  EXPECT_EQ(Saved({Op("RealDiv", {x, one})}), 1);
  EXPECT_EQ(Saved({Op("Div", {x, one})}), 1);
  EXPECT_EQ(Saved({Op("RealDiv", {one, x})}), 0);
  EXPECT_EQ(Saved({Op("FloorDiv", {x, one})}), 0);
  EXPECT_EQ(Saved({Op("Neg", {Op("Mul", {x, Constant(-1.0f)})})}), 0);
}

TEST_F(SimplifyArithmeticTest, ZeroIsNeutralWithTheRightSign) {
  const Output x = Special();
  EXPECT_EQ(Saved({Op("Sub", {x, Constant(0.0f)})}), 1);
  EXPECT_EQ(Saved({Op("Sub", {x, Constant(-0.0f)})}), 0);
  EXPECT_EQ(Saved({Op("Sub", {Constant(0.0f), x})}), 0);
  for (const char* op : {"Add", "AddV2"}) {
    EXPECT_EQ(Saved({Op(op, {x, Constant(-0.0f)})}), 1);
    EXPECT_EQ(Saved({Op(op, {Constant(-0.0f), x})}), 1);
    EXPECT_EQ(Saved({Op(op, {x, Constant(0.0f)})}), 0);
  }
}

TEST_F(SimplifyArithmeticTest, Integers) {
  const Output x = FedValue("x", Values<int32_t>({7, -7, 0, INT32_MIN, INT32_MAX}));
  EXPECT_EQ(Saved({Op("FloorDiv", {Op("Mul", {x, build.Int32(1)}), build.Int32(1)})}), 2);
  EXPECT_EQ(Saved({Op("Add", {Op("Sub", {x, build.Int32(0)}), build.Int32(0)})}), 2);
}

TEST_F(SimplifyArithmeticTest, NeutralTensorsOfTheSameShape) {
  const Output x = Fed("x", {2, 3});
  const Output one = Constant(1.0f);
  EXPECT_EQ(Saved({Op("Mul", {x, Op("Fill", {Ints({2, 3}), one})})}), 2);
  EXPECT_EQ(Saved({Op("Mul", {x, Constant(Tensor::Of<float>({3}, {1, 1, 1}))})}), 1);
  EXPECT_EQ(Saved({Op("Mul", {x, Constant(Tensor::Of<float>({3}, {1, 1, 2}))})}), 0);
  // It would widen x.
  EXPECT_EQ(Saved({Op("Mul", {x, Constant(Tensor::Of<float>({2, 1, 1}, {1, 1}))})}), 0);
}

TEST_F(SimplifyArithmeticTest, OtherTypesKeepTheirArithmetic) {
  const Output x = Special();
  for (DataType dtype : {DataType::kHalf, DataType::kBFloat16, DataType::kComplex64}) {
    const Output narrow = Op("Cast", {x}, {{"DstT", dtype}});
    const Output product = Op("Mul", {narrow, build.ScalarOf(dtype, 1)});
    EXPECT_EQ(Saved({product}), 0);
  }
  EXPECT_EQ(Saved({Op("Mul", {Doubles(x), Constant(Tensor::Scalar<double>(1))})}), 1);
}

// The division is gone, though as many operations run.
TEST_F(SimplifyArithmeticTest, DivisionByAPowerOfTwo) {
  const Output x = Special();
  const float smallest = std::numeric_limits<float>::min();
  for (float divisor : {2.0f, -4.0f, 0.25f, 0x1p126f, smallest}) {
    const Output quotient = Op("RealDiv", {x, Constant(divisor)});
    EXPECT_EQ(Saved({quotient}), 0);
    EXPECT_EQ(ExecutedOps({quotient}), std::vector<std::string>{"Mul"}) << divisor;
  }
  // The inverse is no normal number, or not exact.
  for (float divisor : {0x1p127f, 0x1p-149f, 3.0f, 0.0f}) {
    const Output quotient = Op("Div", {x, Constant(divisor)});
    EXPECT_EQ(Saved({quotient}), 0);
    EXPECT_EQ(ExecutedOps({quotient}), std::vector<std::string>{"Div"}) << divisor;
  }
  const Output wide = Op("RealDiv", {Doubles(x), Constant(Tensor::Scalar<double>(8))});
  EXPECT_EQ(Saved({wide}), 0);
  EXPECT_EQ(ExecutedOps({wide}), (std::vector<std::string>{"Cast", "Mul"}));
}

TEST_F(SimplifyArithmeticTest, TheLargestDivisorsAndResults) {
  const Output x = Special();
  for (float divisor : {0x1p100f, -0x1p120f, 0x1p-100f}) {
    EXPECT_EQ(Saved({Op("RealDiv", {x, Constant(divisor)})}), 0);
  }
}

TEST_F(SimplifyArithmeticTest, WhatIsUndoneGoes) {
  const Output x = Special();
  EXPECT_EQ(Saved({Op("Neg", {Op("Neg", {x})})}), 2);
  EXPECT_EQ(Saved({Op("Neg", {Op("Neg", {Op("Neg", {x})})})}), 2);
  const Output is_less = Op("Less", {x, Constant(0.0f)});
  EXPECT_EQ(Saved({Op("LogicalNot", {Op("LogicalNot", {is_less})})}), 2);
  EXPECT_EQ(Saved({Op("Abs", {Op("Abs", {x})})}), 0);
}

TEST_F(SimplifyArithmeticTest, SumOfOneTensor) {
  const Output x = Special();
  EXPECT_EQ(Saved({build.Variadic("AddN", {{x}})->output(0)}), 1);
  EXPECT_EQ(Saved({build.Variadic("AddN", {{x, x}})->output(0)}), 0);
}

TEST_F(SimplifyArithmeticTest, ConditionsThatAreKnown) {
  const Output x = Special();
  const Output y = Op("Neg", {x});
  const Tensor shape = Tensor::Vector<int32_t>({static_cast<int32_t>(special_.num_elements())});
  const auto all = [&](bool value) {
    return Op("Fill", {Constant(shape), Constant(Tensor::Scalar<bool>(value))});
  };
  EXPECT_EQ(Saved({Op("Select", {all(true), x, y})}), 3);
  EXPECT_EQ(Saved({Op("Select", {all(false), x, y})}), 2);
}

TEST_F(SimplifyArithmeticTest, OneNumberEverywhereBecomesAScalar) {
  const Output x = Fed("x", {64, 5});
  const Output share = Op("Fill", {Ints({64, 1}), Constant(1.0f / 64)});
  const Output product = Op("Mul", {Op("Tile", {share, Ints({1, 5})}), x});
  EXPECT_EQ(Saved({product}), 2);
  EXPECT_EQ(ExecutedOps({product}), std::vector<std::string>{"Mul"});
  // Which of two NaNs is passed on may depend on how an operand is read.
  const Output nan = Constant(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(Saved({Op("Mul", {x, Op("Fill", {Ints({64, 5}), nan})})}), 0);
}

// ---- Layout ----

TEST_F(SimplifyArithmeticTest, NamesDoNotHideWhatIsBehindThem) {
  const Output x = Special();
  const Output name = Op("Identity", {Op("StopGradient", {Op("Neg", {x})})});
  EXPECT_EQ(Saved({Op("Neg", {name})}), 2);
  EXPECT_EQ(Saved({Op("Neg", {name}), name}), 0);
}

TEST_F(SimplifyArithmeticTest, WhatMovesNothing) {
  const Output x = Fed("x", {2, 3});
  EXPECT_EQ(Saved({Op("Cast", {x}, {{"DstT", DataType::kFloat}})}), 1);
  EXPECT_EQ(Saved({Op("Tile", {x, Ints({1, 1})})}), 1);
  EXPECT_EQ(Saved({Op("Pad", {x, Constant(Tensor::Of<int32_t>({2, 2}, {0, 0, 0, 0}))})}), 1);
  EXPECT_EQ(Saved({Op("Slice", {x, Ints({0, 0}), Ints({2, -1})})}), 1);
  EXPECT_EQ(Saved({Op("StridedSlice", {x, Ints({0, 0}), Ints({2, 3}), Ints({1, 1})})}), 1);
  EXPECT_EQ(
      Saved({build.Variadic("Split", {{build.Int32(1)}, {x}}, {{"num_split", 1}})->output(0)}), 1);
  EXPECT_EQ(Saved({Transposed(x, {0, 1})}), 1);
}

TEST_F(SimplifyArithmeticTest, WhatMovesSomethingStays) {
  const Output x = Fed("x", {2, 3});
  EXPECT_EQ(Saved({Op("Tile", {x, Ints({1, 2})})}), 0);
  EXPECT_EQ(Saved({Op("Slice", {x, Ints({0, 1}), Ints({2, 2})})}), 0);
  EXPECT_EQ(Saved({Op("StridedSlice", {x, Ints({1, 0}), Ints({-3, 3}), Ints({-1, 1})},
                      {{"end_mask", 1}})}),
            0);
  EXPECT_EQ(Saved({Transposed(x, {1, 0})}), 0);
}

// The kernel checks them.
TEST_F(SimplifyArithmeticTest, ArgumentsThatAreNotConstantStay) {
  const Output x = Fed("x", {2, 3});
  const Output begin = FedValue("begin", Values<int32_t>({0, 0}));
  EXPECT_EQ(Saved({Op("Slice", {x, begin, Ints({2, 3})})}), 0);
}

TEST_F(SimplifyArithmeticTest, AxesOfOneElementMoveFreely) {
  const Output x = Fed("x", {1, 4, 1, 3});
  EXPECT_EQ(Saved({Op("Neg", {Transposed(x, {1, 0, 3, 2})})}), 1);
  EXPECT_EQ(Saved({Op("Neg", {Transposed(x, {3, 0, 1, 2})})}), 0);
}

TEST_F(SimplifyArithmeticTest, TwoTransposesAreOneOrNone) {
  const Output x = Fed("x", {2, 3, 4});
  EXPECT_EQ(Saved({Transposed(Transposed(x, {2, 0, 1}), {1, 2, 0})}), 2);
  EXPECT_EQ(Saved({Transposed(Transposed(x, {2, 0, 1}), {2, 0, 1})}), 1);
}

TEST_F(SimplifyArithmeticTest, ReshapesToTheSameShapeHideNothing) {
  const Output x = Special();
  const int32_t size = static_cast<int32_t>(special_.num_elements());
  EXPECT_EQ(Saved({Op("Neg", {Op("Reshape", {Op("Neg", {x}), Ints({size})})})}), 2);
  EXPECT_EQ(Saved({Op("Neg", {Op("Reshape", {Op("Neg", {x}), Ints({size, 1})})})}), 0);
}

// ---- What has to stay ----

TEST_F(SimplifyArithmeticTest, FedFetchedAndTargetOutputs) {
  const Output x = Special();
  const Output product = Op("Mul", {Op("Exp", {x}), Constant(1.0f)});
  EXPECT_EQ(Saved({product, Op("Neg", {product})}), 1);
  EXPECT_EQ(Saved({}, {product.node}), 0);
  Feed(product, special_);
  EXPECT_EQ(Saved({Op("Neg", {product})}), 0);
  EXPECT_EQ(Saved({Op("Neg", {product})}, {product.node}), 0);
}

TEST_F(SimplifyArithmeticTest, WhatOthersWaitForRuns) {
  const Output x = Special();
  const Output y = Op("Exp", {x});
  const Output read =
      Op("Select", {Op("Fill", {Op("Shape", {x}), Constant(Tensor::Scalar(true))}), x, y});
  build.set_control_inputs({y.node});
  EXPECT_EQ(Saved({Op("Neg", {read})}), 2);
}

TEST_F(SimplifyArithmeticTest, ShapesThatAreNotKnown) {
  const Output x = FedValue("x", Values<float>({1, 2, 3}));
  const Output unique = build.NodeOf("Unique", {x})->output(0);
  EXPECT_EQ(Saved({Op("Mul", {unique, Constant(1.0f)})}), 1);
  EXPECT_EQ(Saved({Op("Mul", {unique, Constant(Values<float>({1}))})}), 0);
}

}  // namespace
}  // namespace millstream
