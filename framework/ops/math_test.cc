// Elementwise arithmetic, comparison and casts.
#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

std::string Binary(absl::string_view op, absl::string_view x, absl::string_view y) {
  return ShapeTester(op).Input(x).Input(y).Shapes();
}

class BroadcastingOpTest : public ::testing::TestWithParam<const char*> {};

TEST_P(BroadcastingOpTest, Broadcasts) {
  EXPECT_EQ(Binary(GetParam(), "[?,8,3]", "[3]"), "[?,8,3]");
  EXPECT_EQ(Binary(GetParam(), "[5,?]", "[2,1,1]"), "[2,5,?]");
  EXPECT_EQ(Binary(GetParam(), "[2]", "?"), "?");
  EXPECT_THAT(Binary(GetParam(), "[2,3]", "[2,4]"),
              HasSubstr(absl::StrCat("arguments 'x' and 'y' of ", GetParam())));
}

INSTANTIATE_TEST_SUITE_P(AllOps, BroadcastingOpTest,
                         ::testing::Values("Add", "AddV2", "Sub", "Mul", "Div", "RealDiv",
                                           "FloorDiv", "FloorMod", "Maximum", "Minimum", "Pow",
                                           "SquaredDifference", "Equal", "NotEqual", "Less",
                                           "LessEqual", "Greater", "GreaterEqual", "LogicalAnd",
                                           "LogicalOr", "TruncateDiv", "TruncateMod", "Mod",
                                           "DivNoNan", "MulNoNan", "Xdivy", "Xlogy"));

TEST(BroadcastingOpTest, OpsWhoseArgumentsHaveOtherNames) {
  for (const char* op : {"Atan2", "NextAfter", "Polygamma", "Zeta"}) {
    EXPECT_EQ(Binary(op, "[?,8,3]", "[3]"), "[?,8,3]") << op;
    EXPECT_THAT(Binary(op, "[2,3]", "[2,4]"), HasSubstr("INVALID_ARGUMENT")) << op;
  }
}

std::string Clipped(absl::string_view t, absl::string_view low, absl::string_view high) {
  return ShapeTester("ClipByValue").Input(t).Input(low).Input(high).Shapes();
}

TEST(ClipByValueTest, BoundsAreScalarsOrHaveTheShape) {
  EXPECT_EQ(Clipped("[2,?]", "[]", "[2,3]"), "[2,?]");
  EXPECT_EQ(Clipped("[2,3]", "?", "[]"), "[2,3]");
  EXPECT_THAT(Clipped("[2,3]", "[3]", "[]"), HasSubstr("'clip_value_min' of ClipByValue"));
  EXPECT_THAT(Clipped("[2,3]", "[]", "[1]"), HasSubstr("'clip_value_max' of ClipByValue"));
}

TEST(BitwiseTest, Broadcasts) {
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift"}) {
    EXPECT_EQ(Binary(op, "[?,8,3]", "[3]"), "[?,8,3]") << op;
  }
  for (const char* op : {"Invert", "PopulationCount"}) {
    EXPECT_EQ(ShapeTester(op).Input("[2,?]").Shapes(), "[2,?]") << op;
  }
}

TEST(ComplexTest, TheTypesOfPartsAndWholeGoTogether) {
  for (const char* op : {"Real", "Imag", "Angle", "ComplexAbs"}) {
    EXPECT_EQ(ShapeTester(op).Input("[2,?]").Shapes(), "[2,?]") << op;
    EXPECT_THAT(ShapeTester(op).Attr("Tout", DataType::kDouble).Input("[2]").Shapes(),
                HasSubstr("complex128"))
        << op;
  }
  EXPECT_EQ(Binary("Complex", "[2,1]", "[3]"), "[2,3]");
  EXPECT_THAT(
      ShapeTester("Complex").Attr("T", DataType::kDouble).Input("[2]").Input("[2]").Shapes(),
      HasSubstr("complex128"));
}

TEST(ApproximateEqualTest, DoesNotBroadcast) {
  EXPECT_EQ(Binary("ApproximateEqual", "[2,?]", "[?,3]"), "[2,3]");
  EXPECT_THAT(Binary("ApproximateEqual", "[2]", "[1]"), HasSubstr("'y' of ApproximateEqual"));
}

std::string IntegerValues(absl::string_view op, absl::string_view x, absl::string_view y) {
  return ShapeTester(op).Attr("T", DataType::kInt32).Value(x).Value(y).Values();
}

TEST(BinaryValueTest, ComputesElementByElement) {
  EXPECT_EQ(IntegerValues("AddV2", "(1 ? 3)", "(10 20 30)"), "(11 ? 33)");
  EXPECT_EQ(IntegerValues("Add", "2", "3"), "5");
  EXPECT_EQ(IntegerValues("Sub", "(1 2)", "5"), "(-4 -3)");
  EXPECT_EQ(IntegerValues("Mul", "3", "(1 2)"), "(3 6)");
  EXPECT_EQ(IntegerValues("Maximum", "(1 5)", "3"), "(3 5)");
  EXPECT_EQ(IntegerValues("Minimum", "(1 5)", "3"), "(1 3)");
}

TEST(BinaryValueTest, FloorDivisionRoundsDown) {
  EXPECT_EQ(IntegerValues("FloorDiv", "(7 -7 7 -7 6)", "(2 2 -2 -2 -1)"), "(3 -4 -4 3 -6)");
}

TEST(BinaryValueTest, WhatIsNotDefinedIsUnknown) {
  EXPECT_EQ(IntegerValues("FloorDiv", "(7 8)", "(0 2)"), "(? 4)");
  EXPECT_EQ(IntegerValues("AddV2", "2147483647", "1"), "?");
  EXPECT_EQ(ShapeTester("Mul")
                .Attr("T", DataType::kInt64)
                .Value("4611686018427387904")
                .Value("2")
                .Values(),
            "?");
}

TEST(BinaryValueTest, FloatsAreNotFollowed) {
  EXPECT_EQ(ShapeTester("AddV2").Input("[2]").Input("[2]").Values(), "-");
}

TEST(AddNTest, MergesShapesWithoutBroadcasting) {
  EXPECT_EQ(ShapeTester("AddN").Input("[?,2]").Input("[3,?]").Input("?").Shapes(), "[3,2]");
  EXPECT_THAT(ShapeTester("AddN").Input("[2]").Input("[1]").Shapes(),
              HasSubstr("'inputs[1]' of AddN"));
}

TEST(AddNTest, NeedsAnInput) {
  EXPECT_THAT(ShapeTester("AddN").Attr("N", 0).Shapes(), HasSubstr("INVALID_ARGUMENT"));
}

std::string TolerantEqual(absl::string_view x, absl::string_view y) {
  return ShapeTester("Equal").Attr("incompatible_shape_error", false).Input(x).Input(y).Shapes();
}

TEST(EqualTest, MayTakeIncompatibleShapesForDifferent) {
  EXPECT_EQ(TolerantEqual("[3]", "[2]"), "[]");
  EXPECT_EQ(TolerantEqual("[3]", "[1]"), "[3]");
  EXPECT_EQ(TolerantEqual("[?]", "[3]"), "?");
}

TEST(UnaryTest, KeepsTheShape) {
  for (const char* op : {"Abs",  "Neg",    "Sign",    "Square", "Sqrt",    "Rsqrt", "Reciprocal",
                         "Inv",  "Exp",    "Log",     "Tanh",   "Sigmoid", "Floor", "LogicalNot",
                         "Sin",  "Cos",    "Tan",     "Asin",   "Acos",    "Atan",  "Sinh",
                         "Cosh", "Asinh",  "Acosh",   "Atanh",  "Log1p",   "Expm1", "Erf",
                         "Erfc", "Lgamma", "Digamma", "Round",  "IsNan",   "IsInf", "IsFinite"}) {
    EXPECT_EQ(ShapeTester(op).Input("[2,?]").Shapes(), "[2,?]") << op;
  }
}

TEST(UnaryGradientTest, BothInputsHaveOneShape) {
  for (const char* op :
       {"SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad", "TanhGrad", "SigmoidGrad"}) {
    EXPECT_EQ(ShapeTester(op).Input("[2,?]").Input("[?,3]").Shapes(), "[2,3]") << op;
    EXPECT_THAT(ShapeTester(op).Input("[2]").Input("[3]").Shapes(), HasSubstr("'dy' of ")) << op;
  }
}

TEST(CastTest, KeepsValuesThatFit) {
  ShapeTester op("Cast");
  op.Attr("SrcT", DataType::kInt64).Attr("DstT", DataType::kInt32).Value("(7 5000000000 ?)");
  EXPECT_EQ(op.Values(), "(7 ? ?)");
  EXPECT_EQ(op.Shapes(), "[3]");
}

}  // namespace
}  // namespace millstream
