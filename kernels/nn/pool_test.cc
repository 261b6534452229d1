#include <gtest/gtest.h>

#include <algorithm>
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
using Dims = std::vector<int64_t>;

// One NHWC problem with the padding before the first element already known.
struct Case {
  Dims input = {1, 5, 6, 3};
  Dims ksize = {2, 2};
  Dims stride = {2, 2};
  std::string padding = "VALID";
  Dims before = {0, 0};
  Dims output = {1, 2, 3, 3};

  int64_t InputSize() const { return input[0] * input[1] * input[2] * input[3]; }
  int64_t OutputSize() const { return output[0] * output[1] * output[2] * output[3]; }
  std::string ToString() const {
    return ms::StrCat("input ", input[0], ",", input[1], ",", input[2], ",", input[3], " ksize ",
                      ksize[0], ",", ksize[1], " stride ", stride[0], ",", stride[1], " ", padding);
  }
};

// Input offsets that each output element sees, in row-major order.
std::vector<std::vector<int64_t>> Windows(const Case& c) {
  std::vector<std::vector<int64_t>> windows(c.OutputSize());
  const int64_t channels = c.input[3];
  for (int64_t at = 0; at < c.OutputSize(); ++at) {
    const int64_t pixel = at / channels;
    const int64_t ow = pixel % c.output[2];
    const int64_t oh = pixel / c.output[2] % c.output[1];
    const int64_t n = pixel / c.output[2] / c.output[1];
    for (int64_t kh = 0; kh < c.ksize[0]; ++kh) {
      for (int64_t kw = 0; kw < c.ksize[1]; ++kw) {
        const int64_t h = oh * c.stride[0] + kh - c.before[0];
        const int64_t w = ow * c.stride[1] + kw - c.before[1];
        if (h < 0 || h >= c.input[1] || w < 0 || w >= c.input[2]) continue;
        windows[at].push_back(((n * c.input[1] + h) * c.input[2] + w) * channels + at % channels);
      }
    }
  }
  return windows;
}

// Narrow floats may be one unit in the last place off, where the mean in the test rounds otherwise.
template <typename T>
constexpr double kTolerance = 1e-6;
template <>
constexpr double kTolerance<Float16> = 0x1p-10;
template <>
constexpr double kTolerance<BFloat16> = 0x1p-7;

template <typename T>
std::vector<T> FewValues(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> distribution(0, 7);  // so that ties are common
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(distribution(generator));
  return values;
}

// NHWC to NCHW.
Dims Permute(const Dims& dims) { return {dims[0], dims[3], dims[1], dims[2]}; }
template <typename T>
std::vector<T> Permute(const Dims& dims, const std::vector<T>& from) {
  std::vector<T> to(from.size());
  const int64_t area = dims[1] * dims[2];
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t i = 0; i < area; ++i)
      for (int64_t c = 0; c < dims[3]; ++c)
        to[(n * dims[3] + c) * area + i] = from[(n * area + i) * dims[3] + c];
  return to;
}

// Runs `op` on NHWC tensors as they are, or permuted to NCHW. `sizes` goes in first when not empty.
template <typename T>
void Check(const std::string& op, const Case& c, bool channels_first, const Dims& sizes,
           const std::vector<std::pair<Dims, std::vector<T>>>& inputs, const Dims& result_dims,
           const std::vector<T>& expected) {
  SCOPED_TRACE(op + " " + c.ToString() + (channels_first ? " NCHW" : " NHWC"));
  const auto four = [&](const Dims& plane) {
    return channels_first ? Dims{1, 1, plane[0], plane[1]} : Dims{1, plane[0], plane[1], 1};
  };
  KernelTester t(op);
  t.Attr("T", ms::DTypeOf<T>()).Attr("padding", c.padding).Outputs({ms::DTypeOf<T>()});
  t.Attr("data_format", std::string(channels_first ? "NCHW" : "NHWC"));
  t.Attr("ksize", four(c.ksize)).Attr("strides", four(c.stride));
  if (!sizes.empty()) {
    const Dims arranged = channels_first ? Permute(sizes) : sizes;
    t.ConstInput<int32_t>({4}, std::vector<int32_t>(arranged.begin(), arranged.end()));
  }
  for (const auto& [dims, values] : inputs) {
    t.Input<T>(channels_first ? Permute(dims) : dims,
               channels_first ? Permute(dims, values) : values);
  }
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), channels_first ? Permute(result_dims) : result_dims);
  EXPECT_TRUE(IsNear(t.template Output<T>(0),
                     channels_first ? Permute(result_dims, expected) : expected, kTolerance<T>,
                     kTolerance<T>));
}

template <typename T>
void CheckMax(const Case& c) {
  const auto windows = Windows(c);
  const auto x = FewValues<T>(c.InputSize(), 1);
  const auto dy = FewValues<T>(c.OutputSize(), 2);
  std::vector<T> y(c.OutputSize());
  std::vector<double> dx_sums(c.InputSize(), 0);
  for (size_t i = 0; i < windows.size(); ++i) {
    int64_t largest = windows[i][0];
    for (int64_t at : windows[i]) largest = x[at] > x[largest] ? at : largest;
    y[i] = x[largest];
    dx_sums[largest] += static_cast<double>(dy[i]);
  }
  std::vector<T> dx(c.InputSize());
  for (size_t i = 0; i < dx.size(); ++i) dx[i] = static_cast<T>(dx_sums[i]);
  for (const bool first : {false, true}) {
    Check<T>("MaxPool", c, first, {}, {{c.input, x}}, c.output, y);
    Check<T>("MaxPoolGrad", c, first, {}, {{c.input, x}, {c.output, y}, {c.output, dy}}, c.input,
             dx);
    std::vector<T> ddy(c.OutputSize());
    for (size_t i = 0; i < windows.size(); ++i) {
      int64_t largest = windows[i][0];
      for (int64_t at : windows[i]) largest = x[at] > x[largest] ? at : largest;
      ddy[i] = dx[largest];
    }
    Check<T>("MaxPoolGradGrad", c, first, {}, {{c.input, x}, {c.output, y}, {c.input, dx}},
             c.output, ddy);
  }
}

template <typename T>
void CheckAverage(const Case& c) {
  const auto windows = Windows(c);
  const auto x = FewValues<T>(c.InputSize(), 1);
  const auto dy = FewValues<T>(c.OutputSize(), 2);
  std::vector<double> y_sums(c.OutputSize(), 0);
  std::vector<double> dx_sums(c.InputSize(), 0);
  for (size_t i = 0; i < windows.size(); ++i) {
    const double count = static_cast<double>(windows[i].size());
    for (int64_t at : windows[i]) {
      y_sums[i] += static_cast<double>(x[at]) / count;
      dx_sums[at] += static_cast<double>(dy[i]) / count;
    }
  }
  const std::vector<T> y(y_sums.begin(), y_sums.end());
  const std::vector<T> dx(dx_sums.begin(), dx_sums.end());
  for (const bool first : {false, true}) {
    Check<T>("AvgPool", c, first, {}, {{c.input, x}}, c.output, y);
    Check<T>("AvgPoolGrad", c, first, c.input, {{c.output, dy}}, c.input, dx);
  }
}

std::vector<Case> Cases() {
  return {
      {},  // the last row is in no window
      {{1, 5, 6, 3}, {2, 2}, {2, 2}, "SAME", {0, 0}, {1, 3, 3, 3}},
      {{2, 4, 8, 64}, {2, 2}, {2, 2}, "VALID", {0, 0}, {2, 2, 4, 64}},
      {{2, 5, 7, 70}, {3, 3}, {1, 1}, "SAME", {1, 1}, {2, 5, 7, 70}},
      {{3, 7, 6, 2}, {3, 2}, {1, 2}, "VALID", {0, 0}, {3, 5, 3, 2}},
      {{1, 4, 7, 5}, {3, 3}, {3, 3}, "SAME", {1, 1}, {1, 2, 3, 5}},
      {{1, 5, 6, 3}, {1, 1}, {2, 2}, "SAME", {0, 0}, {1, 3, 3, 3}},
      {{2, 2, 3, 2}, {5, 5}, {1, 1}, "SAME", {2, 2}, {2, 2, 3, 2}},
      {{16, 32, 32, 8}, {3, 3}, {2, 2}, "SAME", {0, 0}, {16, 16, 16, 8}},
      {{0, 4, 4, 3}, {2, 2}, {2, 2}, "VALID", {0, 0}, {0, 2, 2, 3}},
      {{2, 4, 4, 0}, {2, 2}, {2, 2}, "VALID", {0, 0}, {2, 2, 2, 0}},
  };
}

TEST(MaxPoolTest, TakesTheLargestAndGivesTheGradientToTheFirstOfThem) {
  for (const Case& c : Cases()) {
    CheckMax<float>(c);
    CheckMax<double>(c);
    CheckMax<Float16>(c);
    CheckMax<BFloat16>(c);
  }
}

TEST(MaxPoolTest, Integers) {
  for (const Case& c : {Cases()[0], Cases()[3]}) {
    CheckMax<int8_t>(c);
    CheckMax<uint8_t>(c);
    CheckMax<int16_t>(c);
    CheckMax<uint16_t>(c);
    CheckMax<int32_t>(c);
    CheckMax<int64_t>(c);
  }
}

TEST(MaxPoolTest, NegativeValuesBeatThePadding) {
  KernelTester t("MaxPool");
  t.Attr("T", MS_FLOAT32).Attr("padding", std::string("SAME"));
  t.Attr("data_format", std::string("NHWC"));
  t.Attr("ksize", Dims{1, 3, 3, 1}).Attr("strides", Dims{1, 1, 1, 1});
  t.Input<float>({1, 1, 2, 1}, {-3, -2});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{-2, -2}));
}

TEST(MaxPoolTest, NanIsPassedOver) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& x : {std::vector<float>{nan, 1}, std::vector<float>{1, nan}}) {
    KernelTester max("MaxPool");
    KernelTester gradient("MaxPoolGrad");
    for (KernelTester* t : {&max, &gradient}) {
      t->Attr("T", MS_FLOAT32).Attr("padding", std::string("VALID"));
      t->Attr("data_format", std::string("NHWC"));
      t->Attr("ksize", Dims{1, 1, 2, 1}).Attr("strides", Dims{1, 1, 2, 1});
      t->Input<float>({1, 1, 2, 1}, x);
    }
    ASSERT_TRUE(IsOk(max.Run()));
    EXPECT_EQ(max.Output<float>(0), (std::vector<float>{1}));
    gradient.Input<float>({1, 1, 1, 1}, {1}).Input<float>({1, 1, 1, 1}, {5});
    ASSERT_TRUE(IsOk(gradient.Run()));
    EXPECT_EQ(gradient.Output<float>(0),
              (std::vector<float>{x[0] == 1 ? 5.f : 0, x[1] == 1 ? 5.f : 0}));
  }
}

TEST(MaxPoolTest, AlongTheChannels) {
  KernelTester t("MaxPool");
  t.Attr("T", MS_FLOAT32).Attr("padding", std::string("VALID"));
  t.Attr("data_format", std::string("NHWC"));
  t.Attr("ksize", Dims{1, 1, 1, 3}).Attr("strides", Dims{1, 1, 1, 3});
  t.Input<float>({1, 1, 2, 6}, {1, 2, 3, 6, 5, 4, -1, -2, -3, 0, 7, 0});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{3, 6, -1, 7}));
  EXPECT_EQ(t.OutputShape(0), (Dims{1, 1, 2, 2}));
}

TEST(AvgPoolTest, MeansAreOverTheElementsThatAreThere) {
  for (const Case& c : Cases()) {
    CheckAverage<float>(c);
    CheckAverage<double>(c);
    CheckAverage<Float16>(c);
    CheckAverage<BFloat16>(c);
  }
}

struct Refusal {
  std::string op;
  Dims input;
  Dims ksize;
  Dims stride;
  MS_Code code;
  std::string words;
};

TEST(PoolErrorsTest, WindowsAndShapes) {
  const std::vector<Refusal> refusals = {
      {"MaxPool",
       {5, 6, 3},
       {1, 2, 2, 1},
       {1, 2, 2, 1},
       MS_INVALID_ARGUMENT,
       "input must have 4 dimensions, but is [5,6,3]"},
      {"AvgPool",
       {1, 2, 3, 4, 1},
       {1, 2, 2, 1},
       {1, 2, 2, 1},
       MS_INVALID_ARGUMENT,
       "value must have 4 dimensions, but is [1,2,3,4,1]"},
      {"MaxPool",
       {1, 2, 3, 2},
       {1, 5, 5, 1},
       {1, 1, 1, 1},
       MS_INVALID_ARGUMENT,
       "output size would be negative"},
      {"MaxPool",
       {1, 5, 6, 3},
       {2, 2, 2, 1},
       {2, 1, 1, 1},
       MS_UNIMPLEMENTED,
       "must be 1 for the batch, not 2"},
      {"MaxPool", {1, 5, 6, 3}, {1, 2, 2, 3}, {1, 2, 2, 3}, MS_UNIMPLEMENTED, "not both"},
      {"MaxPool",
       {1, 5, 6, 3},
       {1, 1, 1, 3},
       {1, 1, 1, 1},
       MS_UNIMPLEMENTED,
       "must be equal for the channels, but are 3 and 1"},
      {"MaxPool",
       {1, 5, 6, 3},
       {1, 1, 1, 2},
       {1, 1, 1, 2},
       MS_UNIMPLEMENTED,
       "must be a multiple of ksize there, 2"},
      {"AvgPool",
       {1, 5, 6, 3},
       {1, 1, 1, 3},
       {1, 1, 1, 3},
       MS_UNIMPLEMENTED,
       "must be 1 for the channels, not 3"},
      {"AvgPool",
       {1, 5, 6, 3},
       {1, 0, 1, 1},
       {1, 1, 1, 1},
       MS_INVALID_ARGUMENT,
       "ksize has the entry 0"},
  };
  for (const Refusal& refusal : refusals) {
    int64_t count = 1;
    for (int64_t dim : refusal.input) count *= dim;
    KernelTester t(refusal.op);
    t.Attr("T", MS_FLOAT32).Attr("padding", std::string("VALID"));
    t.Attr("data_format", std::string("NHWC"));
    t.Attr("ksize", refusal.ksize).Attr("strides", refusal.stride);
    t.Input<float>(refusal.input, std::vector<float>(count));
    const ms::Status status = t.Run();
    EXPECT_EQ(status.code(), refusal.code) << refusal.words;
    EXPECT_NE(status.message().find(refusal.words), std::string::npos) << status.message();
  }
}

TEST(PoolErrorsTest, GradientsOfAnotherShape) {
  const auto set = [](KernelTester* t) {
    t->Attr("T", MS_FLOAT32).Attr("padding", std::string("SAME")).Outputs({MS_FLOAT32});
    t->Attr("data_format", std::string("NHWC"));
    t->Attr("ksize", Dims{1, 2, 2, 1}).Attr("strides", Dims{1, 2, 2, 1});
  };
  KernelTester max("MaxPoolGrad");
  set(&max);
  max.Input<float>({1, 5, 6, 3}, std::vector<float>(90));
  max.Input<float>({1, 3, 3, 3}, std::vector<float>(27));
  max.Input<float>({1, 3, 4, 3}, std::vector<float>(36));
  const ms::Status of_max = max.Run();
  EXPECT_EQ(of_max.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(of_max.message(),
            "grad must be [1,3,3,3], the shape of the pooling's output, but is [1,3,4,3]");

  KernelTester average("AvgPoolGrad");
  set(&average);
  average.ConstInput<int32_t>({3}, {1, 5, 6}).Input<float>({1, 3, 3, 3}, std::vector<float>(27));
  const ms::Status of_average = average.Run();
  EXPECT_EQ(of_average.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(of_average.message(),
            "orig_input_shape must be a vector of 4 sizes, but its shape is [3]");
}

}  // namespace
}  // namespace millstream::kernels
