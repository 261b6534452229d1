// Random ops, variables, optimizer steps, tables and summaries.
#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(RandomTest, HasTheShapeThatIsAskedFor) {
  for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    EXPECT_EQ(ShapeTester(op).Value("(2 ?)").Shapes(), "[2,?]") << op;
    EXPECT_EQ(ShapeTester(op).Input("[2]").Shapes(), "[?,?]") << op;
    EXPECT_EQ(ShapeTester(op).Input("?").Shapes(), "?") << op;
    EXPECT_THAT(ShapeTester(op).Value("(2 -1)").Shapes(), HasSubstr("'shape' of ")) << op;
    EXPECT_THAT(ShapeTester(op).Input("[1,1]").Shapes(), HasSubstr("rank 1")) << op;
  }
}

TEST(RandomUniformIntTest, RefusesAnEmptyRangeUnlessNothingIsDrawn) {
  const auto op = [](absl::string_view sizes, absl::string_view low, absl::string_view high) {
    return ShapeTester("RandomUniformInt").Value(sizes).Value(low).Value(high).Shapes();
  };
  EXPECT_EQ(op("(4)", "5", "9"), "[4]");
  EXPECT_EQ(op("(4)", "5", "?"), "[4]");
  EXPECT_EQ(op("(0)", "5", "5"), "[0]");
  EXPECT_THAT(op("(4)", "5", "5"), HasSubstr("'maxval' of RandomUniformInt"));
  EXPECT_THAT(op("(4)", "(5)", "9"), HasSubstr("'minval' of RandomUniformInt"));
}

TEST(MultinomialTest, HasARowOfSamplesForEachRow) {
  EXPECT_EQ(ShapeTester("Multinomial").Input("[3,5]").Value("9").Shapes(), "[3,9]");
  EXPECT_EQ(ShapeTester("Multinomial").Input("?").Value("?").Shapes(), "[?,?]");
  EXPECT_THAT(ShapeTester("Multinomial").Input("[3,5]").Value("-1").Shapes(),
              HasSubstr("'num_samples' of Multinomial"));
  EXPECT_THAT(ShapeTester("Multinomial").Input("[3,0]").Value("1").Shapes(),
              HasSubstr("'logits' of Multinomial"));
  EXPECT_THAT(ShapeTester("Multinomial").Input("[3]").Value("1").Shapes(), HasSubstr("rank 2"));
  const auto stateless = [](const char* seed) {
    return ShapeTester("StatelessMultinomial").Input("[3,5]").Value("9").Input(seed).Shapes();
  };
  EXPECT_EQ(stateless("[2]"), "[3,9]");
  EXPECT_THAT(stateless("[3]"), HasSubstr("'seed' of StatelessMultinomial"));
}

TEST(VarHandleTest, TellsTypeAndShape) {
  const auto outputs = ShapeTester("VarHandleOp")
                           .Attr("dtype", DataType::kInt64)
                           .Attr("shape", PartialShape({2, -1}))
                           .Infer();
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].shape, PartialShape::Scalar());
  ASSERT_TRUE((*outputs)[0].handle.has_value());
  EXPECT_EQ((*outputs)[0].handle->dtype, DataType::kInt64);
  EXPECT_EQ((*outputs)[0].handle->shape, PartialShape({2, -1}));
}

TEST(ReadVariableTest, HasTheVariablesShape) {
  EXPECT_EQ(ShapeTester("ReadVariableOp").Handle(DataType::kFloat, "[4,?]").Shapes(), "[4,?]");
  EXPECT_EQ(ShapeTester("ReadVariableOp").Input("[]").Shapes(), "?");
}

TEST(ReadVariableTest, RefusesAnotherType) {
  EXPECT_THAT(ShapeTester("ReadVariableOp").Handle(DataType::kInt32, "[4]").Shapes(),
              HasSubstr("'resource' of ReadVariableOp: expected a variable of float32, got one of "
                        "int32"));
}

TEST(AssignVariableTest, TheValueMustFit) {
  for (const char* op : {"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"}) {
    const auto assign = [op](absl::string_view variable, absl::string_view value) {
      return ShapeTester(op).Handle(DataType::kFloat, variable).Input(value).Shapes();
    };
    EXPECT_EQ(assign("[4,?]", "[?,3]"), "") << op;
    EXPECT_EQ(assign("?", "[2]"), "") << op;
    EXPECT_THAT(assign("[4,3]", "[3]"), HasSubstr("expected the variable's shape, [4,3], got [3]"))
        << op;
    EXPECT_THAT(ShapeTester(op).Handle(DataType::kInt32, "[2]").Input("[2]").Shapes(),
                HasSubstr("'resource' of "))
        << op;
  }
}

TEST(VariableTest, HandlesAreScalars) {
  EXPECT_EQ(ShapeTester("VarIsInitializedOp").Input("[]").Shapes(), "[]");
  EXPECT_EQ(ShapeTester("DestroyResourceOp").Input("?").Shapes(), "");
  EXPECT_THAT(ShapeTester("VarIsInitializedOp").Input("[1]").Shapes(), HasSubstr("rank 0"));
  EXPECT_THAT(ShapeTester("ReadVariableOp").Input("[1]").Shapes(), HasSubstr("rank 0"));
}

std::string ResourceGather(absl::string_view variable, absl::string_view indices, int batch_dims) {
  return ShapeTester("ResourceGather")
      .Attr("batch_dims", batch_dims)
      .Handle(DataType::kFloat, variable)
      .Input(indices)
      .Shapes();
}

TEST(ResourceGatherTest, IndicesReplaceTheRows) {
  EXPECT_EQ(ResourceGather("[4,3]", "[2,?]", 0), "[2,?,3]");
  EXPECT_EQ(ResourceGather("[4,3]", "[]", 0), "[3]");
  EXPECT_EQ(ResourceGather("[4,5,3]", "[4,2]", 1), "[4,2,3]");
  EXPECT_EQ(ResourceGather("?", "[2]", 0), "?");
  EXPECT_THAT(ResourceGather("[]", "[2]", 0), HasSubstr("'resource' of ResourceGather"));
  EXPECT_THAT(ResourceGather("[4]", "[4]", 1), HasSubstr("'batch_dims' of ResourceGather"));
}

std::string ResourceScatterAdd(absl::string_view variable, absl::string_view indices,
                               absl::string_view updates) {
  return ShapeTester("ResourceScatterAdd")
      .Handle(DataType::kFloat, variable)
      .Input(indices)
      .Input(updates)
      .Shapes();
}

TEST(ResourceScatterAddTest, UpdatesAreRowsOrAScalar) {
  EXPECT_EQ(ResourceScatterAdd("[4,3]", "[2]", "[2,3]"), "");
  EXPECT_EQ(ResourceScatterAdd("[4,3]", "[2,2]", "[2,?,3]"), "");
  EXPECT_EQ(ResourceScatterAdd("[4,3]", "[2]", "[]"), "");
  EXPECT_EQ(ResourceScatterAdd("?", "[2]", "[9]"), "");
  EXPECT_THAT(ResourceScatterAdd("[4,3]", "[2]", "[3,3]"),
              HasSubstr("'updates' of ResourceScatterAdd: expected a scalar or the shape [2,3]"));
}

TEST(ResourceScatterNdTest, UpdatesAreSlices) {
  const auto scatter = [](absl::string_view indices, absl::string_view updates) {
    ShapeTester op("ResourceScatterNdAdd");
    return op.Handle(DataType::kFloat, "[4,3]").Input(indices).Input(updates).Shapes();
  };
  EXPECT_EQ(scatter("[2,1]", "[2,3]"), "");
  EXPECT_EQ(scatter("[2,2]", "[2]"), "");
  EXPECT_EQ(scatter("[2,?]", "[9]"), "");
  EXPECT_THAT(scatter("[2,1]", "[2,2]"),
              HasSubstr("'updates' of ResourceScatterNdAdd: expected the shape [2,3]"));
  EXPECT_THAT(scatter("[2,3]", "[2]"), HasSubstr("must be at most the rank"));
}

TEST(VariablePartsTest, ReadsAndCounters) {
  EXPECT_EQ(
      ShapeTester("ResourceGatherNd").Handle(DataType::kFloat, "[4,3]").Input("[5,1]").Shapes(),
      "[5,3]");
  EXPECT_EQ(ShapeTester("VariableShape").Handle(DataType::kFloat, "[4,?]").Shapes(), "[2]");
  EXPECT_EQ(ShapeTester("VariableShape").Handle(DataType::kFloat, "?").Shapes(), "[?]");
  ShapeTester count("ResourceCountUpTo");
  count.Attr("T", DataType::kInt32).Attr("limit", 3);
  EXPECT_EQ(ShapeTester(count).Handle(DataType::kInt32, "[]").Shapes(), "[]");
  EXPECT_THAT(ShapeTester(count).Handle(DataType::kInt32, "[2]").Shapes(),
              HasSubstr("expected a scalar variable"));
}

// An optimizer step of `slots` slot variables and `scalars`, the gradient at `gradient`.
ShapeTester Step(absl::string_view op, int slots, int gradient, int inputs,
                 absl::string_view gradient_shape) {
  ShapeTester step(op);
  for (int i = 0; i <= slots; ++i) step.Handle(DataType::kFloat, "[2,3]");
  for (int i = slots + 1; i < inputs; ++i) step.Input(i == gradient ? gradient_shape : "[]");
  return step;
}

TEST(OptimizerStepTest, TheGradientHasTheVariablesShape) {
  struct Case {
    const char* op;
    const char* argument;
    int slots, gradient, inputs;
  };
  for (const Case& c :
       {Case{"ResourceApplyGradientDescent", "delta", 0, 2, 3},
        Case{"ResourceApplyMomentum", "grad", 1, 3, 5},
        Case{"ResourceApplyAdagrad", "grad", 1, 3, 4}, Case{"ResourceApplyAdam", "grad", 2, 9, 10},
        Case{"ResourceApplyRMSProp", "grad", 2, 7, 8},
        Case{"ResourceApplyCenteredRMSProp", "grad", 3, 8, 9},
        Case{"ResourceApplyAdadelta", "grad", 2, 6, 7},
        Case{"ResourceApplyProximalGradientDescent", "delta", 0, 4, 5},
        Case{"ResourceApplyProximalAdagrad", "grad", 1, 5, 6},
        Case{"ResourceApplyFtrl", "grad", 2, 3, 8}, Case{"ResourceApplyFtrlV2", "grad", 2, 3, 9},
        Case{"ResourceApplyAdagradDA", "grad", 2, 3, 8},
        Case{"ResourceApplyAdagradV2", "grad", 1, 4, 5},
        Case{"ResourceApplyAdaMax", "grad", 2, 8, 9}, Case{"ResourceApplyAddSign", "grad", 1, 6, 7},
        Case{"ResourceApplyPowerSign", "grad", 1, 6, 7},
        Case{"ResourceApplyAdamWithAmsgrad", "grad", 3, 10, 11},
        Case{"ResourceApplyKerasMomentum", "grad", 1, 3, 5}}) {
    EXPECT_EQ(Step(c.op, c.slots, c.gradient, c.inputs, "[2,?]").Shapes(), "") << c.op;
    EXPECT_THAT(Step(c.op, c.slots, c.gradient, c.inputs, "[3,3]").Shapes(),
                HasSubstr(absl::StrCat("'", c.argument, "' of ", c.op)));
  }
}

TEST(OptimizerStepTest, SlotsHaveTheVariablesShapeAndType) {
  const auto momentum = [](DataType dtype, absl::string_view slot) {
    return ShapeTester("ResourceApplyMomentum")
        .Handle(DataType::kFloat, "[2]")
        .Handle(dtype, slot)
        .Input("[]")
        .Input("[2]")
        .Input("[]")
        .Shapes();
  };
  EXPECT_EQ(momentum(DataType::kFloat, "?"), "");
  EXPECT_THAT(momentum(DataType::kFloat, "[3]"), HasSubstr("'accum' of ResourceApplyMomentum"));
  EXPECT_THAT(momentum(DataType::kDouble, "[2]"), HasSubstr("'accum' of ResourceApplyMomentum"));
}

// Steps of momentum on two variables: the shapes of the variables, the slots and the gradients.
std::string TwoSteps(const std::vector<std::string>& handles, const std::string& rate,
                     const std::vector<std::string>& gradients) {
  ShapeTester step("_MultiResourceApplyMomentum");
  step.Attr("N", 2);
  for (const std::string& shape : handles) step.Handle(DataType::kFloat, shape);
  step.Input(rate);
  for (const std::string& shape : gradients) step.Input(shape);
  return step.Input("[]").Shapes();
}

TEST(OptimizerStepTest, OnManyVariablesEachGradientHasItsVariablesShape) {
  EXPECT_EQ(TwoSteps({"[2]", "[3,4]", "[2]", "?"}, "[]", {"[?]", "[3,4]"}), "");
  EXPECT_THAT(TwoSteps({"[2]", "[3]", "[3]", "[2]"}, "[]", {"[2]", "[3]"}),
              HasSubstr("'accum[0]' of _MultiResourceApplyMomentum"));
  EXPECT_THAT(TwoSteps({"[2]", "[3]", "[2]", "[3]"}, "[]", {"[2]", "[2]"}),
              HasSubstr("'grad[1]' of _MultiResourceApplyMomentum"));
  EXPECT_THAT(TwoSteps({"[2]", "[2]", "[2]", "[2]"}, "[2]", {"[2]", "[2]"}),
              HasSubstr("'lr' of _MultiResourceApplyMomentum"));
}

TEST(OptimizerStepTest, RatesAreScalars) {
  EXPECT_THAT(ShapeTester("ResourceApplyGradientDescent")
                  .Handle(DataType::kFloat, "[2]")
                  .Input("[2]")
                  .Input("[2]")
                  .Shapes(),
              HasSubstr("'alpha' of ResourceApplyGradientDescent"));
}

std::string ProductUpdate(absl::string_view variable, absl::string_view a, absl::string_view b) {
  return ShapeTester("_MatMulApplyGradientDescent")
      .Handle(DataType::kFloat, variable)
      .Input("[]")
      .Input(a)
      .Input(b)
      .Shapes();
}

TEST(ProductUpdateTest, TheVariableHasTheProductsShape) {
  EXPECT_EQ(ProductUpdate("[4,3]", "[2,4]", "[2,3]"), "");
  EXPECT_EQ(ProductUpdate("?", "[?,4]", "?"), "");
  EXPECT_THAT(ProductUpdate("[4,3]", "[2,4]", "[1,3]"), HasSubstr("argument 'b' of _MatMulApply"));
  EXPECT_THAT(ProductUpdate("[3,4]", "[2,4]", "[2,3]"), HasSubstr("argument 'var' of _MatMulApp"));
}

TEST(SparseStepTest, TheGradientHasARowForEachIndex) {
  const auto adagrad = [](absl::string_view variable, absl::string_view gradient,
                          absl::string_view indices) {
    return ShapeTester("ResourceSparseApplyAdagrad")
        .Handle(DataType::kFloat, variable)
        .Handle(DataType::kFloat, "?")
        .Input("[]")
        .Input(gradient)
        .Input(indices)
        .Shapes();
  };
  EXPECT_EQ(adagrad("[5,2]", "[3,2]", "[3]"), "");
  EXPECT_EQ(adagrad("?", "[3]", "?"), "");
  EXPECT_THAT(adagrad("[5,2]", "[2,2]", "[3]"), HasSubstr("'grad' of ResourceSparseApplyAdagrad"));
  EXPECT_THAT(adagrad("[5,2]", "[3,3]", "[3]"), HasSubstr("'grad' of ResourceSparseApplyAdagrad"));
  EXPECT_THAT(adagrad("[5]", "[1,3]", "[1,3]"), HasSubstr("'indices'"));
  EXPECT_THAT(adagrad("[]", "[3]", "[3]"), HasSubstr("'var' of ResourceSparseApplyAdagrad"));
}

TEST(SparseStepTest, SlotsHaveTheVariablesShapeAndRatesAreScalars) {
  const auto momentum = [](absl::string_view slot, absl::string_view rate) {
    return ShapeTester("ResourceSparseApplyMomentum")
        .Handle(DataType::kFloat, "[5]")
        .Handle(DataType::kFloat, slot)
        .Input("[]")
        .Input("[3]")
        .Input("[3]")
        .Input(rate)
        .Shapes();
  };
  EXPECT_EQ(momentum("[5]", "[]"), "");
  EXPECT_THAT(momentum("[4]", "[]"), HasSubstr("'accum' of ResourceSparseApplyMomentum"));
  EXPECT_THAT(momentum("[5]", "[1]"), HasSubstr("'momentum' of ResourceSparseApplyMomentum"));
}

TEST(DenseTableTest, HasKeysOfTheShapeOfItsReservedOnes) {
  for (const char* key : {"[]", "[3]", "[?]"}) {
    EXPECT_EQ(ShapeTester("MutableDenseHashTable").Input(key).Shapes(), "[2]") << key;
    EXPECT_EQ(ShapeTester("_MutableDenseHashTable").Input(key).Shapes(), "[]") << key;
    EXPECT_EQ(ShapeTester("MutableDenseHashTableV2").Input(key).Input(key).Shapes(), "[]") << key;
  }
  for (const char* op : {"MutableDenseHashTable", "_MutableDenseHashTable"}) {
    EXPECT_EQ(ShapeTester(op).Input("?").Shapes().substr(0, 1), "[") << op;
    EXPECT_THAT(ShapeTester(op).Input("[2,2]").Shapes(), HasSubstr("'empty_key' of ")) << op;
  }
  EXPECT_THAT(ShapeTester("MutableDenseHashTableV2").Input("[2]").Input("[3]").Shapes(),
              HasSubstr("'deleted_key' of "));
}

TEST(SummaryTest, IsAScalarAndLeavesArgumentsToTheStep) {
  EXPECT_EQ(ShapeTester("ScalarSummary").Input("[2]").Input("[3]").Shapes(), "[]");
  EXPECT_EQ(ShapeTester("MergeSummary").Input("[]").Input("?").Shapes(), "[]");
  EXPECT_EQ(ShapeTester("HistogramSummary").Input("[]").Input("?").Shapes(), "[]");
  EXPECT_EQ(ShapeTester("ImageSummary").Input("[]").Input("[2,2]").Shapes(), "[]");
  EXPECT_EQ(ShapeTester("TensorSummary").Input("[3]").Shapes(), "[]");
  EXPECT_EQ(ShapeTester("TensorSummaryV2").Input("[]").Input("[3]").Input("[]").Shapes(), "[]");
}

}  // namespace
}  // namespace millstream
