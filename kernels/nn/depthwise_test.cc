#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

using Dims = std::vector<int64_t>;

// One problem, with the padding already known: the tests do not lean on the kernels' own geometry.
struct Case {
  int64_t batch = 1;
  Dims image = {5, 6};
  int64_t channels = 2;
  Dims window = {3, 3};
  int64_t multiplier = 1;
  std::string padding = "VALID";
  int64_t stride = 1;
  Dims dilation = {1, 1};
  Dims before = {0, 0};
  Dims after = {0, 0};

  int64_t Positions(int i) const {
    const int64_t extent = (window[i] - 1) * dilation[i] + 1;
    return (image[i] + before[i] + after[i] - extent) / stride + 1;
  }
  int64_t outputs() const { return channels * multiplier; }
};

// Integers this small make every sum exact, in any order; narrow floats round it once.
std::vector<double> SmallIntegers(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> distribution(-5, 5);
  std::vector<double> values(count);
  for (double& value : values) value = distribution(generator);
  return values;
}

// Calls fn(input index, filter index, output index) for every product (NHWC).
template <typename Fn>
void ForEachProduct(const Case& c, Fn&& fn) {
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t oh = 0; oh < c.Positions(0); ++oh)
      for (int64_t ow = 0; ow < c.Positions(1); ++ow)
        for (int64_t kh = 0; kh < c.window[0]; ++kh)
          for (int64_t kw = 0; kw < c.window[1]; ++kw) {
            const int64_t ih = oh * c.stride + kh * c.dilation[0] - c.before[0];
            const int64_t iw = ow * c.stride + kw * c.dilation[1] - c.before[1];
            if (ih < 0 || ih >= c.image[0] || iw < 0 || iw >= c.image[1]) continue;
            for (int64_t o = 0; o < c.outputs(); ++o)
              fn(((n * c.image[0] + ih) * c.image[1] + iw) * c.channels + o / c.multiplier,
                 (kh * c.window[1] + kw) * c.outputs() + o,
                 ((n * c.Positions(0) + oh) * c.Positions(1) + ow) * c.outputs() + o);
          }
}

template <typename T>
class Checker {
 public:
  Checker(const Case& c, bool channels_first) : case_(c), first_(channels_first) {}

  void CheckAll() {
    const Dims input = Activation(case_.image[0], case_.image[1], case_.channels);
    const Dims output = Activation(case_.Positions(0), case_.Positions(1), case_.outputs());
    const Dims filter = {case_.window[0], case_.window[1], case_.channels, case_.multiplier};
    const auto x = SmallIntegers(Count(input), 1);
    const auto w = SmallIntegers(Count(filter), 2);
    const auto dy = SmallIntegers(Count(output), 3);
    std::vector<double> y(dy.size()), dx(x.size()), dw(w.size());
    ForEachProduct(case_, [&](int64_t i, int64_t f, int64_t o) {
      y[o] += x[i] * w[f];
      dx[i] += dy[o] * w[f];
      dw[f] += x[i] * dy[o];
    });
    const auto laid = [&](const std::vector<double>& values, const Dims& dims) {
      return Laid(values, dims);
    };
    const std::vector<T> filters(w.begin(), w.end());

    KernelTester forward("DepthwiseConv2dNative");
    forward.Input<T>(input, laid(x, input)).template Input<T>(filter, filters);
    Expect(&forward, laid(y, output));
    KernelTester of_input("DepthwiseConv2dNativeBackpropInput");
    of_input.ConstInput<int32_t>({4}, {input.begin(), input.end()});
    of_input.Input<T>(filter, filters).template Input<T>(output, laid(dy, output));
    Expect(&of_input, laid(dx, input));
    KernelTester of_filter("DepthwiseConv2dNativeBackpropFilter");
    of_filter.Input<T>(input, laid(x, input));
    of_filter.ConstInput<int32_t>({4}, {filter.begin(), filter.end()});
    of_filter.Input<T>(output, laid(dy, output));
    Expect(&of_filter, {dw.begin(), dw.end()});
  }

 private:
  static int64_t Count(const Dims& dims) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    return count;
  }
  Dims Activation(int64_t rows, int64_t columns, int64_t channels) const {
    return first_ ? Dims{case_.batch, channels, rows, columns}
                  : Dims{case_.batch, rows, columns, channels};
  }
  // Values of the order NHWC as an activation of these dimensions.
  std::vector<T> Laid(const std::vector<double>& values, const Dims& dims) const {
    std::vector<T> to(values.begin(), values.end());
    if (!first_) return to;
    const int64_t area = dims[2] * dims[3];
    for (int64_t n = 0; n < dims[0]; ++n)
      for (int64_t i = 0; i < area; ++i)
        for (int64_t k = 0; k < dims[1]; ++k)
          to[(n * dims[1] + k) * area + i] = static_cast<T>(values[(n * area + i) * dims[1] + k]);
    return to;
  }
  void Expect(KernelTester* t, const std::vector<T>& expected) const {
    const auto four = [&](int64_t height, int64_t width) {
      return first_ ? Dims{1, 1, height, width} : Dims{1, height, width, 1};
    };
    t->Attr("T", ms::DTypeOf<T>()).Attr("padding", case_.padding);
    t->Attr("data_format", std::string(first_ ? "NCHW" : "NHWC"));
    t->Attr("strides", four(case_.stride, case_.stride));
    t->Attr("dilations", four(case_.dilation[0], case_.dilation[1])).Outputs({ms::DTypeOf<T>()});
    ASSERT_TRUE(IsOk(t->Run()));
    EXPECT_TRUE(IsNear(t->template Output<T>(0), expected, 0, 0));
  }

  Case case_;
  bool first_;
};

template <typename T>
void CheckBothOrders(const Case& c) {
  for (const bool channels_first : {false, true}) {
    SCOPED_TRACE(ms::StrCat(c.batch, "x", c.image[0], "x", c.image[1], "x", c.channels, " window ",
                            c.window[0], "x", c.window[1], " multiplier ", c.multiplier, " ",
                            c.padding, " stride ", c.stride, channels_first ? " NCHW" : " NHWC"));
    Checker<T>(c, channels_first).CheckAll();
  }
}

template <typename T>
class DepthwiseTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(DepthwiseTest, Types);

// Channels that fill no vector, one, several, and some with a rest.
TYPED_TEST(DepthwiseTest, AnyNumberOfChannels) {
  for (const int64_t channels : {1, 2, 3, 5, 8, 16, 19, 33, 70, 147}) {
    Case c;
    c.padding = "SAME";
    c.before = c.after = {1, 1};
    c.channels = channels;
    c.batch = 2;
    CheckBothOrders<TypeParam>(c);
  }
}

TYPED_TEST(DepthwiseTest, SeveralFiltersAChannel) {
  for (const int64_t multiplier : {2, 3, 7}) {
    Case c;
    c.channels = 3;
    c.multiplier = multiplier;
    c.batch = 2;
    CheckBothOrders<TypeParam>(c);
    c.channels = 1;
    CheckBothOrders<TypeParam>(c);
  }
}

TYPED_TEST(DepthwiseTest, WindowLargerThanTheImage) {
  Case c;
  c.padding = "SAME";
  c.image = {2, 3};
  c.window = {5, 4};
  c.before = {2, 1};
  c.after = {2, 2};
  CheckBothOrders<TypeParam>(c);
}

TYPED_TEST(DepthwiseTest, StridesAndDilations) {
  for (const int64_t stride : {1, 2, 3, 4}) {
    for (const int64_t dilation : {1, 2, 3}) {
      Case c;
      c.image = {13, 11};
      c.stride = stride;
      c.dilation = {dilation, 1};
      c.window = {3, 2};
      c.channels = 5;
      CheckBothOrders<TypeParam>(c);
    }
  }
}

// Rows of several pixels whose windows lie inside the image, with enough channels for a vector.
TYPED_TEST(DepthwiseTest, WindowsThreeWide) {
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t height : {1, 2, 3, 4}) {
      Case c;
      c.image = {9, 19};
      c.window = {height, 3};
      c.stride = stride;
      c.channels = 35;
      CheckBothOrders<TypeParam>(c);
    }
  }
}

TYPED_TEST(DepthwiseTest, EmptyBatch) {
  Case c;
  c.batch = 0;
  CheckBothOrders<TypeParam>(c);
}

// Rows enough that the filter's gradient is summed in several pieces and rounds.
TEST(DepthwiseThreadsTest, TheFiltersGradientIsTheSameForAnyNumberOfThreads) {
  const Dims input = {40, 16, 33, 64};
  const Dims output = {40, 14, 31, 64};
  const auto x = SmallIntegers(40 * 16 * 33 * 64, 1);
  const auto dy = SmallIntegers(40 * 14 * 31 * 64, 2);
  std::vector<float> third(x.begin(), x.end());
  for (float& value : third) value /= 3;
  std::vector<std::vector<float>> found;
  for (const int threads : {1, 2, 3}) {
    KernelTester t("DepthwiseConv2dNativeBackpropFilter");
    t.Input<float>(input, third).ConstInput<int32_t>({4}, {3, 3, 64, 1});
    t.Input<float>(output, {dy.begin(), dy.end()}).Threads(threads);
    t.Attr("T", MS_FLOAT32).Attr("padding", std::string("VALID"));
    t.Attr("data_format", std::string("NHWC")).Attr("strides", Dims{1, 1, 1, 1});
    t.Attr("dilations", Dims{1, 1, 1, 1}).Outputs({MS_FLOAT32});
    ASSERT_TRUE(IsOk(t.Run()));
    found.push_back(t.Output<float>(0));
  }
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
}

// Values that no sum is exact for.
std::vector<float> Thirds(int64_t count, uint32_t seed) {
  const std::vector<double> integers = SmallIntegers(count, seed);
  std::vector<float> values(integers.begin(), integers.end());
  for (float& value : values) value /= 3;
  return values;
}

void SetAttrs(int64_t stride, KernelTester* t) {
  t->Attr("T", MS_FLOAT32).Attr("padding", std::string("SAME"));
  t->Attr("data_format", std::string("NHWC")).Attr("strides", Dims{1, stride, stride, 1});
  t->Attr("dilations", Dims{1, 1, 1, 1}).Outputs({MS_FLOAT32});
}

// A window of 3 x 3 over images of 6 x 13, and what follows it, as one kernel: the bits are those
// of the parts.
void CheckFused(int64_t channels, int64_t multiplier, int64_t stride) {
  SCOPED_TRACE(ms::StrCat(channels, " channels, multiplier ", multiplier, ", stride ", stride));
  const int64_t out = channels * multiplier;
  const Dims image = {2, 6, 13, channels};
  const Dims filter = {3, 3, channels, multiplier};
  const Dims output = {2, (6 + stride - 1) / stride, (13 + stride - 1) / stride, out};
  const std::vector<float> x = Thirds(2 * 6 * 13 * channels, 1);
  const std::vector<float> w = Thirds(9 * out, 2);
  const std::vector<float> bias = Thirds(out, 3);
  const std::vector<float> added = Thirds(output[0] * output[1] * output[2] * out, 4);
  KernelTester plain("DepthwiseConv2dNative");
  SetAttrs(stride, &plain);
  plain.Input<float>(image, x).Input<float>(filter, w);
  ASSERT_TRUE(IsOk(plain.Run()));
  std::vector<float> biased = plain.Output<float>(0);
  std::vector<float> limited = biased;
  for (size_t i = 0; i < biased.size(); ++i) {
    biased[i] += bias[i % out];
    limited[i] = std::min(std::max(biased[i] + added[i], 0.0f), 6.0f);
  }
  KernelTester with_bias("_FusedDepthwiseConv2dNative");
  SetAttrs(stride, &with_bias);
  with_bias.Attr("fused_ops", std::vector<std::string>{"BiasAdd"});
  with_bias.Input<float>(image, x).Input<float>(filter, w).Input<float>({out}, bias);
  ASSERT_TRUE(IsOk(with_bias.Run()));
  EXPECT_EQ(with_bias.Output<float>(0), biased);
  KernelTester with_all("_FusedDepthwiseConv2dNative");
  SetAttrs(stride, &with_all);
  with_all.Attr("fused_ops", std::vector<std::string>{"BiasAdd", "Add", "Relu6"});
  with_all.Input<float>(image, x).Input<float>(filter, w).Input<float>({out}, bias);
  with_all.Input<float>(output, added);
  ASSERT_TRUE(IsOk(with_all.Run()));
  EXPECT_EQ(with_all.Output<float>(0), limited);
}

// Channels that fill no vector, one, several, and some with a rest.
TEST(FusedDepthwiseTest, HasTheBitsOfItsParts) {
  for (const int64_t channels : {1, 3, 5, 16, 19, 70, 147}) {
    for (const int64_t stride : {1, 2}) CheckFused(channels, 1, stride);
  }
  CheckFused(5, 4, 1);
}

TEST(FusedDepthwiseTest, NotANumberStays) {
  KernelTester t("_FusedDepthwiseConv2dNative");
  SetAttrs(1, &t);
  t.Attr("fused_ops", std::vector<std::string>{"BiasAdd", "Relu6"});
  t.Input<float>({1, 1, 1, 3}, {std::numeric_limits<float>::quiet_NaN(), -4, 9});
  t.Input<float>({1, 1, 3, 1}, {1, 1, 1}).Input<float>({3}, {0, 0, 0});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_TRUE(std::isnan(t.Output<float>(0)[0]));
  EXPECT_EQ(t.Output<float>(0)[1], 0.0f);
  EXPECT_EQ(t.Output<float>(0)[2], 6.0f);
}

TEST(DepthwiseErrorsTest, ChannelsMustBeThoseOfTheFilter) {
  KernelTester t("DepthwiseConv2dNative");
  t.Input<float>({1, 4, 4, 2}, std::vector<float>(32));
  t.Input<float>({3, 3, 3, 1}, std::vector<float>(27));
  t.Attr("T", MS_FLOAT32).Attr("padding", std::string("SAME"));
  t.Attr("data_format", std::string("NHWC")).Attr("strides", Dims{1, 1, 1, 1});
  t.Attr("dilations", Dims{1, 1, 1, 1}).Outputs({MS_FLOAT32});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("must have the same number of channels"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace millstream::kernels
