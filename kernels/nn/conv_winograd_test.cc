// Convolutions by Winograd's filtering: which they are, how exact, and that their bits do not
// depend on how they are cut, on what follows them or on whether the filter is a constant.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/nn/conv_shape.h"
#include "kernels/nn/conv_winograd.h"
#include "kernels/nn/winograd_blocks.h"
#include "kernels/testing/fractions.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::Fractions;
using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

struct Case {
  int64_t batch;
  int64_t height;
  int64_t width;
  int64_t in;
  int64_t out;
  std::array<int64_t, 4> pads = {1, 1, 1, 1};  // top, bottom, left, right

  int64_t rows() const { return height + pads[0] + pads[1] - 2; }
  int64_t columns() const { return width + pads[2] + pads[3] - 2; }
  std::vector<int64_t> InputDims() const { return {batch, height, width, in}; }
  std::vector<int64_t> FilterDims() const { return {3, 3, in, out}; }
  std::vector<int64_t> OutputDims() const { return {batch, rows(), columns(), out}; }
  int64_t input_size() const { return batch * height * width * in; }
  int64_t filter_size() const { return 9 * in * out; }
  int64_t output_size() const { return batch * rows() * columns() * out; }

  ConvShape Shape() const {
    ConvShape shape;
    shape.batch = batch;
    shape.in_channels = in;
    shape.out_channels = out;
    shape.input = {height, width, 1};
    shape.filter = {3, 3, 1};
    shape.output = {rows(), columns(), 1};
    shape.before = {pads[0], pads[2], 0};
    shape.after = {pads[1], pads[3], 0};
    return shape;
  }
  std::string ToString() const {
    return ms::StrCat("batch ", batch, ", ", height, " x ", width, " x ", in, " to ", out,
                      ", pads ", pads[0], ", ", pads[1], ", ", pads[2], ", ", pads[3]);
  }
};

// Odd and even sizes, tiles that borders cut on each side, channels that fill no vector and no
// strip, one group and several, more than one block.
std::vector<Case> Cases() {
  return {{1, 8, 9, 32, 32},
          {2, 10, 9, 33, 47, {0, 0, 0, 0}},
          {3, 5, 6, 40, 70, {1, 0, 0, 1}},
          {1, 9, 12, 65, 48, {0, 2, 3, 0}},
          {2, 6, 7, 36, 130, {2, 2, 2, 2}},
          {1, 13, 13, 100, 81},
          {1, 3, 40, 48, 33},
          {1, 14, 14, 128, 200},
          {2, 19, 23, 64, 64}};
}

// Convolves by the plain op, or by the fused one, or computes the gradient of the input.
class Convolution {
 public:
  explicit Convolution(const Case& c) : case_(c) {}

  Convolution& ConstantFilter(bool is_constant) {
    is_constant_ = is_constant;
    return *this;
  }
  Convolution& Threads(uint32_t threads) {
    threads_ = threads;
    return *this;
  }

  std::vector<float> Run(const std::vector<float>& x, const std::vector<float>& w) const {
    KernelTester t("Conv2D");
    SetAttributes(&t);
    Feed(&t, x, w);
    return Result(&t);
  }
  std::vector<float> RunGradient(const std::vector<float>& dy, const std::vector<float>& w) const {
    const std::vector<int64_t> dims = case_.InputDims();
    KernelTester t("Conv2DBackpropInput");
    SetAttributes(&t);
    t.ConstInput<int32_t>({4}, std::vector<int32_t>(dims.begin(), dims.end()));
    FeedFilter(&t, w);
    t.Input<float>(case_.OutputDims(), dy);
    return Result(&t);
  }
  std::vector<float> RunFused(const std::vector<float>& x, const std::vector<float>& w,
                              const std::vector<std::string>& ops, const std::vector<float>& bias,
                              const std::vector<float>& added) const {
    KernelTester t("_FusedConv2D");
    t.Attr("fused_ops", ops);
    SetAttributes(&t);
    Feed(&t, x, w);
    t.Input<float>({case_.out}, bias);
    if (!added.empty()) t.Input<float>(case_.OutputDims(), added);
    return Result(&t);
  }

 private:
  void SetAttributes(KernelTester* t) const {
    const std::array<int64_t, 4>& p = case_.pads;
    t->Attr("T", MS_FLOAT32).Attr("padding", std::string("EXPLICIT"));
    t->Attr("data_format", std::string("NHWC")).Outputs({MS_FLOAT32}).Threads(threads_);
    t->Attr("strides", std::vector<int64_t>{1, 1, 1, 1});
    t->Attr("dilations", std::vector<int64_t>{1, 1, 1, 1});
    t->Attr("explicit_paddings", std::vector<int64_t>{0, 0, p[0], p[1], p[2], p[3], 0, 0});
  }
  void Feed(KernelTester* t, const std::vector<float>& x, const std::vector<float>& w) const {
    t->Input<float>(case_.InputDims(), x);
    FeedFilter(t, w);
  }
  void FeedFilter(KernelTester* t, const std::vector<float>& w) const {
    is_constant_ ? t->ConstInput<float>(case_.FilterDims(), w)
                 : t->Input<float>(case_.FilterDims(), w);
  }
  static std::vector<float> Result(KernelTester* t) {
    const bool is_ok = static_cast<bool>(IsOk(t->Run()));
    EXPECT_TRUE(is_ok);
    return is_ok ? t->Output<float>(0) : std::vector<float>();
  }

  Case case_;
  bool is_constant_ = true;
  uint32_t threads_ = 3;
};

// The sums of one pixel of the output, in double.
std::vector<double> SumsOf(const Case& c, const std::vector<float>& x, const std::vector<float>& w,
                           int64_t pixel) {
  std::vector<double> sums(c.out, 0);
  const int64_t image = pixel / (c.rows() * c.columns());
  const int64_t row = pixel / c.columns() % c.rows();
  for (int64_t tap = 0; tap < 9; ++tap) {
    const int64_t i = row + tap / 3 - c.pads[0];
    const int64_t j = pixel % c.columns() + tap % 3 - c.pads[2];
    if (i < 0 || i >= c.height || j < 0 || j >= c.width) continue;
    for (int64_t k = 0; k < c.in; ++k) {
      const auto factor = static_cast<double>(x[((image * c.height + i) * c.width + j) * c.in + k]);
      const float* const weights = w.data() + (tap * c.in + k) * c.out;
      for (int64_t o = 0; o < c.out; ++o) sums[o] += factor * static_cast<double>(weights[o]);
    }
  }
  return sums;
}

std::vector<float> Reference(const Case& c, const std::vector<float>& x,
                             const std::vector<float>& w) {
  std::vector<float> result;
  for (int64_t pixel = 0; pixel < c.batch * c.rows() * c.columns(); ++pixel) {
    for (const double sum : SumsOf(c, x, w, pixel)) result.push_back(static_cast<float>(sum));
  }
  return result;
}

// The gradient of the input, in double.
std::vector<float> ReferenceGradient(const Case& c, const std::vector<float>& dy,
                                     const std::vector<float>& w) {
  std::vector<double> sums(c.input_size(), 0);
  for (int64_t pixel = 0; pixel < c.batch * c.rows() * c.columns(); ++pixel) {
    const int64_t image = pixel / (c.rows() * c.columns());
    for (int64_t tap = 0; tap < 9; ++tap) {
      const int64_t i = pixel / c.columns() % c.rows() + tap / 3 - c.pads[0];
      const int64_t j = pixel % c.columns() + tap % 3 - c.pads[2];
      if (i < 0 || i >= c.height || j < 0 || j >= c.width) continue;
      for (int64_t k = 0; k < c.in; ++k) {
        double& sum = sums[((image * c.height + i) * c.width + j) * c.in + k];
        const float* const weights = w.data() + (tap * c.in + k) * c.out;
        for (int64_t o = 0; o < c.out; ++o) {
          sum += static_cast<double>(dy[pixel * c.out + o]) * static_cast<double>(weights[o]);
        }
      }
    }
  }
  return {sums.begin(), sums.end()};
}

std::vector<float> SmallIntegers(int64_t count, uint32_t seed) {
  std::vector<float> values = Fractions(count, seed);
  for (float& value : values) value = std::floor(6 * value);
  return values;
}

TEST(WinogradShapesTest, EnoughChannelsAndTiles) {
  for (const Case& c : Cases()) EXPECT_TRUE(WinogradBlocks::Suits(c.Shape())) << c.ToString();
  const Case few_in = {1, 14, 14, 31, 64};
  const Case few_out = {1, 14, 14, 64, 31};
  const Case few_tiles = {1, 6, 6, 64, 64};
  const Case large_image = {1, 80, 80, 128, 64};
  const Case large_output = {1, 80, 80, 64, 128};
  for (const Case& c : {few_in, few_out, few_tiles, large_image, large_output}) {
    EXPECT_FALSE(WinogradBlocks::Suits(c.Shape())) << c.ToString();
  }
}

TEST(WinogradShapesTest, WindowsOfThreeThatMoveByOne) {
  const Case c = {1, 14, 14, 64, 64};
  ConvShape shape = c.Shape();
  ASSERT_TRUE(WinogradBlocks::Suits(shape));
  shape.channels_first = true;
  EXPECT_FALSE(WinogradBlocks::Suits(shape));
  shape = c.Shape();
  shape.dims = 3;
  EXPECT_FALSE(WinogradBlocks::Suits(shape));
  shape = c.Shape();
  shape.groups = 2;
  EXPECT_FALSE(WinogradBlocks::Suits(shape));
  shape = c.Shape();
  shape.dilation = {1, 2, 1};
  EXPECT_FALSE(WinogradBlocks::Suits(shape));
  shape = c.Shape();
  shape.stride = {2, 1, 1};
  EXPECT_FALSE(WinogradBlocks::Suits(shape));
  shape = c.Shape();
  shape.filter = {3, 5, 1};
  EXPECT_FALSE(WinogradBlocks::Suits(shape));
  shape = c.Shape();
  shape.batch = 0;
  EXPECT_FALSE(WinogradBlocks::Suits(shape));
}

// Their products and the factors of the transforms make every sum exact.
TEST(WinogradTest, SmallIntegersAreExact) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.ToString());
    const std::vector<float> x = SmallIntegers(c.input_size(), 1);
    const std::vector<float> w = SmallIntegers(c.filter_size(), 2);
    EXPECT_EQ(Convolution(c).Run(x, w), Reference(c, x, w));
  }
}

// The bound of the errors (winograd_blocks.h) is 64 c (c + 10) units; roundings mostly cancel out.
TEST(WinogradTest, FractionsAreCloseToSumsInDouble) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.ToString());
    const std::vector<float> x = Fractions(c.input_size(), 1);
    const std::vector<float> w = Fractions(c.filter_size(), 2);
    const double most = 9 * static_cast<double>(c.in) * std::numeric_limits<float>::epsilon();
    EXPECT_TRUE(IsNear(Convolution(c).Run(x, w), Reference(c, x, w), 0, most));
  }
}

// It is a convolution of the same kind where the padding does not exceed the windows. Otherwise the
// library computes it, whose bits may depend on the threads.
TEST(WinogradTest, TheInputsGradient) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.ToString());
    const std::vector<float> whole = SmallIntegers(c.output_size(), 13);
    const std::vector<float> whole_filter = SmallIntegers(c.filter_size(), 14);
    const std::vector<float> dy = Fractions(c.output_size(), 15);
    const std::vector<float> w = Fractions(c.filter_size(), 16);
    EXPECT_EQ(Convolution(c).RunGradient(whole, whole_filter),
              ReferenceGradient(c, whole, whole_filter));
    Case turned = {c.batch, c.rows(), c.columns(), c.out, c.in};
    for (size_t i = 0; i < c.pads.size(); ++i) turned.pads[i] = 2 - c.pads[i];
    if (*std::min_element(turned.pads.begin(), turned.pads.end()) < 0) continue;
    EXPECT_TRUE(WinogradBlocks::Suits(turned.Shape()));
    const std::vector<float> kept = Convolution(c).ConstantFilter(true).RunGradient(dy, w);
    const double most = 9 * static_cast<double>(c.out) * std::numeric_limits<float>::epsilon();
    EXPECT_TRUE(IsNear(kept, ReferenceGradient(c, dy, w), 0, most));
    EXPECT_EQ(Convolution(c).ConstantFilter(false).RunGradient(dy, w), kept);
  }
}

// KernelTester::Run executes several times, in plans and not, and compares the bits.
TEST(WinogradTest, AFilterMayBeAConstant) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.ToString());
    const std::vector<float> x = Fractions(c.input_size(), 3);
    const std::vector<float> w = Fractions(c.filter_size(), 4);
    const std::vector<float> kept = Convolution(c).ConstantFilter(true).Run(x, w);
    EXPECT_EQ(Convolution(c).ConstantFilter(false).Run(x, w), kept);
  }
}

// A plan is for one set of feed shapes; another batch, or images of another size, have the same
// weights.
TEST(WinogradTest, PlansOfOneFilterKeepOneTransformedCopy) {
  const Case c = {1, 14, 14, 40, 70};
  const std::vector<float> w = Fractions(c.filter_size(), 17);
  const std::vector<float> equal(w.begin(), w.end());  // elsewhere in memory
  std::vector<float> other = w;
  other.back() = 2;
  ConvWinograd plan(c.Shape(), 1);
  ConvWinograd of_batch(Case{5, 14, 14, 40, 70}.Shape(), 4);
  ConvWinograd of_size(Case{1, 9, 20, 40, 70}.Shape(), 2);
  ConvWinograd of_other(c.Shape(), 1);
  EXPECT_EQ(plan.kept(), nullptr);
  plan.KeepFilter(w.data());
  of_batch.KeepFilter(equal.data());
  of_size.KeepFilter(w.data());
  of_other.KeepFilter(other.data());
  ASSERT_NE(plan.kept(), nullptr);
  EXPECT_EQ(of_batch.kept(), plan.kept());
  EXPECT_EQ(of_size.kept(), plan.kept());
  EXPECT_NE(of_other.kept(), plan.kept());
}

TEST(WinogradTest, WhatFollowsHasTheBitsOfSeparateOps) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.ToString());
    const std::vector<float> x = Fractions(c.input_size(), 5);
    const std::vector<float> w = Fractions(c.filter_size(), 6);
    const std::vector<float> bias = Fractions(c.out, 7);
    const std::vector<float> added = Fractions(c.output_size(), 8);
    const std::vector<float> sums = Convolution(c).Run(x, w);
    std::vector<float> biased = sums;
    std::vector<float> limited = sums;
    for (size_t i = 0; i < sums.size(); ++i) {
      biased[i] += bias[i % bias.size()];
      limited[i] = std::min(std::max(biased[i] + added[i], 0.0f), 6.0f);
    }
    for (const bool is_constant : {false, true}) {
      const Convolution convolution = Convolution(c).ConstantFilter(is_constant);
      EXPECT_EQ(convolution.RunFused(x, w, {"BiasAdd"}, bias, {}), biased);
      EXPECT_EQ(convolution.RunFused(x, w, {"BiasAdd", "Add", "Relu6"}, bias, added), limited);
    }
  }
}

// So many pieces that the work is done in several turns, and too few for all threads.
TEST(WinogradTest, TheBitsDoNotDependOnThreads) {
  for (const Case& c : {Case{16, 28, 28, 128, 96}, Case{1, 7, 7, 64, 300}, Case{1, 14, 14, 32, 32},
                        Case{1, 14, 14, 33, 97}}) {
    SCOPED_TRACE(c.ToString());
    const std::vector<float> x = Fractions(c.input_size(), 9);
    const std::vector<float> w = Fractions(c.filter_size(), 10);
    const std::vector<float> expected = Convolution(c).Threads(2).Run(x, w);
    EXPECT_EQ(Convolution(c).Threads(1).Run(x, w), expected);
    EXPECT_EQ(Convolution(c).Threads(5).ConstantFilter(false).Run(x, w), expected);
    const double most = 9 * static_cast<double>(c.in) * std::numeric_limits<float>::epsilon();
    const int64_t last = c.batch * c.rows() * c.columns() - 1;
    const std::vector<double> sums = SumsOf(c, x, w, last);
    for (int64_t o = 0; o < c.out; ++o) {
      ASSERT_NEAR(expected[last * c.out + o], sums[o], most);
    }
  }
}

// A NaN reaches the windows that have it, and at most one pixel more.
TEST(WinogradTest, APixelThatIsNotFinite) {
  const Case c = {1, 15, 16, 32, 32};
  const std::vector<float> w = Fractions(c.filter_size(), 11);
  std::vector<float> x = Fractions(c.input_size(), 12);
  const std::vector<float> finite = Convolution(c).Run(x, w);
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const int64_t row : {0, 6, 7, 14}) {
      constexpr int64_t kColumn = 9;
      float& pixel = x[(row * c.width + kColumn) * c.in + 20];
      const float before = pixel;
      pixel = value;
      const std::vector<float> y = Convolution(c).Run(x, w);
      pixel = before;
      for (int64_t i = 0; i < c.output_size(); ++i) {
        const int64_t down = std::abs(i / c.out / c.columns() - row);
        const int64_t across = std::abs(i / c.out % c.columns() - kColumn);
        const int64_t distance = std::max(down, across);
        if (distance <= 1) {
          ASSERT_FALSE(std::isfinite(y[i])) << row << ", output " << i;
        } else if (distance > 2) {
          ASSERT_EQ(y[i], finite[i]) << row << ", output " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace millstream::kernels
