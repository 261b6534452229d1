#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(DecodePngTest, HasTheChannelsOfTheAttribute) {
  EXPECT_EQ(ShapeTester("DecodePng").Input("[]").Shapes(), "[?,?,?]");
  EXPECT_EQ(ShapeTester("DecodePng").Attr("channels", int64_t{3}).Input("?").Shapes(), "[?,?,3]");
  EXPECT_THAT(ShapeTester("DecodePng").Attr("channels", int64_t{2}).Input("[]").Shapes(),
              HasSubstr("channels must be 0, 1, 3 or 4, got 2"));
  EXPECT_THAT(ShapeTester("DecodePng").Input("[2]").Shapes(), HasSubstr("'contents' of DecodePng"));
}

TEST(DecodeAndCropJpegTest, HasTheSizeOfTheWindow) {
  const auto op = [](absl::string_view window) {
    return ShapeTester("DecodeAndCropJpeg").Input("[]").Value(window).Shapes();
  };
  EXPECT_EQ(op("(1 2 3 4)"), "[3,4,?]");
  EXPECT_THAT(op("(1 2 0 4)"), HasSubstr("a height and a width above 0, got 0"));
  EXPECT_THAT(op("(1 2 3)"), HasSubstr("expected a vector of 4"));
}

TEST(DecodeGifTest, HasFrames) {
  EXPECT_EQ(ShapeTester("DecodeGif").Input("[]").Shapes(), "[?,?,?,3]");
}

TEST(EncodeJpegTest, TakesAnImage) {
  EXPECT_EQ(ShapeTester("EncodeJpeg").Input("[2,3,1]").Shapes(), "[]");
  EXPECT_THAT(ShapeTester("EncodeJpeg").Input("[2,3]").Shapes(),
              HasSubstr("'image' of EncodeJpeg"));
  EXPECT_THAT(ShapeTester("EncodeJpeg").Attr("quality", int64_t{101}).Input("?").Shapes(),
              HasSubstr("quality must be in [0,100], got 101"));
}

TEST(DecodeCompressedTest, KeepsTheShape) {
  EXPECT_EQ(ShapeTester("DecodeCompressed").Input("[2,?]").Shapes(), "[2,?]");
}

}  // namespace
}  // namespace millstream
