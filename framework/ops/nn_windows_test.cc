#include <string>
#include <utility>
#include <vector>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

ShapeTester Sliding(absl::string_view op, const char* padding, std::vector<int64_t> strides) {
  ShapeTester tester(op);
  tester.Attr("padding", padding).Attr("strides", std::move(strides));
  return tester;
}

// ---- Depthwise ----

TEST(DepthwiseTest, MultipliesTheChannels) {
  const auto depthwise = [](const char* input, const char* filter) {
    return Sliding("DepthwiseConv2dNative", "SAME", {1, 2, 2, 1})
        .Input(input)
        .Input(filter)
        .Shapes();
  };
  EXPECT_EQ(depthwise("[?,9,8,3]", "[3,3,3,2]"), "[?,5,4,6]");
  EXPECT_EQ(depthwise("[1,9,8,?]", "[3,3,3,2]"), "[1,5,4,6]");
  EXPECT_EQ(depthwise("[1,9,8,3]", "[3,3,?,?]"), "[1,5,4,?]");
  EXPECT_THAT(depthwise("[1,9,8,4]", "[3,3,3,2]"),
              HasSubstr("Dimensions must be equal, but are 4 and 3"));
}

TEST(DepthwiseTest, StridesAreEqual) {
  EXPECT_THAT(Sliding("DepthwiseConv2dNative", "SAME", {1, 1, 2, 1})
                  .Input("[1,9,8,3]")
                  .Input("[3,3,3,2]")
                  .Shapes(),
              HasSubstr("strides must be equal for height and width, but are 1 and 2"));
}

TEST(DepthwiseTest, GradientsHaveTheShapesOfInputAndFilter) {
  EXPECT_EQ(Sliding("DepthwiseConv2dNativeBackpropInput", "SAME", {1, 1, 1, 1})
                .Value("(? 9 8 3)")
                .Input("[3,3,3,2]")
                .Input("[2,9,8,6]")
                .Shapes(),
            "[2,9,8,3]");
  EXPECT_EQ(Sliding("DepthwiseConv2dNativeBackpropFilter", "SAME", {1, 1, 1, 1})
                .Input("[2,9,8,3]")
                .Value("(3 3 3 2)")
                .Input("[2,9,8,6]")
                .Shapes(),
            "[3,3,3,2]");
}

// ---- Volumes ----

TEST(Conv3DTest, SlidesTheFilter) {
  const auto conv = [](const char* padding, std::vector<int64_t> strides) {
    return Sliding("Conv3D", padding, std::move(strides))
        .Input("[?,5,9,8,3]")
        .Input("[2,3,3,3,4]")
        .Shapes();
  };
  EXPECT_EQ(conv("SAME", {1, 1, 2, 3, 1}), "[?,5,5,3,4]");
  EXPECT_EQ(conv("VALID", {1, 1, 2, 3, 1}), "[?,4,4,2,4]");
  EXPECT_THAT(conv("SAME", {1, 1, 1, 1}), HasSubstr("attribute 'strides'"));
  EXPECT_THAT(conv("SAME", {1, 1, 1, 1, 2}), HasSubstr("expected 1 for batch and channels"));
}

TEST(Conv3DTest, ChannelsMayComeFirst) {
  EXPECT_EQ(Sliding("Conv3D", "VALID", {1, 1, 1, 1, 2})
                .Attr("data_format", "NCDHW")
                .Input("[1,3,5,9,8]")
                .Input("[2,3,3,3,4]")
                .Shapes(),
            "[1,4,4,7,3]");
}

TEST(Conv3DTest, TheFirstVersionsOfGradientsTakeTensors) {
  EXPECT_EQ(Sliding("Conv3DBackpropInput", "SAME", {1, 1, 1, 1, 1})
                .Input("[1,5,9,8,3]")
                .Input("[2,3,3,3,4]")
                .Input("[1,5,9,8,4]")
                .Shapes(),
            "[1,5,9,8,3]");
  EXPECT_THAT(
      Sliding("Conv3DBackpropFilter", "SAME", {1, 1, 1, 1, 1})
          .Input("[1,5,9,8,3]")
          .Input("[2,3,3,3,4]")
          .Input("[1,5,9,7,4]")
          .Shapes(),
      HasSubstr("'out_backprop' of Conv3DBackpropFilter: expected the shape of the output"));
}

// ---- Dilation and mirrored margins ----

TEST(Dilation2DTest, KeepsTheChannels) {
  const auto dilate = [](const char* input, const char* filter) {
    return Sliding("Dilation2D", "VALID", {1, 1, 2, 1})
        .Attr("rates", std::vector<int64_t>{1, 2, 1, 1})
        .Input(input)
        .Input(filter)
        .Shapes();
  };
  EXPECT_EQ(dilate("[?,9,8,3]", "[3,3,3]"), "[?,5,3,3]");
  EXPECT_EQ(dilate("[1,9,8,?]", "[3,3,3]"), "[1,5,3,3]");
  EXPECT_THAT(dilate("[1,9,8,2]", "[3,3,3]"), HasSubstr("must have the same number of channels"));
}

TEST(FusedPadConv2DTest, IsAsLargeAsKnown) {
  EXPECT_EQ(Sliding("FusedPadConv2D", "VALID", {1, 1, 1, 1})
                .Attr("mode", "REFLECT")
                .Input("[1,5,6,2]")
                .Input("[4,2]")
                .Input("[3,3,2,4]")
                .Shapes(),
            "[1,?,?,4]");
  EXPECT_THAT(Sliding("FusedPadConv2D", "VALID", {1, 1, 1, 1})
                  .Attr("mode", "REFLECT")
                  .Input("[1,5,6,2]")
                  .Input("[3,2]")
                  .Input("[3,3,2,4]")
                  .Shapes(),
              HasSubstr("'paddings' of FusedPadConv2D: expected pairs"));
}

}  // namespace
}  // namespace millstream
