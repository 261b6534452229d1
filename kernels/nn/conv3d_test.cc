// Conv3D and its gradients against their definition.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
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

struct Case {
  Dims volume = {4, 5, 3};
  int64_t in = 2;
  Dims window = {2, 3, 2};
  int64_t out = 3;
  std::string padding = "VALID";
  Dims stride = {1, 1, 1};
  Dims dilation = {1, 1, 1};
  Dims before = {0, 0, 0};
  Dims after = {0, 0, 0};

  int64_t Positions(int i) const {
    const int64_t extent = (window[i] - 1) * dilation[i] + 1;
    return (volume[i] + before[i] + after[i] - extent) / stride[i] + 1;
  }
};

constexpr int64_t kBatch = 2;

// Calls fn(input pixel, tap, output pixel) for every product, of numbers in row-major order.
template <typename Fn>
void ForEachTap(const Case& c, Fn&& fn) {
  const auto decode = [](int64_t at, int64_t b, int64_t k) {
    return std::array<int64_t, 3>{at / (b * k), at / k % b, at % k};
  };
  const int64_t outputs = c.Positions(0) * c.Positions(1) * c.Positions(2);
  const int64_t taps = c.window[0] * c.window[1] * c.window[2];
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t k = 0; k < taps; ++k) {
      const auto place = decode(o, c.Positions(1), c.Positions(2));
      const auto tap = decode(k, c.window[1], c.window[2]);
      int64_t pixel = 0;
      bool is_inside = true;
      for (int i = 0; i < 3; ++i) {
        const int64_t at = place[i] * c.stride[i] + tap[i] * c.dilation[i] - c.before[i];
        is_inside = is_inside && at >= 0 && at < c.volume[i];
        pixel = pixel * c.volume[i] + at;
      }
      if (is_inside) fn(pixel, k, o);
    }
  }
}

// Integers this small make every sum exact, in any order; narrow floats round it once.
std::vector<double> SmallIntegers(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> distribution(-4, 4);
  std::vector<double> values(count);
  for (double& value : values) value = distribution(generator);
  return values;
}

int64_t Count(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

template <typename T>
class Checker {
 public:
  Checker(const Case& c, bool channels_first) : case_(c), first_(channels_first) {}

  void CheckAll() {
    const Dims places = {case_.Positions(0), case_.Positions(1), case_.Positions(2)};
    const Dims input = Activation(case_.volume, case_.in);
    const Dims output = Activation(places, case_.out);
    Dims filter = case_.window;
    filter.insert(filter.end(), {case_.in, case_.out});
    const auto x = SmallIntegers(Count(input), 1);
    const auto w = SmallIntegers(Count(filter), 2);
    const auto dy = SmallIntegers(Count(output), 3);
    std::vector<double> y(dy.size()), dx(x.size()), dw(w.size());
    const int64_t pixels = Count(case_.volume);
    for (int64_t n = 0; n < kBatch; ++n) {
      ForEachTap(case_, [&](int64_t pixel, int64_t tap, int64_t place) {
        for (int64_t i = 0; i < case_.in; ++i) {
          for (int64_t o = 0; o < case_.out; ++o) {
            const int64_t at = (n * pixels + pixel) * case_.in + i;
            const int64_t weight = (tap * case_.in + i) * case_.out + o;
            const int64_t to = (n * Count(places) + place) * case_.out + o;
            y[to] += x[at] * w[weight];
            dx[at] += dy[to] * w[weight];
            dw[weight] += x[at] * dy[to];
          }
        }
      });
    }
    const std::vector<T> filters(w.begin(), w.end());
    KernelTester forward("Conv3D");
    forward.Input<T>(input, Laid(x, case_.in)).template Input<T>(filter, filters);
    Expect(&forward, Laid(y, case_.out));
    KernelTester of_input("Conv3DBackpropInputV2");
    of_input.ConstInput<int64_t>({5}, input);
    of_input.Input<T>(filter, filters).template Input<T>(output, Laid(dy, case_.out));
    of_input.Attr("Tshape", MS_INT64);
    Expect(&of_input, Laid(dx, case_.in));
    KernelTester of_filter("Conv3DBackpropFilterV2");
    of_filter.Input<T>(input, Laid(x, case_.in));
    of_filter.ConstInput<int32_t>({5}, {filter.begin(), filter.end()});
    of_filter.Input<T>(output, Laid(dy, case_.out));
    Expect(&of_filter, {dw.begin(), dw.end()});
  }

 private:
  Dims Spread(const Dims& spatial, int64_t outer, int64_t channels) const {
    Dims dims = {outer};
    if (first_) dims.push_back(channels);
    dims.insert(dims.end(), spatial.begin(), spatial.end());
    if (!first_) dims.push_back(channels);
    return dims;
  }
  Dims Activation(const Dims& spatial, int64_t channels) const {
    return Spread(spatial, kBatch, channels);
  }
  // Values with their channels last in the order of the case.
  std::vector<T> Laid(const std::vector<double>& values, int64_t channels) const {
    std::vector<T> to(values.begin(), values.end());
    if (!first_) return to;
    const int64_t pixels = static_cast<int64_t>(values.size()) / channels / kBatch;
    for (int64_t n = 0; n < kBatch; ++n)
      for (int64_t i = 0; i < pixels; ++i)
        for (int64_t k = 0; k < channels; ++k)
          to[(n * channels + k) * pixels + i] =
              static_cast<T>(values[(n * pixels + i) * channels + k]);
    return to;
  }
  void Expect(KernelTester* t, const std::vector<T>& expected) const {
    t->Attr("T", ms::DTypeOf<T>()).Attr("padding", case_.padding);
    t->Attr("data_format", std::string(first_ ? "NCDHW" : "NDHWC"));
    t->Attr("strides", Spread(case_.stride, 1, 1));
    t->Attr("dilations", Spread(case_.dilation, 1, 1)).Outputs({ms::DTypeOf<T>()});
    ASSERT_TRUE(IsOk(t->Run()));
    EXPECT_TRUE(IsNear(t->template Output<T>(0), expected, 0, 0));
  }

  Case case_;
  bool first_;
};

template <typename T>
void CheckBothOrders(const Case& c) {
  Checker<T>(c, false).CheckAll();
  Checker<T>(c, true).CheckAll();
}

template <typename T>
class Conv3DTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(Conv3DTest, Types);

TYPED_TEST(Conv3DTest, ValidPadding) { CheckBothOrders<TypeParam>(Case()); }

TYPED_TEST(Conv3DTest, SamePaddingWithStrides) {
  Case c;
  c.padding = "SAME";
  c.stride = {1, 2, 2};
  c.before = {0, 1, 0};
  c.after = {1, 1, 1};
  CheckBothOrders<TypeParam>(c);
}

TYPED_TEST(Conv3DTest, Dilations) {
  Case c;
  c.volume = {5, 7, 4};
  c.dilation = {2, 3, 1};
  CheckBothOrders<TypeParam>(c);
}

TYPED_TEST(Conv3DTest, MatrixProducts) {
  Case c;
  c.window = {1, 1, 1};
  CheckBothOrders<TypeParam>(c);
  c.window = c.volume;
  CheckBothOrders<TypeParam>(c);
}

TYPED_TEST(Conv3DTest, ManyChannels) {
  Case c;
  c.in = 17;
  c.out = 33;
  CheckBothOrders<TypeParam>(c);
}

}  // namespace
}  // namespace millstream::kernels
