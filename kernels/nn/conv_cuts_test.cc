// What convolutions are cut into: kernels with what follows them, parts for threads, calls of the
// library for some of the images. No result shows the cuts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

// Values that no sum is exact for, from a fixed stream.
std::vector<float> Fractions(size_t count) {
  std::minstd_rand random(7);
  std::uniform_real_distribution<float> fraction(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = fraction(random);
  return values;
}

void SetAttrs(KernelTester* t) {
  t->Attr("T", MS_FLOAT32).Attr("padding", std::string("SAME"));
  t->Attr("data_format", std::string("NHWC")).Outputs({MS_FLOAT32});
  t->Attr("strides", std::vector<int64_t>{1, 1, 1, 1});
  t->Attr("dilations", std::vector<int64_t>{1, 1, 1, 1});
}

// A convolution with what follows it as one kernel: the bits are those of the parts, whether the
// filter is the same in every step or not.
TEST(FusedConvTest, HasTheBitsOfItsParts) {
  const std::vector<int64_t> image = {3, 9, 11, 13};
  constexpr int64_t kOut = 21;
  const std::vector<int64_t> output = {3, 9, 11, kOut};
  const std::vector<float> x = Fractions(3 * 9 * 11 * 13);
  const std::vector<float> w = Fractions(9 * 13 * kOut);
  const std::vector<float> bias = Fractions(kOut);
  const std::vector<float> added = Fractions(3 * 9 * 11 * kOut);
  KernelTester plain("Conv2D");
  SetAttrs(&plain);
  plain.Input<float>(image, x).Input<float>({3, 3, 13, kOut}, w);
  ASSERT_TRUE(IsOk(plain.Run()));
  std::vector<float> expected = plain.Output<float>(0);
  for (size_t i = 0; i < expected.size(); ++i) {
    const float sum = expected[i] + bias[i % kOut] + added[i];
    expected[i] = std::min(std::max(sum, 0.0f), 6.0f);
  }
  for (const bool is_constant : {false, true}) {
    KernelTester fused("_FusedConv2D");
    SetAttrs(&fused);
    fused.Attr("fused_ops", std::vector<std::string>{"BiasAdd", "Add", "Relu6"});
    fused.Input<float>(image, x);
    if (is_constant) {
      fused.ConstInput<float>({3, 3, 13, kOut}, w);
    } else {
      fused.Input<float>({3, 3, 13, kOut}, w);
    }
    fused.Input<float>({kOut}, bias).Input<float>(output, added);
    ASSERT_TRUE(IsOk(fused.Run()));
    EXPECT_EQ(fused.Output<float>(0), expected);
    fused.SetInput<float>(3, {kOut}, bias);
    const ms::Status refused = fused.Run();
    EXPECT_EQ(refused.code(), MS_INVALID_ARGUMENT) << refused.message();
    EXPECT_NE(refused.message().find("what is added must have the shape"), std::string::npos)
        << refused.message();
  }
}

// A filter of one pixel: a product of matrices. Pixels of 1,024 channels or a multiple are copied
// where a tile has many rows.
void CheckOnePixelFilter(int64_t batch, int64_t side, int64_t in, int64_t out) {
  SCOPED_TRACE(ms::StrCat(batch, " x ", side, " x ", side, " x ", in, " to ", out));
  const int64_t pixels = batch * side * side;
  const std::vector<float> x = Fractions(pixels * in);
  const std::vector<float> w = Fractions(in * out);
  const std::vector<float> bias = Fractions(out);
  KernelTester plain("Conv2D");
  SetAttrs(&plain);
  plain.Input<float>({batch, side, side, in}, x).Input<float>({1, 1, in, out}, w);
  ASSERT_TRUE(IsOk(plain.Run()));
  std::vector<float> expected = plain.Output<float>(0);
  const double most = static_cast<double>(in) * std::numeric_limits<float>::epsilon();
  for (int64_t i = 0; i < pixels * out; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < in; ++k) sum += double{x[i / out * in + k]} * w[k * out + i % out];
    ASSERT_NEAR(expected[i], sum, most) << i;
    expected[i] = std::max(expected[i] + bias[i % out], 0.0f);
  }
  for (const bool is_constant : {false, true}) {
    KernelTester fused("_FusedConv2D");
    SetAttrs(&fused);
    fused.Attr("fused_ops", std::vector<std::string>{"BiasAdd", "Relu"});
    fused.Input<float>({batch, side, side, in}, x);
    is_constant ? fused.ConstInput<float>({1, 1, in, out}, w)
                : fused.Input<float>({1, 1, in, out}, w);
    fused.Input<float>({out}, bias);
    ASSERT_TRUE(IsOk(fused.Run()));
    EXPECT_EQ(fused.Output<float>(0), expected);
  }
}

TEST(OnePixelFilterTest, HasTheBitsOfItsPartsAndIsCloseToSumsInDouble) {
  CheckOnePixelFilter(3, 9, 13, 21);
  CheckOnePixelFilter(1, 2, 64, 96);
  CheckOnePixelFilter(2, 5, 1024, 24);
  CheckOnePixelFilter(1, 7, 2048, 40);
  // Large enough for several threads.
  CheckOnePixelFilter(1, 14, 160, 112);
  // So many images that they are copied in several groups.
  CheckOnePixelFilter(5, 15, 1024, 16);
}

// KernelTester::Run compares the bits of one thread with those of several.
TEST(ConvFilterGradientTest, HasTheSameBitsForAnyNumberOfThreads) {
  constexpr int64_t kSide = 24;
  constexpr int64_t kPixels = kSide * kSide;
  for (const int64_t batch : {9, 16, 21}) {
    for (const uint32_t threads : {2, 3, 5}) {
      KernelTester t("Conv2DBackpropFilter");
      SetAttrs(&t);
      const std::vector<float> x = Fractions(batch * kPixels * 16);
      const std::vector<float> dy = Fractions(batch * kPixels * 32);
      t.Input<float>({batch, kSide, kSide, 16}, x).ConstInput<int32_t>({4}, {3, 3, 16, 32});
      t.Input<float>({batch, kSide, kSide, 32}, dy).Threads(threads);
      ASSERT_TRUE(IsOk(t.Run()));
      // The filter's middle sees every pixel where it is.
      double middle = 0;
      for (int64_t i = 0; i < batch * kPixels; ++i) middle += double{x[i * 16]} * dy[i * 32];
      EXPECT_NEAR(t.Output<float>(0)[4 * 16 * 32], middle, 1e-3);
    }
  }
}

// KernelTester::Run compares the bits of one thread with those of several. Wide images and many
// channels: what the library cuts up.
TEST(ConvInputGradientTest, HasTheSameBitsForAnyNumberOfThreads) {
  constexpr int64_t kSide = 20;
  constexpr int64_t kIn = 48;
  constexpr int64_t kOut = 80;
  for (const uint32_t threads : {2, 3, 5}) {
    KernelTester t("Conv2DBackpropInput");
    SetAttrs(&t);
    const std::vector<float> w = Fractions(9 * kIn * kOut);
    const std::vector<float> dy = Fractions(3 * kSide * kSide * kOut);
    t.ConstInput<int32_t>({4}, {3, kSide, kSide, kIn}).Input<float>({3, 3, kIn, kOut}, w);
    t.Input<float>({3, kSide, kSide, kOut}, dy).Threads(threads);
    ASSERT_TRUE(IsOk(t.Run()));
    // The first image's second pixel of the second row: all nine taps reach it.
    double expected = 0;
    for (int64_t tap = 0; tap < 9; ++tap) {
      const int64_t pixel = (2 - tap / 3) * kSide + 2 - tap % 3;
      for (int64_t o = 0; o < kOut; ++o) {
        expected += double{dy[pixel * kOut + o]} * w[tap * kIn * kOut + o];
      }
    }
    EXPECT_NEAR(t.Output<float>(0)[(kSide + 1) * kIn], expected, 1e-4);
  }
}

// Of such images the library gets two at a time; five leave one for the last call.
constexpr int64_t kLongBatch = 5;
constexpr int64_t kLongSide = 80;
constexpr int64_t kLongChannels = 128;
constexpr int64_t kLongPixels = kLongSide * kLongSide;

// A filter of which only the middle is not zero: at each pixel twice the identity.
std::vector<float> TwiceTheIdentity() {
  std::vector<float> filter(9 * kLongChannels * kLongChannels);
  for (int64_t c = 0; c < kLongChannels; ++c) {
    filter[(4 * kLongChannels + c) * kLongChannels + c] = 2;
  }
  return filter;
}

TEST(LongConvolutionTest, IsTheSameForEveryImageInBothDirections) {
  const std::vector<float> x = Fractions(kLongBatch * kLongPixels * kLongChannels);
  std::vector<float> expected = x;
  for (float& value : expected) value *= 2;
  const std::vector<int64_t> dims = {kLongBatch, kLongSide, kLongSide, kLongChannels};
  KernelTester forward("Conv2D");
  SetAttrs(&forward);
  forward.Input<float>(dims, x);
  forward.Input<float>({3, 3, kLongChannels, kLongChannels}, TwiceTheIdentity());
  ASSERT_TRUE(IsOk(forward.Run()));
  EXPECT_EQ(forward.Output<float>(0), expected);
  KernelTester backward("Conv2DBackpropInput");
  SetAttrs(&backward);
  backward.ConstInput<int32_t>({4}, {kLongBatch, kLongSide, kLongSide, kLongChannels});
  backward.Input<float>({3, 3, kLongChannels, kLongChannels}, TwiceTheIdentity());
  backward.Input<float>(dims, x);
  ASSERT_TRUE(IsOk(backward.Run()));
  EXPECT_EQ(backward.Output<float>(0), expected);
}

// More pieces than run side by side.
TEST(LongConvolutionTest, TheFiltersGradientIsTheSumOverAllImages) {
  constexpr int64_t kBatch = 19;
  constexpr int64_t kOut = 144;
  const std::vector<float> x = Fractions(kBatch * kLongPixels * kLongChannels);
  const std::vector<float> dy = Fractions(kBatch * kLongPixels * kOut);
  KernelTester t("Conv2DBackpropFilter");
  SetAttrs(&t);
  t.Input<float>({kBatch, kLongSide, kLongSide, kLongChannels}, x);
  t.ConstInput<int32_t>({4}, {3, 3, kLongChannels, kOut});
  t.Input<float>({kBatch, kLongSide, kLongSide, kOut}, dy).Threads(2);
  ASSERT_TRUE(IsOk(t.Run()));
  double middle = 0;
  for (int64_t i = 0; i < kBatch * kLongPixels; ++i) {
    middle += double{x[i * kLongChannels]} * dy[i * kOut];
  }
  EXPECT_NEAR(t.Output<float>(0)[4 * kLongChannels * kOut], middle, 1e-1);
}

}  // namespace
}  // namespace millstream::kernels
