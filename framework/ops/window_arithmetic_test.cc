#include "framework/ops/window_arithmetic.h"

#include <cstdint>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

// Counts the places of a window by trying them.
int64_t CountPlaces(int64_t input, const Window& window) {
  const int64_t padded = input + window.pad_before + window.pad_after;
  const int64_t last = (window.size - 1) * window.dilation;
  int64_t places = 0;
  for (int64_t begin = 0; begin + last < padded; begin += window.stride) ++places;
  return places;
}

TEST(WindowedSizeTest, CountsThePlacesOfTheWindow) {
  for (int64_t input = 0; input <= 9; ++input) {
    for (int64_t size = 1; size <= 4; ++size) {
      for (int64_t stride = 1; stride <= 4; ++stride) {
        for (int64_t dilation = 1; dilation <= 3; ++dilation) {
          for (int64_t pad = 0; pad <= 2; ++pad) {
            const Window window = {size, stride, dilation, pad, 2 * pad};
            const int64_t expected = CountPlaces(input, window);
            const auto got = WindowedSize(input, window, Padding::kExplicit);
            const int64_t missing = (size - 1) * dilation + 1 - (input + 3 * pad);
            EXPECT_EQ(got.ok(), missing <= stride);
            if (got.ok()) {
              EXPECT_EQ(*got, expected);
            }
          }
        }
      }
    }
  }
}

TEST(WindowedSizeTest, ValidPadsNothing) {
  EXPECT_EQ(*WindowedSize(17, {3, 2, 1, 5, 5}, Padding::kValid), 8);
}

TEST(WindowedSizeTest, SameDependsOnTheStrideAlone) {
  EXPECT_EQ(*WindowedSize(7, {3, 3}, Padding::kSame), 3);
  EXPECT_EQ(*WindowedSize(2, {5, 1}, Padding::kSame), 2);
  EXPECT_EQ(*WindowedSize(0, {3, 2}, Padding::kSame), 0);
  EXPECT_EQ(*WindowedSize(6, {kUnknownDim, 2}, Padding::kSame), 3);
}

TEST(WindowedSizeTest, UnknownSizesGiveUnknownOnes) {
  EXPECT_EQ(*WindowedSize(kUnknownDim, {3, 1}, Padding::kSame), kUnknownDim);
  EXPECT_EQ(*WindowedSize(kUnknownDim, {3, 1}, Padding::kValid), kUnknownDim);
  EXPECT_EQ(*WindowedSize(6, {kUnknownDim, 1}, Padding::kValid), kUnknownDim);
}

TEST(WindowedSizeTest, AWindowThatIsTooLongByAStrideAtMostFitsZeroTimes) {
  EXPECT_EQ(*WindowedSize(2, {3, 1}, Padding::kValid), 0);
  EXPECT_EQ(*WindowedSize(0, {1, 1}, Padding::kValid), 0);
  EXPECT_EQ(*WindowedSize(1, {4, 3}, Padding::kValid), 0);
  EXPECT_FALSE(WindowedSize(1, {5, 3}, Padding::kValid).ok());
}

TEST(WindowedSizeTest, AStrideMayBeAsLargeAsAnIntegerCan) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(*WindowedSize(5, {3, kLargest}, Padding::kValid), 1);
  EXPECT_EQ(*WindowedSize(2, {3, kLargest}, Padding::kValid), 0);
  EXPECT_EQ(*WindowedSize(5, {3, kLargest}, Padding::kSame), 1);
}

TEST(WindowedSizeTest, RefusesWindowsThatAreEmptyOrTooLong) {
  EXPECT_THAT(WindowedSize(2, {5, 1}, Padding::kValid).status().ToString(),
              HasSubstr("a window of 5 does not fit into 2 elements"));
  EXPECT_FALSE(WindowedSize(2, {0, 1}, Padding::kSame).ok());
  EXPECT_FALSE(WindowedSize(2, {int64_t{1} << 62, 1, int64_t{1} << 62}, Padding::kValid).ok());
}

TEST(ImageLayoutTest, KnowsTheOrders) {
  EXPECT_EQ(ParseImageLayout("NHWC")->channels, 3);
  EXPECT_EQ(ParseImageLayout("NCHW")->channels, 1);
  EXPECT_EQ(ParseImageLayout("NCHW")->height, 2);
  EXPECT_EQ(ParseImageLayout("NCHW_VECT_C").status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(ParseImageLayout("HW").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millstream
