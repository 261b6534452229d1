// ResizeBilinear, ResizeBicubic and ResizeArea of any number of channels.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

using Floats = std::vector<float>;

constexpr int64_t kHeight = 9;
constexpr int64_t kWidth = 13;

Floats Resized(const std::string& op, int64_t channels, const Floats& images, int32_t height,
               int32_t width) {
  KernelTester t(op);
  t.Attr("T", MS_FLOAT32).Attr("align_corners", false);
  if (op != "ResizeArea") t.Attr("half_pixel_centers", true);
  t.Outputs({MS_FLOAT32}).Input<float>({2, kHeight, kWidth, channels}, images);
  t.ConstInput<int32_t>({2}, {height, width});
  EXPECT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{2, height, width, channels}));
  return t.Output<float>(0);
}

// Every channels-th element from `channel` on.
Floats ChannelOf(const Floats& images, int64_t channel, int64_t channels) {
  Floats found;
  for (size_t i = static_cast<size_t>(channel); i < images.size();
       i += static_cast<size_t>(channels)) {
    found.push_back(images[i]);
  }
  return found;
}

// Several channels are computed at once, one alone is not.
TEST(ResizeTest, EachChannelIsResizedAsAlone) {
  std::mt19937 random(17);
  std::normal_distribution<float> normal;
  for (const std::string op : {"ResizeBilinear", "ResizeBicubic", "ResizeArea"}) {
    for (const int64_t channels : {1, 2, 3, 4, 5, 7, 8, 9}) {
      Floats images(static_cast<size_t>(2 * kHeight * kWidth * channels));
      for (float& pixel : images) pixel = normal(random);
      for (const int32_t size : {1, 5, 31}) {
        SCOPED_TRACE(ms::StrCat(op, " of ", channels, " channels to ", size));
        const Floats resized = Resized(op, channels, images, size, size + 1);
        for (int64_t c = 0; c < channels; ++c) {
          const Floats alone = Resized(op, 1, ChannelOf(images, c, channels), size, size + 1);
          EXPECT_EQ(ChannelOf(resized, c, channels), alone) << "channel " << c;
        }
      }
    }
  }
}

TEST(ResizeTest, HalvesAreMeansOfNeighbours) {
  KernelTester t("ResizeBilinear");
  t.Attr("T", MS_FLOAT32).Attr("align_corners", false).Attr("half_pixel_centers", true);
  t.Outputs({MS_FLOAT32}).Input<float>({1, 2, 2, 2}, {1, 10, 3, 30, 5, 50, 7, 70});
  t.ConstInput<int32_t>({2}, {1, 1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (Floats{4, 40}));
}

}  // namespace
}  // namespace millstream::kernels
