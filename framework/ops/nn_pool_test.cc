// Pooling of volumes, with windows from inputs, by places, and of fractions; patches; the order of
// dimensions; connectionist temporal classification.
#include <cstdint>
#include <vector>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;
using Integers = std::vector<int64_t>;

ShapeTester Windows(absl::string_view op, const Integers& ksize, const Integers& strides) {
  return ShapeTester(op).Attr("ksize", ksize).Attr("strides", strides).Attr("padding", "VALID");
}

TEST(MaxPool3DTest, PoolsTheVolume) {
  const auto op = [](absl::string_view input) {
    return Windows("MaxPool3D", {1, 2, 3, 3, 1}, {1, 1, 2, 2, 1}).Input(input).Shapes();
  };
  EXPECT_EQ(op("[?,4,17,13,3]"), "[?,3,8,6,3]");
  EXPECT_EQ(op("?"), "[?,?,?,?,?]");
  EXPECT_THAT(op("[4,17,13,3]"), HasSubstr("rank 5"));
  EXPECT_THAT(op("[1,0,17,13,3]"), HasSubstr("'input' of MaxPool3D: depth: a window of 2"));
  EXPECT_EQ(Windows("MaxPool3D", {1, 1, 2, 2, 2}, {1, 1, 2, 2, 2})
                .Attr("data_format", "NCDHW")
                .Attr("padding", "SAME")
                .Input("[1,3,5,6,7]")
                .Shapes(),
            "[1,3,3,3,4]");
  EXPECT_THAT(Windows("MaxPool3D", {1, 1, 1, 1, 3}, {1, 1, 1, 1, 3}).Input("[1,2,2,2,6]").Shapes(),
              HasSubstr("UNIMPLEMENTED: attribute 'ksize' of MaxPool3D"));
}

TEST(AvgPool3DGradTest, HasTheShapeOfTheVolume) {
  const auto op = [](absl::string_view sizes) {
    return Windows("AvgPool3DGrad", {1, 2, 2, 2, 1}, {1, 2, 2, 2, 1})
        .Value(sizes)
        .Input("[1,2,3,3,3]")
        .Shapes();
  };
  EXPECT_EQ(op("(1 4 6 6 3)"), "[1,4,6,6,3]");
  EXPECT_THAT(op("(1 6 6 3)"), HasSubstr("'orig_input_shape' of AvgPool3DGrad"));
  EXPECT_THAT(op("(1 4 6 8 3)"), HasSubstr("'grad' of AvgPool3DGrad"));
}

TEST(MaxPoolV2Test, WindowsAreInputs) {
  const auto op = [](absl::string_view ksize, absl::string_view strides) {
    return ShapeTester("MaxPoolV2")
        .Attr("padding", "VALID")
        .Input("[2,17,13,3]")
        .Value(ksize)
        .Value(strides)
        .Shapes();
  };
  EXPECT_EQ(op("(1 3 3 1)", "(1 2 2 1)"), "[2,8,6,3]");
  EXPECT_EQ(op("(1 ? 3 1)", "(1 2 2 1)"), "[2,?,?,?]");
  EXPECT_THAT(op("(3 3)", "(1 2 2 1)"), HasSubstr("'ksize' of MaxPoolV2: expected 4 values"));
  EXPECT_THAT(op("(1 3 3 1)", "(1 0 2 1)"), HasSubstr("'strides' of MaxPoolV2"));
}

TEST(MaxPoolWithArgmaxTest, GivesTwoOutputsOfOneShape) {
  EXPECT_EQ(Windows("MaxPoolWithArgmax", {1, 2, 2, 1}, {1, 2, 2, 1}).Input("[2,5,6,3]").Shapes(),
            "[2,2,3,3] [2,2,3,3]");
  EXPECT_THAT(Windows("MaxPoolWithArgmax", {1, 1, 1, 3}, {1, 1, 1, 3}).Input("[2,5,6,3]").Shapes(),
              HasSubstr("UNIMPLEMENTED"));
}

TEST(MaxPoolGradWithArgmaxTest, ChecksTheShapesOfGradientAndPlaces) {
  const auto op = [](absl::string_view name, absl::string_view grad, absl::string_view argmax) {
    return Windows(name, {1, 2, 2, 1}, {1, 2, 2, 1})
        .Input("[2,4,6,3]")
        .Input(grad)
        .Input(argmax)
        .Shapes();
  };
  EXPECT_EQ(op("MaxPoolGradWithArgmax", "[2,2,3,3]", "?"), "[2,4,6,3]");
  EXPECT_THAT(op("MaxPoolGradWithArgmax", "[2,2,3,4]", "?"), HasSubstr("'grad'"));
  EXPECT_EQ(op("MaxPoolGradGradWithArgmax", "[2,4,6,3]", "?"), "[2,2,3,3]");
  EXPECT_THAT(op("MaxPoolGradGradWithArgmax", "[2,4,6,3]", "[2,2,3,4]"), HasSubstr("'argmax'"));
}

TEST(FractionalMaxPoolTest, SequencesAreAnElementLongerThanTheOutput) {
  const auto op = [](const std::vector<float>& ratio, absl::string_view input) {
    return ShapeTester("FractionalMaxPool").Attr("pooling_ratio", ratio).Input(input).Shapes();
  };
  EXPECT_EQ(op({1, 1.5, 1.8f, 1}, "[?,7,9,2]"), "[?,4,5,2] [5] [6]");
  EXPECT_EQ(op({1, 1.5, 1.8f, 1}, "?"), "[?,?,?,?] [?] [?]");
  EXPECT_THAT(op({1, 0.5, 1, 1}, "?"), HasSubstr("INVALID_ARGUMENT: attribute 'pooling_ratio'"));
  EXPECT_THAT(op({2, 1.5, 1.5, 1}, "?"), HasSubstr("UNIMPLEMENTED: attribute 'pooling_ratio'"));
  EXPECT_THAT(op({1, 9, 1, 1}, "[1,7,9,2]"), HasSubstr("'value' of FractionalMaxPool"));
}

TEST(FractionalAvgPoolGradTest, HasTheShapeOfTheImage) {
  const auto op = [](absl::string_view rows) {
    return ShapeTester("FractionalAvgPoolGrad")
        .Value("(1 5 6 2)")
        .Input("[1,3,4,2]")
        .Input(rows)
        .Input("[5]")
        .Shapes();
  };
  EXPECT_EQ(op("[4]"), "[1,5,6,2]");
  EXPECT_THAT(op("[3]"), HasSubstr("'row_pooling_sequence' of FractionalAvgPoolGrad"));
}

TEST(ExtractImagePatchesTest, CountsWindowsAndTheirElements) {
  const auto op = [](const Integers& sizes, const Integers& rates) {
    return ShapeTester("ExtractImagePatches")
        .Attr("ksizes", sizes)
        .Attr("strides", Integers{1, 1, 2, 1})
        .Attr("rates", rates)
        .Attr("padding", "VALID")
        .Input("[?,7,7,2]")
        .Shapes();
  };
  EXPECT_EQ(op({1, 3, 3, 1}, {1, 2, 2, 1}), "[?,3,2,18]");
  EXPECT_THAT(op({1, 3, 3, 1}, {1, 0, 2, 1}), HasSubstr("OUT_OF_RANGE: attribute 'rates'"));
  EXPECT_THAT(op({1, 3, 3, 2}, {1, 1, 1, 1}), HasSubstr("UNIMPLEMENTED: attribute 'ksizes'"));
  EXPECT_THAT(op({1, 9, 3, 1}, {1, 1, 1, 1}), HasSubstr("'images' of ExtractImagePatches"));
}

TEST(ExtractVolumePatchesTest, CountsWindowsAndTheirElements) {
  EXPECT_EQ(ShapeTester("ExtractVolumePatches")
                .Attr("ksizes", Integers{1, 2, 2, 2, 1})
                .Attr("strides", Integers{1, 1, 2, 1, 1})
                .Attr("padding", "SAME")
                .Input("[1,3,4,?,2]")
                .Shapes(),
            "[1,3,2,?,16]");
}

TEST(DataFormatTest, OrdersHaveTheSameLetters) {
  const auto op = [](absl::string_view name, const char* to, absl::string_view x) {
    return ShapeTester(name).Attr("dst_format", to).Input(x).Shapes();
  };
  EXPECT_EQ(op("DataFormatDimMap", "NCHW", "[5,?]"), "[5,?]");
  EXPECT_THAT(op("DataFormatDimMap", "NCH", "[5]"), HasSubstr("'dst_format' of DataFormatDimMap"));
  EXPECT_EQ(op("DataFormatVecPermute", "NCHW", "[?,?]"), "[4,2]");
  EXPECT_THAT(op("DataFormatVecPermute", "NCHW", "[3]"), HasSubstr("4 elements or 4 pairs"));
}

TEST(CtcLossTest, HasALossForEachSequence) {
  const auto op = [](absl::string_view inputs, absl::string_view lengths) {
    return ShapeTester("CTCLoss").Input(inputs).Input("[?,2]").Input("[?]").Input(lengths).Shapes();
  };
  EXPECT_EQ(op("[5,?,4]", "[2]"), "[2] [5,2,4]");
  EXPECT_THAT(op("[5,2,4]", "[3]"), HasSubstr("'sequence_length' of CTCLoss"));
  EXPECT_THAT(op("[5,2]", "[2]"), HasSubstr("rank 3"));
}

TEST(CtcDecoderTest, GivesSparseMatrices) {
  EXPECT_EQ(ShapeTester("CTCGreedyDecoder").Input("[5,2,4]").Input("[?]").Shapes(),
            "[?,2] [?] [2] [2,1]");
  const auto op = [](int64_t paths) {
    return ShapeTester("CTCBeamSearchDecoder")
        .Attr("beam_width", int64_t{3})
        .Attr("top_paths", paths)
        .Input("[5,2,4]")
        .Input("[?]")
        .Shapes();
  };
  EXPECT_EQ(op(2), "[?,2] [?,2] [?] [?] [2] [2] [2,2]");
  EXPECT_THAT(op(4), HasSubstr("'top_paths' of CTCBeamSearchDecoder"));
}

}  // namespace
}  // namespace millstream
