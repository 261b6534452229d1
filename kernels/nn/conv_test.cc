#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

// One problem, with the padding already known: the tests do not lean on the kernels' own geometry.
struct Case {
  int64_t batch = 1;
  std::vector<int64_t> image = {5, 6};
  int64_t in = 2;
  std::vector<int64_t> window = {3, 3};
  int64_t out = 3;
  std::string padding = "VALID";
  std::vector<int64_t> stride = {1, 1};
  std::vector<int64_t> dilation = {1, 1};
  std::vector<int64_t> pads = {0, 0, 0, 0};  // top, bottom, left, right
  int64_t groups = 1;

  int64_t Positions(int i) const {
    const int64_t extent = (window[i] - 1) * dilation[i] + 1;
    return (image[i] + pads[2 * i] + pads[2 * i + 1] - extent) / stride[i] + 1;
  }
  int64_t InputSize() const { return batch * image[0] * image[1] * in; }
  int64_t FilterSize() const { return window[0] * window[1] * (in / groups) * out; }
  int64_t OutputSize() const { return batch * Positions(0) * Positions(1) * out; }
  std::string ToString() const {
    return ms::StrCat("batch ", batch, " image ", image[0], "x", image[1], " in ", in, " window ",
                      window[0], "x", window[1], " out ", out, " ", padding, " stride ", stride[0],
                      ",", stride[1], " dilation ", dilation[0], ",", dilation[1], " pads ",
                      pads[0], ",", pads[1], ",", pads[2], ",", pads[3], " groups ", groups);
  }
};

std::vector<double> SmallIntegers(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> distribution(-5, 5);
  std::vector<double> values(count);
  for (double& value : values) value = distribution(generator);
  return values;
}

// Calls fn(input index, filter index, output index) for every product of the convolution (NHWC).
template <typename Fn>
void ForEachProduct(const Case& c, Fn&& fn) {
  const int64_t rows = c.Positions(0);
  const int64_t columns = c.Positions(1);
  const int64_t in = c.in / c.groups;
  const int64_t out = c.out / c.groups;
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t oh = 0; oh < rows; ++oh)
      for (int64_t ow = 0; ow < columns; ++ow)
        for (int64_t kh = 0; kh < c.window[0]; ++kh)
          for (int64_t kw = 0; kw < c.window[1]; ++kw) {
            const int64_t ih = oh * c.stride[0] + kh * c.dilation[0] - c.pads[0];
            const int64_t iw = ow * c.stride[1] + kw * c.dilation[1] - c.pads[2];
            if (ih < 0 || ih >= c.image[0] || iw < 0 || iw >= c.image[1]) continue;
            for (int64_t i = 0; i < in; ++i)
              for (int64_t o = 0; o < c.out; ++o)
                fn(((n * c.image[0] + ih) * c.image[1] + iw) * c.in + o / out * in + i,
                   ((kh * c.window[1] + kw) * in + i) * c.out + o,
                   ((n * rows + oh) * columns + ow) * c.out + o);
          }
}

struct Tensors {
  std::vector<double> input;
  std::vector<double> filter;
  std::vector<double> output;
};

// NHWC to NCHW (dims are given as NHWC), or the same where `first` is false.
template <typename T>
std::vector<T> Arrange(const std::vector<double>& from, int64_t batch, int64_t area,
                       int64_t channels, bool first) {
  std::vector<T> to(from.begin(), from.end());
  if (!first) return to;
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t i = 0; i < area; ++i)
      for (int64_t k = 0; k < channels; ++k)
        to[(n * channels + k) * area + i] = static_cast<T>(from[(n * area + i) * channels + k]);
  return to;
}

template <typename T>
class Checker {
 public:
  Checker(const Case& c, bool channels_first, bool constant_filter = false)
      : case_(c), first_(channels_first), constant_filter_(constant_filter) {}

  void Check(const std::string& op) {
    SCOPED_TRACE(op + " " + case_.ToString() + (first_ ? " NCHW" : " NHWC"));
    const auto x = SmallIntegers(case_.InputSize(), 1);
    const auto w = SmallIntegers(case_.FilterSize(), 2);
    const auto dy = SmallIntegers(case_.OutputSize(), 3);
    KernelTester t(op);
    SetAttributes(&t);
    std::vector<T> expected;
    if (op == "Conv2D") {
      t.Input<T>(InputDims(), Input(x));
      FeedFilter(&t, w);
      std::vector<double> y(case_.OutputSize(), 0);
      ForEachProduct(case_, [&](int64_t i, int64_t f, int64_t o) { y[o] += x[i] * w[f]; });
      expected = Output(y);
    } else if (op == "Conv2DBackpropInput") {
      t.ConstInput<int32_t>({4}, Sizes(InputDims()));
      FeedFilter(&t, w);
      t.Input<T>(OutputDims(), Output(dy));
      std::vector<double> dx(case_.InputSize(), 0);
      ForEachProduct(case_, [&](int64_t i, int64_t f, int64_t o) { dx[i] += dy[o] * w[f]; });
      expected = Input(dx);
    } else {
      t.Input<T>(InputDims(), Input(x)).template ConstInput<int32_t>({4}, Sizes(FilterDims()));
      t.Input<T>(OutputDims(), Output(dy));
      std::vector<double> dw(case_.FilterSize(), 0);
      ForEachProduct(case_, [&](int64_t i, int64_t f, int64_t o) { dw[f] += x[i] * dy[o]; });
      expected = Filter(dw);
    }
    ASSERT_TRUE(IsOk(t.Run()));
    // Integers this small make every sum exact, in any order; narrow floats round it once.
    EXPECT_TRUE(IsNear(t.template Output<T>(0), expected, 0, 0));
  }

 private:
  using Dims = std::vector<int64_t>;

  void SetAttributes(KernelTester* t) const {
    const auto four = [&](const Dims& plane) {
      return first_ ? Dims{1, 1, plane[0], plane[1]} : Dims{1, plane[0], plane[1], 1};
    };
    const Dims& p = case_.pads;
    Dims pads;
    if (case_.padding == "EXPLICIT") {
      pads = first_ ? Dims{0, 0, 0, 0, p[0], p[1], p[2], p[3]}
                    : Dims{0, 0, p[0], p[1], p[2], p[3], 0, 0};
    }
    t->Attr("T", ms::DTypeOf<T>()).Attr("padding", case_.padding);
    t->Attr("data_format", std::string(first_ ? "NCHW" : "NHWC"));
    t->Attr("strides", four(case_.stride)).Attr("dilations", four(case_.dilation));
    t->Attr("explicit_paddings", pads).Outputs({ms::DTypeOf<T>()});
  }
  void FeedFilter(KernelTester* t, const std::vector<double>& filter) const {
    if (constant_filter_) {
      t->ConstInput<T>(FilterDims(), Filter(filter));
    } else {
      t->Input<T>(FilterDims(), Filter(filter));
    }
  }
  Dims Activation(int64_t rows, int64_t columns, int64_t channels) const {
    return first_ ? Dims{case_.batch, channels, rows, columns}
                  : Dims{case_.batch, rows, columns, channels};
  }
  Dims InputDims() const { return Activation(case_.image[0], case_.image[1], case_.in); }
  Dims OutputDims() const { return Activation(case_.Positions(0), case_.Positions(1), case_.out); }
  Dims FilterDims() const {
    return {case_.window[0], case_.window[1], case_.in / case_.groups, case_.out};
  }
  static std::vector<int32_t> Sizes(const Dims& dims) { return {dims.begin(), dims.end()}; }
  std::vector<T> Input(const std::vector<double>& values) const {
    return Arrange<T>(values, case_.batch, case_.image[0] * case_.image[1], case_.in, first_);
  }
  std::vector<T> Output(const std::vector<double>& values) const {
    return Arrange<T>(values, case_.batch, case_.Positions(0) * case_.Positions(1), case_.out,
                      first_);
  }
  static std::vector<T> Filter(const std::vector<double>& values) {
    return {values.begin(), values.end()};
  }

  Case case_;
  bool first_;
  bool constant_filter_;
};

template <typename T>
void CheckAll(const Case& c) {
  for (const bool channels_first : {false, true}) {
    Checker<T> checker(c, channels_first);
    checker.Check("Conv2D");
    checker.Check("Conv2DBackpropInput");
    checker.Check("Conv2DBackpropFilter");
  }
}

template <typename T>
class ConvTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(ConvTest, Types);

Case Make(const std::string& padding, std::vector<int64_t> pads = {0, 0, 0, 0}) {
  Case c;
  c.padding = padding;
  c.pads = std::move(pads);
  return c;
}

TYPED_TEST(ConvTest, SamePaddingPutsTheOddElementAfter) {
  CheckAll<TypeParam>(Make("SAME", {1, 1, 1, 1}));
  Case even = Make("SAME", {0, 1, 0, 1});
  even.window = {2, 2};
  CheckAll<TypeParam>(even);
  Case strided = Make("SAME", {1, 1, 0, 1});
  strided.stride = {2, 2};
  CheckAll<TypeParam>(strided);
}

TYPED_TEST(ConvTest, ValidPaddingLeavesTheRest) {
  Case c = Make("VALID");
  c.stride = {2, 3};
  CheckAll<TypeParam>(c);
}

TYPED_TEST(ConvTest, ExplicitPaddingOnEachSide) {
  CheckAll<TypeParam>(Make("EXPLICIT", {1, 2, 0, 3}));
  Case c = Make("EXPLICIT", {2, 1, 1, 0});
  c.stride = {2, 2};
  CheckAll<TypeParam>(c);
}

TYPED_TEST(ConvTest, Dilations) {
  Case c = Make("SAME", {2, 2, 1, 1});
  c.dilation = {2, 1};
  c.image = {7, 7};
  CheckAll<TypeParam>(c);
}

TYPED_TEST(ConvTest, StrideOverWindowSkipsElements) {
  Case c = Make("VALID");
  c.window = {2, 2};
  c.stride = {3, 3};
  CheckAll<TypeParam>(c);
}

TYPED_TEST(ConvTest, WindowLargerThanTheImage) {
  Case c = Make("SAME", {2, 2, 2, 2});
  c.image = {2, 2};
  c.window = {5, 5};
  CheckAll<TypeParam>(c);
}

TYPED_TEST(ConvTest, MatrixProducts) {
  Case one_by_one = Make("SAME");
  one_by_one.window = {1, 1};
  one_by_one.batch = 3;
  CheckAll<TypeParam>(one_by_one);
  Case strided = one_by_one;
  strided.stride = {2, 2};
  CheckAll<TypeParam>(strided);
  Case whole_image = Make("VALID");
  whole_image.window = whole_image.image;
  whole_image.batch = 4;
  CheckAll<TypeParam>(whole_image);
}

TYPED_TEST(ConvTest, Groups) {
  Case c = Make("SAME", {1, 1, 1, 1});
  c.in = 6;
  c.out = 9;
  c.groups = 3;
  CheckAll<TypeParam>(c);
}

TYPED_TEST(ConvTest, ManyChannels) {
  Case c = Make("SAME", {1, 1, 1, 1});
  c.in = 40;
  c.out = 70;
  c.batch = 5;
  CheckAll<TypeParam>(c);
}

TYPED_TEST(ConvTest, FilterThatIsTheSameInEveryStep) {
  Case c = Make("SAME", {1, 1, 1, 1});
  c.in = 17;
  c.out = 18;
  for (const int64_t size : {3, 1}) {
    c.window = {size, size};
    c.pads = std::vector<int64_t>(4, size / 2);
    for (const char* op : {"Conv2D", "Conv2DBackpropInput"}) {
      Checker<TypeParam>(c, /*channels_first=*/false, /*constant_filter=*/true).Check(op);
    }
  }
}

// Around the sizes of the tiles and blocks that products of strips are cut into.
TYPED_TEST(ConvTest, SizesOfTiles) {
  std::mt19937 generator(11);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator);
  };
  for (const int64_t out : {8, 9, 15, 16, 17, 24, 31, 32, 40, 50}) {
    Case c = Make("EXPLICIT");
    c.batch = pick(1, 3);
    c.image = {pick(4, 12), pick(4, 12)};
    c.window = {pick(1, 3), pick(1, 3)};
    c.stride = {pick(1, 2), pick(1, 2)};
    c.dilation = {pick(1, 2), pick(1, 2)};
    c.in = pick(1, 20);
    c.out = out;
    c.pads = {pick(0, 2), pick(0, 2), pick(0, 2), pick(0, 2)};
    if (c.image[0] + c.pads[0] + c.pads[1] <= (c.window[0] - 1) * c.dilation[0]) continue;
    if (c.image[1] + c.pads[2] + c.pads[3] <= (c.window[1] - 1) * c.dilation[1]) continue;
    for (const bool is_constant : {false, true}) {
      Checker<TypeParam>(c, /*channels_first=*/false, is_constant).Check("Conv2D");
    }
  }
}

// More rows than a block has, whether windows need padding or not.
TYPED_TEST(ConvTest, ManyPixels) {
  for (const int64_t window : {1, 3}) {
    Case c = Make("SAME", std::vector<int64_t>(4, window / 2));
    c.batch = 2;
    c.image = {19, 23};
    c.window = {window, window};
    c.in = 3;
    c.out = 20;
    CheckAll<TypeParam>(c);
  }
}

TYPED_TEST(ConvTest, EmptyBatch) {
  Case c = Make("SAME", {1, 1, 1, 1});
  c.batch = 0;
  CheckAll<TypeParam>(c);
}

TYPED_TEST(ConvTest, RandomProblems) {
  std::mt19937 generator(7);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator);
  };
  for (int i = 0; i < 40; ++i) {
    Case c = Make("EXPLICIT");
    c.batch = pick(1, 4);
    c.window = {pick(1, 4), pick(1, 4)};
    c.image = {pick(1, 9), pick(1, 9)};
    c.stride = {pick(1, 3), pick(1, 3)};
    c.dilation = {pick(1, 2), pick(1, 2)};
    c.groups = pick(1, 4) == 1 ? 2 : 1;
    c.in = c.groups * pick(1, 17);
    c.out = c.groups * pick(1, 17);
    c.pads = {pick(0, 2), pick(0, 2), pick(0, 2), pick(0, 2)};
    if (c.image[0] + c.pads[0] + c.pads[1] <= (c.window[0] - 1) * c.dilation[0]) continue;
    if (c.image[1] + c.pads[2] + c.pads[3] <= (c.window[1] - 1) * c.dilation[1]) continue;
    CheckAll<TypeParam>(c);
  }
}

// A Conv2D of zeros with one attribute or shape changed by `change`.
template <typename Change>
ms::Status RunChanged(Change&& change) {
  KernelTester t("Conv2D");
  t.Attr("T", MS_FLOAT32).Attr("padding", std::string("SAME"));
  t.Attr("data_format", std::string("NHWC"));
  t.Attr("strides", std::vector<int64_t>{1, 1, 1, 1});
  t.Attr("dilations", std::vector<int64_t>{1, 1, 1, 1});
  t.Attr("explicit_paddings", std::vector<int64_t>{});
  t.Input<float>({1, 5, 6, 2}, std::vector<float>(60));
  t.Input<float>({3, 3, 2, 3}, std::vector<float>(54));
  change(t);
  return t.Run();
}

void ExpectRefused(const ms::Status& status, MS_Code code, const std::string& words) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
}

TEST(ConvErrorsTest, ShapesThatDoNotFit) {
  EXPECT_TRUE(IsOk(RunChanged([](KernelTester&) {})));
  ExpectRefused(RunChanged([](KernelTester& t) {
                  t.SetInput<float>(1, {3, 3, 3, 3}, std::vector<float>(81));
                }),
                MS_INVALID_ARGUMENT,
                "input depth must be evenly divisible by filter depth: 2 vs 3");
  ExpectRefused(RunChanged([](KernelTester& t) {
                  t.SetInput<float>(1, {3, 3, 2}, std::vector<float>(18));
                }),
                MS_INVALID_ARGUMENT, "filter must have 4 dimensions, but is [3,3,2]");
  ExpectRefused(RunChanged([](KernelTester& t) {
                  t.Attr("padding", std::string("VALID"));
                  t.SetInput<float>(0, {1, 1, 6, 2}, std::vector<float>(12));
                }),
                MS_INVALID_ARGUMENT, "output size would be negative: the window's height is 3");
}

TEST(ConvErrorsTest, Attributes) {
  using List = std::vector<int64_t>;
  const auto with = [](const char* name, List list) {
    return RunChanged([&](KernelTester& t) { t.Attr(name, list); });
  };
  ExpectRefused(with("strides", {1, 1, 1}), MS_INVALID_ARGUMENT, "strides must have 4 entries");
  ExpectRefused(with("strides", {2, 1, 1, 1}), MS_UNIMPLEMENTED, "strides must be 1 for the batch");
  ExpectRefused(with("strides", {1, 0, 1, 1}), MS_INVALID_ARGUMENT, "strides has the entry 0");
  ExpectRefused(with("dilations", {1, 1, 1, 2}), MS_UNIMPLEMENTED,
                "dilations must be 1 for the ch");
  ExpectRefused(with("dilations", {1, 0, 1, 1}), MS_INVALID_ARGUMENT, "dilations has the entry 0");
  const auto padded = [](List list) {
    return RunChanged([&](KernelTester& t) {
      t.Attr("padding", std::string("EXPLICIT")).Attr("explicit_paddings", list);
    });
  };
  ExpectRefused(padded({}), MS_INVALID_ARGUMENT, "explicit_paddings must have 8 entries");
  ExpectRefused(padded({1, 0, 1, 1, 1, 1, 0, 0}), MS_INVALID_ARGUMENT,
                "explicit_paddings must be 0 for batch and channels");
  ExpectRefused(padded({0, 0, -1, 1, 1, 1, 0, 0}), MS_INVALID_ARGUMENT,
                "explicit_paddings has the entry -1");
  ExpectRefused(RunChanged([](KernelTester& t) { t.Attr("padding", std::string("FULL")); }),
                MS_INVALID_ARGUMENT, "padding must be SAME, VALID or EXPLICIT, not FULL");
}

// The gradient ops on zeros; `sizes` is the value of input_sizes or filter_sizes.
ms::Status RunGradient(bool of_input, const std::vector<int32_t>& sizes,
                       const std::vector<int64_t>& gradient) {
  int64_t count = 1;
  for (int64_t dim : gradient) count *= dim;
  KernelTester t(of_input ? "Conv2DBackpropInput" : "Conv2DBackpropFilter");
  t.Attr("T", MS_FLOAT32).Attr("padding", std::string("SAME"));
  t.Attr("data_format", std::string("NHWC")).Outputs({MS_FLOAT32});
  t.Attr("strides", std::vector<int64_t>{1, 1, 1, 1});
  t.Attr("dilations", std::vector<int64_t>{1, 1, 1, 1});
  if (!of_input) t.Input<float>({1, 5, 6, 2}, std::vector<float>(60));
  t.ConstInput<int32_t>({static_cast<int64_t>(sizes.size())}, sizes);
  if (of_input) t.Input<float>({3, 3, 2, 3}, std::vector<float>(54));
  t.Input<float>(gradient, std::vector<float>(count));
  return t.Run();
}

TEST(ConvErrorsTest, Gradients) {
  EXPECT_TRUE(IsOk(RunGradient(true, {1, 5, 6, 2}, {1, 5, 6, 3})));
  ExpectRefused(RunGradient(true, {1, 5, 6, 2}, {1, 5, 6, 4}), MS_INVALID_ARGUMENT,
                "out_backprop must be [1,5,6,3]");
  ExpectRefused(RunGradient(true, {1, 5, 6, 2}, {1, 4, 6, 3}), MS_INVALID_ARGUMENT,
                "but is [1,4,6,3]");
  ExpectRefused(RunGradient(true, {1, 5, 6}, {1, 5, 6, 3}), MS_INVALID_ARGUMENT,
                "input_sizes must be a vector of 4 sizes");
  ExpectRefused(RunGradient(true, {1, -5, 6, 2}, {1, 5, 6, 3}), MS_INVALID_ARGUMENT,
                "input_sizes has a negative size");
  EXPECT_TRUE(IsOk(RunGradient(false, {3, 3, 2, 3}, {1, 5, 6, 3})));
  ExpectRefused(RunGradient(false, {3, 3, 4, 3}, {1, 5, 6, 3}), MS_INVALID_ARGUMENT,
                "filter_sizes [3,3,4,3]");
  constexpr int32_t kLargest = std::numeric_limits<int32_t>::max();
  for (const std::vector<int32_t>& sizes :
       {std::vector<int32_t>{kLargest, 1, 2, 3}, {1, kLargest, 2, 3}, {kLargest, kLargest, 2, 3}}) {
    ExpectRefused(RunGradient(false, sizes, {1, 5, 6, 3}), MS_INVALID_ARGUMENT,
                  "has more than 2147483647 elements");
  }
}

}  // namespace
}  // namespace millstream::kernels
