// Shapes of normalization.
#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

ShapeTester BatchNorm(absl::string_view op, absl::string_view x, absl::string_view scale,
                      absl::string_view mean) {
  return ShapeTester(op).Input(x).Input(scale).Input("?").Input(mean).Input(mean);
}

TEST(BatchNormTest, StatisticsHaveAnElementForEachChannel) {
  EXPECT_EQ(BatchNorm("FusedBatchNorm", "[2,3,4,5]", "?", "[0]").Shapes(),
            "[2,3,4,5] [5] [5] [5] [5]");
  EXPECT_EQ(BatchNorm("FusedBatchNormV2", "[2,3,4,5]", "?", "[3]")
                .Attr("data_format", "NCHW")
                .Attr("is_training", false)
                .Shapes(),
            "[2,3,4,5] [3] [3] [3] [3]");
  EXPECT_EQ(BatchNorm("FusedBatchNorm", "?", "[7]", "?").Shapes(), "[?,?,?,7] [7] [7] [7] [7]");
}

TEST(BatchNormTest, TheLastReservedShapeIsUnknown) {
  EXPECT_EQ(BatchNorm("FusedBatchNormV3", "[2,3,4,5]", "[5]", "[0]").Shapes(),
            "[2,3,4,5] [5] [5] [5] [5] ?");
}

TEST(BatchNormTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(BatchNorm("FusedBatchNorm", "[2,3,4,5]", "[4]", "[0]").Shapes(),
              HasSubstr("'scale' of FusedBatchNorm"));
  EXPECT_THAT(BatchNorm("FusedBatchNorm", "[3,4,5]", "?", "[0]").Shapes(), HasSubstr("rank 4"));
  EXPECT_THAT(BatchNorm("FusedBatchNorm", "[2,3,4,5]", "?", "[5]").Shapes(),
              HasSubstr("'mean' of FusedBatchNorm: must be empty in training"));
  EXPECT_THAT(
      BatchNorm("FusedBatchNorm", "[2,3,4,5]", "?", "[0]").Attr("is_training", false).Shapes(),
      HasSubstr("'mean' of FusedBatchNorm"));
}

TEST(BatchNormGradTest, HasTheShapesOfImagesAndChannels) {
  const auto op = [](absl::string_view gradient, absl::string_view x) {
    return ShapeTester("FusedBatchNormGrad")
        .Input(gradient)
        .Input(x)
        .Input("[5]")
        .Input("?")
        .Input("?")
        .Shapes();
  };
  EXPECT_EQ(op("[2,?,4,?]", "[?,3,4,?]"), "[2,3,4,5] [5] [5] [0] [0]");
  EXPECT_THAT(op("[2,3,4,5]", "[2,2,4,5]"), HasSubstr("'x' of FusedBatchNormGrad"));
  EXPECT_THAT(op("[2,3,4,6]", "?"), HasSubstr("'scale' of FusedBatchNormGrad"));
}

TEST(GlobalBatchNormTest, HasTheShapesOfImagesAndChannels) {
  const auto op = [](absl::string_view name) {
    return ShapeTester(name).Attr("variance_epsilon", 0.1f).Attr("scale_after_normalization", true);
  };
  const std::string forward = "BatchNormWithGlobalNormalization";
  EXPECT_EQ(op(forward).Input("[2,3,4,?]").Input("[5]").Input("?").Input("?").Input("?").Shapes(),
            "[2,3,4,5]");
  EXPECT_EQ(op(forward + "Grad")
                .Input("?")
                .Input("[5]")
                .Input("?")
                .Input("?")
                .Input("[2,3,4,?]")
                .Shapes(),
            "[2,3,4,5] [5] [5] [5] [5]");
  EXPECT_THAT(op(forward).Input("[2,3,4,6]").Input("[5]").Input("?").Input("?").Input("?").Shapes(),
              HasSubstr("'m' of BatchNormWithGlobalNormalization"));
}

TEST(LrnTest, KeepsTheShape) {
  EXPECT_EQ(ShapeTester("LRN").Input("[2,3,?,5]").Shapes(), "[2,3,?,5]");
  EXPECT_EQ(ShapeTester("LRN").Input("?").Shapes(), "[?,?,?,?]");
  EXPECT_EQ(ShapeTester("LRNGrad").Input("?").Input("[2,3,4,5]").Input("?").Shapes(), "[2,3,4,5]");
  EXPECT_THAT(ShapeTester("LRN").Input("[3,4,5]").Shapes(), HasSubstr("rank 4"));
  EXPECT_THAT(ShapeTester("LRN").Attr("depth_radius", int64_t{-1}).Input("?").Shapes(),
              HasSubstr("'depth_radius' of LRN"));
}

}  // namespace
}  // namespace millstream
