// Matrix products, layers and losses.
#include <string>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

using Integers = std::vector<int64_t>;

ShapeTester MatMul(absl::string_view a, absl::string_view b) {
  return ShapeTester("MatMul").Input(a).Input(b);
}

TEST(MatMulTest, RowsByColumns) {
  EXPECT_EQ(MatMul("[5,?]", "[6,2]").Shapes(), "[5,2]");
  EXPECT_EQ(MatMul("[3,5]", "[3,2]").Attr("transpose_a", true).Shapes(), "[5,2]");
  EXPECT_EQ(MatMul("[5,?]", "[4,?]").Attr("transpose_b", true).Shapes(), "[5,4]");
  EXPECT_EQ(MatMul("?", "[3,2]").Shapes(), "[?,2]");
}

TEST(MatMulTest, RefusesMatricesThatDoNotFit) {
  EXPECT_THAT(
      MatMul("[2,3]", "[2,3]").Shapes(),
      HasSubstr("'b' of MatMul: Dimensions must be equal, but are 3 and 2: expected 3 rows"));
  EXPECT_THAT(MatMul("[2,3]", "[3,2]").Attr("transpose_b", true).Shapes(),
              HasSubstr("expected 3 columns"));
  EXPECT_THAT(MatMul("[2,2,2]", "[2,2]").Shapes(), HasSubstr("rank 2"));
}

ShapeTester BatchMatMul(absl::string_view x, absl::string_view y) {
  return ShapeTester("BatchMatMul").Input(x).Input(y);
}
ShapeTester BatchMatMulV2(absl::string_view x, absl::string_view y) {
  return ShapeTester("BatchMatMulV2").Input(x).Input(y);
}

TEST(BatchMatMulTest, BatchDimensionsAreMerged) {
  EXPECT_EQ(BatchMatMul("[?,3,5,?]", "[2,?,6,4]").Shapes(), "[2,3,5,4]");
  EXPECT_EQ(BatchMatMul("[2,6,5]", "[2,4,6]").Attr("adj_x", true).Attr("adj_y", true).Shapes(),
            "[2,5,4]");
  EXPECT_EQ(BatchMatMul("?", "[2,6,4]").Shapes(), "[2,?,4]");
  EXPECT_EQ(BatchMatMul("?", "?").Shapes(), "?");
}

TEST(BatchMatMulTest, BatchDimensionsDoNotBroadcast) {
  EXPECT_THAT(BatchMatMul("[2,3,3]", "[1,3,3]").Shapes(),
              HasSubstr("'y' of BatchMatMul: expected the batch dimensions"));
  EXPECT_THAT(BatchMatMul("[2,3,3]", "[3,3]").Shapes(), HasSubstr("INVALID_ARGUMENT"));
}

TEST(BatchMatMulV2Test, BatchDimensionsBroadcast) {
  EXPECT_EQ(BatchMatMulV2("[5,1,2,3]", "[7,3,4]").Shapes(), "[5,7,2,4]");
  EXPECT_EQ(BatchMatMulV2("[2,3]", "[7,3,4]").Shapes(), "[7,2,4]");
  EXPECT_EQ(BatchMatMulV2("[2,3]", "[3,4]").Shapes(), "[2,4]");
  EXPECT_EQ(BatchMatMulV2("[?,3,2]", "[4,3]").Attr("adj_x", true).Attr("adj_y", true).Shapes(),
            "[?,2,4]");
  EXPECT_EQ(BatchMatMulV2("[?,2,3]", "?").Shapes(), "?");
}

TEST(BatchMatMulV2Test, RefusesWhatDoesNotFit) {
  EXPECT_THAT(BatchMatMulV2("[2,3,3]", "[3,3,3]").Shapes(),
              HasSubstr("'y' of BatchMatMulV2: expected batch dimensions that broadcast"));
  EXPECT_THAT(BatchMatMulV2("[2,3]", "[5,4,3]").Shapes(), HasSubstr("matrices of 3 rows"));
  EXPECT_THAT(BatchMatMulV2("[2,3]", "[5,3,4]").Attr("adj_y", true).Shapes(),
              HasSubstr("matrices of 3 columns"));
  EXPECT_THAT(BatchMatMulV2("[3]", "[3,4]").Shapes(), HasSubstr("at least rank 2"));
}

TEST(ReluTest, KeepsTheShape) {
  EXPECT_EQ(ShapeTester("Relu").Input("?").Shapes(), "?");
  EXPECT_EQ(ShapeTester("ReluGrad").Input("[2,?]").Input("[?,3]").Shapes(), "[2,3]");
  EXPECT_THAT(ShapeTester("ReluGrad").Input("[3,5]").Input("[3,4]").Shapes(),
              HasSubstr("'features' of ReluGrad"));
}

TEST(ReluGradBiasAddGradTest, GivesTheShapeAndAVectorOfTheLastDimension) {
  const auto shapes = [](absl::string_view gradients, absl::string_view features) {
    return ShapeTester("_ReluGradBiasAddGrad").Input(gradients).Input(features).Shapes();
  };
  EXPECT_EQ(shapes("[2,?,5]", "[?,3,?]"), "[2,3,5] [5]");
  EXPECT_EQ(shapes("?", "[?,3]"), "[?,3] [3]");
  EXPECT_EQ(shapes("?", "?"), "? [?]");
  EXPECT_THAT(shapes("?", "[3]"), HasSubstr("at least rank 2"));
  EXPECT_THAT(shapes("[3,5]", "[3,4]"), HasSubstr("'features' of _ReluGradBiasAddGrad"));
}

TEST(SoftmaxGradTest, GivesTheShapeOfBoth) {
  const auto shapes = [](absl::string_view gradients, absl::string_view softmax) {
    return ShapeTester("_SoftmaxGrad").Input(gradients).Input(softmax).Shapes();
  };
  EXPECT_EQ(shapes("[2,?]", "[?,3]"), "[2,3]");
  EXPECT_EQ(shapes("?", "?"), "?");
  EXPECT_THAT(shapes("[]", "[]"), HasSubstr("at least rank 1"));
  EXPECT_THAT(shapes("[3,5]", "[3,4]"), HasSubstr("'softmax' of _SoftmaxGrad"));
}

TEST(SoftmaxTest, NeedsADimension) {
  EXPECT_EQ(ShapeTester("Softmax").Input("[?,3]").Shapes(), "[?,3]");
  EXPECT_THAT(ShapeTester("Softmax").Input("[]").Shapes(), HasSubstr("'logits' of Softmax"));
  EXPECT_THAT(ShapeTester("LogSoftmax").Input("[]").Shapes(), HasSubstr("at least rank 1"));
}

ShapeTester BiasAdd(absl::string_view value, absl::string_view bias, const char* data_format) {
  return ShapeTester("BiasAdd").Attr("data_format", data_format).Input(value).Input(bias);
}

TEST(BiasAddTest, TheBiasHasAnElementForEachChannel) {
  EXPECT_EQ(BiasAdd("[2,?]", "[4]", "NHWC").Shapes(), "[2,4]");
  EXPECT_EQ(BiasAdd("[2,?,3,5]", "[4]", "NCHW").Shapes(), "[2,4,3,5]");
  EXPECT_EQ(BiasAdd("?", "[4]", "NHWC").Shapes(), "?");
  EXPECT_THAT(BiasAdd("[3,4]", "[3]", "NHWC").Shapes(), HasSubstr("'bias' of BiasAdd"));
  EXPECT_THAT(BiasAdd("[3,4]", "[1,4]", "NHWC").Shapes(), HasSubstr("'bias' of BiasAdd"));
  EXPECT_THAT(BiasAdd("[4]", "[4]", "NHWC").Shapes(), HasSubstr("at least rank 2"));
  EXPECT_THAT(BiasAdd("[2,4]", "[4]", "NCHW").Shapes(), HasSubstr("at least rank 3"));
}

TEST(BiasAddGradTest, HasAnElementForEachChannel) {
  EXPECT_EQ(ShapeTester("BiasAddGrad").Input("[2,3,4]").Shapes(), "[4]");
  EXPECT_EQ(ShapeTester("BiasAddGrad").Attr("data_format", "NCHW").Input("[2,3,4]").Shapes(),
            "[3]");
  EXPECT_EQ(ShapeTester("BiasAddGrad").Input("?").Shapes(), "[?]");
  EXPECT_THAT(ShapeTester("BiasAddGrad").Input("[4]").Shapes(), HasSubstr("'out_backprop'"));
}

TEST(L2LossTest, IsAScalar) { EXPECT_EQ(ShapeTester("L2Loss").Input("[2,3]").Shapes(), "[]"); }

std::string CrossEntropy(absl::string_view features, absl::string_view labels) {
  return ShapeTester("SoftmaxCrossEntropyWithLogits").Input(features).Input(labels).Shapes();
}

TEST(SoftmaxCrossEntropyTest, LossesAreARowEach) {
  EXPECT_EQ(CrossEntropy("[3,4]", "[3,4]"), "[3] [3,4]");
  EXPECT_EQ(CrossEntropy("[3,4]", "[1,4]"), "[3] [3,4]");
  EXPECT_EQ(CrossEntropy("?", "[?,4]"), "[?] [?,4]");
  EXPECT_EQ(CrossEntropy("[3,1]", "?"), "[3] [3,?]");
  EXPECT_THAT(CrossEntropy("[3,4]", "[3,5]"), HasSubstr("'labels' of SoftmaxCrossEntropy"));
  EXPECT_THAT(CrossEntropy("[4]", "[4]"), HasSubstr("expected a matrix"));
  EXPECT_THAT(CrossEntropy("[1,3,4]", "[3,4]"), HasSubstr("at most rank 2"));
}

TEST(SparseSoftmaxCrossEntropyTest, LabelsAreOneARow) {
  const auto op = [](absl::string_view features, absl::string_view labels) {
    return ShapeTester("SparseSoftmaxCrossEntropyWithLogits")
        .Input(features)
        .Input(labels)
        .Shapes();
  };
  EXPECT_EQ(op("[?,4]", "[3]"), "[3] [3,4]");
  EXPECT_EQ(op("?", "?"), "[?] [?,?]");
  EXPECT_THAT(op("[3,4]", "[]"), HasSubstr("labels must be 1-D"));
  EXPECT_THAT(op("[3,4]", "[2]"), HasSubstr("'labels' of SparseSoftmaxCrossEntropyWithLogits"));
  EXPECT_THAT(op("[3,4]", "[3,1]"), HasSubstr("rank 1"));
}

ShapeTester Convolution(absl::string_view op, const char* padding, const Integers& strides) {
  return ShapeTester(op).Attr("padding", padding).Attr("strides", strides);
}

ShapeTester Conv2D(absl::string_view input, absl::string_view filter, const char* padding,
                   const Integers& strides) {
  return Convolution("Conv2D", padding, strides).Input(input).Input(filter);
}

TEST(Conv2DTest, SlidesTheFilter) {
  EXPECT_EQ(Conv2D("[?,17,13,3]", "[3,5,3,4]", "SAME", {1, 2, 2, 1}).Shapes(), "[?,9,7,4]");
  EXPECT_EQ(Conv2D("[?,17,13,3]", "[3,5,3,4]", "VALID", {1, 2, 2, 1}).Shapes(), "[?,8,5,4]");
  EXPECT_EQ(Conv2D("?", "[3,5,3,4]", "VALID", {1, 1, 1, 1}).Shapes(), "[?,?,?,4]");
  EXPECT_EQ(Conv2D("[1,9,9,1]", "[3,3,1,2]", "VALID", {1, 2, 2, 1})
                .Attr("dilations", Integers({1, 2, 2, 1}))
                .Shapes(),
            "[1,3,3,2]");
}

TEST(Conv2DTest, ChannelsMayComeFirst) {
  EXPECT_EQ(Conv2D("[1,2,5,6]", "[3,3,2,4]", "EXPLICIT", {1, 1, 1, 2})
                .Attr("data_format", "NCHW")
                .Attr("explicit_paddings", Integers({0, 0, 0, 0, 1, 2, 0, 3}))
                .Shapes(),
            "[1,4,6,4]");
}

TEST(Conv2DTest, ChannelsMayFormGroups) {
  EXPECT_EQ(Conv2D("[1,5,6,6]", "[3,3,2,9]", "SAME", {1, 1, 1, 1}).Shapes(), "[1,5,6,9]");
  EXPECT_EQ(Conv2D("[1,5,6,6]", "[3,3,2,?]", "SAME", {1, 1, 1, 1}).Shapes(), "[1,5,6,?]");
  EXPECT_EQ(Conv2D("[1,5,6,6]", "[3,3,2,0]", "SAME", {1, 1, 1, 1}).Shapes(), "[1,5,6,0]");
  EXPECT_THAT(Conv2D("[1,5,6,6]", "[3,3,4,8]", "SAME", {1, 1, 1, 1}).Shapes(),
              HasSubstr("input [1,5,6,6] has 6 channels, but filter [3,3,4,8] expects 4"));
  EXPECT_THAT(Conv2D("[1,5,6,6]", "[3,3,2,8]", "SAME", {1, 1, 1, 1}).Shapes(),
              HasSubstr("has 3 groups of channels for filter [3,3,2,8], whose 8 output channels"));
}

TEST(Conv2DTest, RefusesImagesAndFiltersWithoutChannels) {
  EXPECT_THAT(Conv2D("[1,5,6,0]", "[3,3,?,8]", "SAME", {1, 1, 1, 1}).Shapes(),
              HasSubstr("must have channels"));
  EXPECT_THAT(Conv2D("[1,5,6,?]", "[3,3,0,8]", "SAME", {1, 1, 1, 1}).Shapes(),
              HasSubstr("must have channels"));
}

TEST(Conv2DTest, RefusesFiltersThatDoNotFit) {
  EXPECT_THAT(Conv2D("[1,5,6,2]", "[3,3,3,3]", "SAME", {1, 1, 1, 1}).Shapes(),
              HasSubstr("'filter' of Conv2D: input [1,5,6,2] has 2 channels"));
  EXPECT_THAT(Conv2D("[1,1,2,1]", "[3,3,1,1]", "VALID", {1, 1, 1, 1}).Shapes(),
              HasSubstr("height: a window of 3 does not fit"));
  EXPECT_EQ(Conv2D("[1,2,2,1]", "[3,3,1,1]", "VALID", {1, 1, 1, 1}).Shapes(), "[1,0,0,1]");
  EXPECT_THAT(Conv2D("[1,5,6,2]", "[3,3,2]", "SAME", {1, 1, 1, 1}).Shapes(), HasSubstr("rank 4"));
}

TEST(Conv2DTest, RefusesBadAttributes) {
  const auto conv = [](const Integers& strides) {
    return Conv2D("[1,5,6,2]", "[3,3,2,3]", "SAME", strides);
  };
  const auto explicit_conv = [](const Integers& pads) {
    return Conv2D("[1,5,6,2]", "[3,3,2,3]", "EXPLICIT", {1, 1, 1, 1})
        .Attr("explicit_paddings", pads)
        .Shapes();
  };
  EXPECT_THAT(conv({1, 1, 1}).Shapes(), HasSubstr("'strides' of Conv2D: expected 4 values"));
  EXPECT_THAT(conv({1, 0, 1, 1}).Shapes(), HasSubstr("INVALID_ARGUMENT: attribute 'strides'"));
  EXPECT_THAT(conv({2, 1, 1, 1}).Shapes(), HasSubstr("UNIMPLEMENTED: attribute 'strides'"));
  EXPECT_THAT(conv({1, 1, 1, 1}).Attr("dilations", Integers({1, 1, 1, 2})).Shapes(),
              HasSubstr("UNIMPLEMENTED: attribute 'dilations'"));
  EXPECT_THAT(conv({1, 1, 1, 1}).Attr("explicit_paddings", Integers({1})).Shapes(),
              HasSubstr("must be empty unless padding is EXPLICIT"));
  EXPECT_THAT(explicit_conv({}), HasSubstr("expected 8 values"));
  EXPECT_THAT(explicit_conv({0, 0, -1, 1, 1, 1, 0, 0}), HasSubstr("must not be negative"));
  EXPECT_THAT(explicit_conv({1, 0, 1, 1, 1, 1, 0, 0}), HasSubstr("cannot be padded"));
}

// Two convolutions: a filter of 3 x 3 pixels to 5 channels, and what the arguments say.
std::string JoinedShapes(absl::string_view image, absl::string_view filter, absl::string_view bias,
                         const char* padding = "SAME") {
  return Convolution("_JoinedConv2D", padding, {1, 2, 2, 1})
      .Attr("N", 2)
      .Attr("fused_ops", std::vector<std::string>{"BiasAdd", "Relu"})
      .Input("[?,9,6,2]")
      .Input(image)
      .Input("[3,3,2,5]")
      .Input(filter)
      .Input("[5]")
      .Input(bias)
      .Shapes();
}

TEST(JoinedConv2DTest, HasTheChannelsOfAll) {
  EXPECT_EQ(JoinedShapes("[4,9,6,3]", "[1,1,3,7]", "[7]"), "[4,5,3,12]");
  EXPECT_EQ(JoinedShapes("[?,10,5,3]", "[1,1,3,7]", "[?]"), "[?,5,3,12]");
  EXPECT_EQ(JoinedShapes("?", "[5,5,?,?]", "[7]"), "[?,5,3,12]");
  EXPECT_EQ(JoinedShapes("[4,9,6,3]", "[1,1,3,?]", "[?]"), "[4,5,3,?]");
  EXPECT_EQ(JoinedShapes("[4,8,6,3]", "[2,4,3,7]", "[7]", "VALID"), "[4,4,2,12]");
}

TEST(JoinedConv2DTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(JoinedShapes("[4,11,6,3]", "[1,1,3,7]", "[7]"),
              HasSubstr("'inputs[1]' of _JoinedConv2D"));
  EXPECT_THAT(JoinedShapes("[4,9,6,3]", "[1,1,2,7]", "[7]"),
              HasSubstr("'filters[1]' of _JoinedConv2D"));
  EXPECT_THAT(JoinedShapes("[4,9,6,3]", "[1,1,3,7]", "[6]"),
              HasSubstr("'biases[1]' of _JoinedConv2D"));
  EXPECT_THAT(JoinedShapes("[4,9,6,3]", "[1,1,3,7]", "[7,1]"), HasSubstr("rank 1"));
}

TEST(Conv2DBackpropInputTest, HasTheShapeOfTheInput) {
  const auto op = [](absl::string_view sizes, absl::string_view gradient) {
    return Convolution("Conv2DBackpropInput", "SAME", {1, 2, 2, 1})
        .Value(sizes)
        .Input("[3,3,2,3]")
        .Input(gradient)
        .Shapes();
  };
  EXPECT_EQ(op("(1 5 6 2)", "[1,3,3,3]"), "[1,5,6,2]");
  EXPECT_EQ(op("(? ? ? ?)", "[8,3,3,3]"), "[8,?,?,?]");
  EXPECT_EQ(op("(1 5 6 6)", "[1,3,3,3]"), "[1,5,6,6]");
  EXPECT_THAT(op("(1 5 6 2)", "[1,3,3,4]"), HasSubstr("'out_backprop' of Conv2DBackpropInput"));
  EXPECT_THAT(op("(1 5 6 2)", "[1,4,3,3]"), HasSubstr("expected the shape of the output"));
  EXPECT_THAT(op("(1 5 6)", "[1,3,3,3]"), HasSubstr("expected 4 sizes"));
  EXPECT_THAT(op("(1 5 6 1)", "[1,3,3,3]"), HasSubstr("has 1 channels"));
  EXPECT_THAT(op("(1 5 6 1)", "[1,3,3,3]"), HasSubstr("'input_sizes' of Conv2DBackpropInput"));
}

TEST(Conv2DBackpropFilterTest, HasTheShapeOfTheFilter) {
  const auto op = [](absl::string_view sizes, absl::string_view gradient) {
    return Convolution("Conv2DBackpropFilter", "VALID", {1, 1, 1, 1})
        .Input("[8,5,6,2]")
        .Value(sizes)
        .Input(gradient)
        .Shapes();
  };
  EXPECT_EQ(op("(3 3 2 7)", "[8,3,4,7]"), "[3,3,2,7]");
  EXPECT_EQ(op("(? ? ? ?)", "[8,3,4,7]"), "[?,?,?,7]");
  EXPECT_EQ(op("(3 3 1 6)", "[8,3,4,6]"), "[3,3,1,6]");
  EXPECT_THAT(op("(3 3 1 7)", "[8,3,4,7]"), HasSubstr("'filter_sizes' of Conv2DBackpropFilter"));
  EXPECT_THAT(op("(3 3 4 7)", "[8,3,4,7]"), HasSubstr("expects 4"));
  EXPECT_THAT(op("(3 3 2 7)", "[8,3,3,7]"), HasSubstr("'out_backprop'"));
}

ShapeTester Pool(absl::string_view op, const Integers& ksize, const Integers& strides) {
  return ShapeTester(op).Attr("ksize", ksize).Attr("strides", strides).Attr("padding", "VALID");
}

TEST(MaxPoolTest, PoolsTheImage) {
  EXPECT_EQ(Pool("MaxPool", {1, 3, 3, 1}, {1, 2, 2, 1}).Input("[?,17,13,3]").Shapes(), "[?,8,6,3]");
  EXPECT_EQ(Pool("MaxPool", {1, 3, 3, 1}, {1, 2, 2, 1})
                .Attr("padding", "SAME")
                .Input("[?,17,13,3]")
                .Shapes(),
            "[?,9,7,3]");
  EXPECT_EQ(Pool("MaxPool", {1, 1, 3, 2}, {1, 1, 2, 2})
                .Attr("data_format", "NCHW")
                .Input("[1,3,5,6]")
                .Shapes(),
            "[1,3,2,3]");
}

TEST(MaxPoolTest, PoolsChannelsThatTheWindowDivides) {
  EXPECT_EQ(Pool("MaxPool", {1, 1, 1, 3}, {1, 1, 1, 3}).Input("[1,2,2,6]").Shapes(), "[1,2,2,2]");
  EXPECT_THAT(Pool("MaxPool", {1, 1, 1, 4}, {1, 1, 1, 4}).Input("[1,2,2,6]").Shapes(),
              HasSubstr("UNIMPLEMENTED"));
  EXPECT_THAT(Pool("MaxPool", {1, 1, 1, 3}, {1, 1, 1, 2}).Input("[1,2,2,6]").Shapes(),
              HasSubstr("UNIMPLEMENTED: attribute 'strides'"));
}

TEST(MaxPoolTest, RefusesWhatIsNotPooled) {
  EXPECT_THAT(Pool("MaxPool", {2, 2, 2, 1}, {2, 1, 1, 1}).Input("[1,5,6,3]").Shapes(),
              HasSubstr("UNIMPLEMENTED: attribute 'ksize' of MaxPool: pooling over the batch"));
  EXPECT_THAT(Pool("MaxPool", {1, 2, 2, 3}, {1, 2, 2, 3}).Input("[1,5,6,3]").Shapes(),
              HasSubstr("UNIMPLEMENTED: attribute 'ksize'"));
  EXPECT_THAT(Pool("MaxPool", {1, 5, 5, 1}, {1, 1, 1, 1}).Input("[1,2,3,2]").Shapes(),
              HasSubstr("'input' of MaxPool: height: a window of 5"));
  EXPECT_THAT(Pool("MaxPool", {1, 2, 2, 1}, {1, 2, 2, 1}).Input("[5,6,3]").Shapes(),
              HasSubstr("rank 4"));
  EXPECT_THAT(Pool("MaxPool", {1, 0, 2, 1}, {1, 2, 2, 1}).Input("[1,5,6,3]").Shapes(),
              HasSubstr("INVALID_ARGUMENT: attribute 'ksize'"));
}

TEST(MaxPoolGradTest, HasTheShapeOfTheImage) {
  const auto op = [](absl::string_view output, absl::string_view gradient) {
    return Pool("MaxPoolGrad", {1, 2, 2, 1}, {1, 2, 2, 1})
        .Input("[1,6,6,3]")
        .Input(output)
        .Input(gradient)
        .Shapes();
  };
  EXPECT_EQ(op("[1,3,3,3]", "?"), "[1,6,6,3]");
  EXPECT_THAT(op("[1,3,3,3]", "[1,3,4,3]"), HasSubstr("'grad' of MaxPoolGrad"));
  EXPECT_THAT(op("[1,3,4,3]", "[1,3,3,3]"), HasSubstr("'orig_output' of MaxPoolGrad"));
}

// An element that several windows share gets a sum, which may overflow.
TEST(MaxPoolGradTest, KeepsFiniteWhereWindowsStandApart) {
  const OpDef& op = **OpRegistry::Global()->Find("MaxPoolGrad");
  const auto keeps = [&](const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
    AttrMap attrs;
    SetAttr(&attrs, "ksize", sizes);
    SetAttr(&attrs, "strides", strides);
    return op.keeps_finite(attrs);
  };
  EXPECT_TRUE(keeps({1, 2, 2, 1}, {1, 2, 2, 1}));
  EXPECT_TRUE(keeps({1, 2, 2, 1}, {1, 3, 2, 1}));
  EXPECT_FALSE(keeps({1, 3, 2, 1}, {1, 2, 2, 1}));
  EXPECT_FALSE(op.keeps_finite({}));
}

TEST(MaxPoolGradGradTest, HasTheShapeOfThePooledImage) {
  const auto op = [](absl::string_view output, absl::string_view gradient) {
    return Pool("MaxPoolGradGrad", {1, 2, 2, 1}, {1, 2, 2, 1})
        .Input("[1,6,6,3]")
        .Input(output)
        .Input(gradient)
        .Shapes();
  };
  EXPECT_EQ(op("[1,3,3,3]", "?"), "[1,3,3,3]");
  EXPECT_THAT(op("[1,3,3,3]", "[1,6,5,3]"), HasSubstr("'grad' of MaxPoolGradGrad"));
  EXPECT_THAT(op("[1,3,4,3]", "[1,6,6,3]"), HasSubstr("'orig_output' of MaxPoolGradGrad"));
}

TEST(AvgPoolTest, PoolsTheImageOnly) {
  EXPECT_EQ(Pool("AvgPool", {1, 2, 2, 1}, {1, 2, 2, 1}).Input("[1,5,6,3]").Shapes(), "[1,2,3,3]");
  EXPECT_THAT(Pool("AvgPool", {1, 1, 1, 3}, {1, 1, 1, 3}).Input("[1,5,6,3]").Shapes(),
              HasSubstr("UNIMPLEMENTED: attribute 'ksize' of AvgPool"));
}

TEST(AvgPoolGradTest, HasTheShapeOfTheImage) {
  const auto op = [](absl::string_view sizes, absl::string_view gradient) {
    return Pool("AvgPoolGrad", {1, 2, 2, 1}, {1, 2, 2, 1}).Value(sizes).Input(gradient).Shapes();
  };
  EXPECT_EQ(op("(1 6 6 3)", "[1,3,3,3]"), "[1,6,6,3]");
  EXPECT_EQ(op("(? 6 6 ?)", "[1,3,3,3]"), "[?,6,6,?]");
  EXPECT_THAT(op("(1 6 6)", "[1,3,3,3]"), HasSubstr("'orig_input_shape' of AvgPoolGrad"));
  EXPECT_THAT(op("(1 6 6 3)", "[1,3,2,3]"), HasSubstr("'grad' of AvgPoolGrad"));
}

}  // namespace
}  // namespace millstream
