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

constexpr float kEpsilon = 0.001f;

template <typename T>
std::vector<T> Random(int64_t count, double mean, double deviation, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> distribution(mean, deviation);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(distribution(generator));
  return values;
}

// One batch of images as [outer, channels, inner].
struct Images {
  Dims dims;  // of the tensor
  bool channels_first;

  int64_t channels() const { return dims[channels_first ? 1 : 3]; }
  int64_t inner() const { return channels_first ? dims[2] * dims[3] : 1; }
  int64_t size() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
  int64_t count() const { return size() / channels(); }
  int64_t channel(int64_t i) const { return i / inner() % channels(); }
  std::string format() const { return channels_first ? "NCHW" : "NHWC"; }
  std::string ToString() const {
    return ms::StrCat(dims[0], ",", dims[1], ",", dims[2], ",", dims[3], " ", format());
  }
};

// What the cuts tell apart: few channels, vectors that do not fill, more channels than a task sums,
// rows for several groups, planes below and above a packed row.
const Images kImages[] = {
    {{1, 1, 1, 1}, false},   {{2, 3, 5, 3}, false},    {{3, 4, 4, 33}, false},
    {{4, 2, 3, 513}, false}, {{2, 40, 40, 65}, false}, {{700, 2, 2, 24}, false},
    {{2, 5, 1, 1}, true},    {{2, 3, 5, 3}, true},     {{3, 5, 7, 9}, true},
    {{40, 2, 33, 31}, true},
};

struct Statistics {
  std::vector<double> mean;
  std::vector<double> variance;
};

template <typename T>
Statistics StatisticsOf(const Images& images, const std::vector<T>& x) {
  Statistics result;
  result.mean.resize(images.channels());
  result.variance.resize(images.channels());
  const auto count = static_cast<double>(images.count());
  for (int64_t i = 0; i < images.size(); ++i) result.mean[images.channel(i)] += x[i] / count;
  for (int64_t i = 0; i < images.size(); ++i) {
    const double distance = x[i] - result.mean[images.channel(i)];
    result.variance[images.channel(i)] += distance * distance / count;
  }
  return result;
}

template <typename T>
std::vector<float> Floats(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

template <typename T>
constexpr double kTolerance = 0;
template <>
constexpr double kTolerance<float> = 1e-5;
template <>
constexpr double kTolerance<Float16> = 0x1p-10;
template <>
constexpr double kTolerance<BFloat16> = 0x1p-7;

template <typename T>
void SetAttrs(const Images& images, bool is_training, KernelTester* t) {
  t->Attr("T", ms::DTypeOf<T>()).Attr("U", MS_FLOAT32).Attr("epsilon", kEpsilon);
  t->Attr("data_format", images.format()).Attr("is_training", is_training);
  t->Outputs({ms::DTypeOf<T>(), MS_FLOAT32, MS_FLOAT32, MS_FLOAT32, MS_FLOAT32});
}

template <typename T>
class BatchNormTest : public ::testing::Test {};
using Types = ::testing::Types<float, Float16, BFloat16>;
TYPED_TEST_SUITE(BatchNormTest, Types);

TYPED_TEST(BatchNormTest, InTraining) {
  using T = TypeParam;
  for (const Images& images : kImages) {
    SCOPED_TRACE(images.ToString());
    const auto x = Random<T>(images.size(), 2, 3, 1);
    const auto scale = Random<float>(images.channels(), 1, 0.5, 2);
    const auto offset = Random<float>(images.channels(), 0, 1, 3);
    KernelTester t("FusedBatchNormV2");
    SetAttrs<T>(images, true, &t);
    t.template Input<T>(images.dims, x).template Input<float>({images.channels()}, scale);
    t.template Input<float>({images.channels()}, offset);
    t.template Input<float>({0}, {}).template Input<float>({0}, {});
    ASSERT_TRUE(IsOk(t.Run()));
    const Statistics found = StatisticsOf(images, x);
    std::vector<T> y(x.size());
    for (int64_t i = 0; i < images.size(); ++i) {
      const int64_t c = images.channel(i);
      y[i] = static_cast<T>(
          (x[i] - found.mean[c]) / std::sqrt(found.variance[c] + kEpsilon) * scale[c] + offset[c]);
    }
    std::vector<float> unbiased = Floats(found.variance);
    const auto count = static_cast<float>(images.count());
    for (float& variance : unbiased) variance *= count / std::max(count - 1, 1.0f);
    EXPECT_TRUE(IsNear(t.template Output<T>(0), y, kTolerance<T>, 2 * kTolerance<T>));
    EXPECT_TRUE(IsNear(t.template Output<float>(1), Floats(found.mean), 1e-6, 1e-6));
    EXPECT_TRUE(IsNear(t.template Output<float>(2), unbiased, 2e-6, 1e-6));
    EXPECT_EQ(t.template Output<float>(3), t.template Output<float>(1));
    EXPECT_TRUE(IsNear(t.template Output<float>(4), Floats(found.variance), 2e-6, 1e-6));
  }
}

TYPED_TEST(BatchNormTest, GradientInTrainingAndAfterwards) {
  using T = TypeParam;
  for (const Images& images : kImages) {
    for (const bool is_training : {true, false}) {
      SCOPED_TRACE(images.ToString());
      const int64_t channels = images.channels();
      const auto x = Random<T>(images.size(), 2, 3, 1);
      const auto dy = Random<T>(images.size(), 0.5, 1, 4);
      const auto scale = Random<float>(channels, 1, 0.5, 2);
      const Statistics given = StatisticsOf(images, x);
      std::vector<double> of_offset(channels);
      std::vector<double> of_scale(channels);
      const auto normal = [&](int64_t i) {
        const int64_t c = images.channel(i);
        return (x[i] - given.mean[c]) / std::sqrt(given.variance[c] + kEpsilon);
      };
      for (int64_t i = 0; i < images.size(); ++i) {
        of_offset[images.channel(i)] += dy[i];
        of_scale[images.channel(i)] += dy[i] * normal(i);
      }
      std::vector<T> dx(x.size());
      const double part = is_training ? 1 / static_cast<double>(images.count()) : 0;
      for (int64_t i = 0; i < images.size(); ++i) {
        const int64_t c = images.channel(i);
        const double factor = scale[c] / std::sqrt(given.variance[c] + kEpsilon);
        dx[i] =
            static_cast<T>(factor * (dy[i] - part * of_offset[c] - part * normal(i) * of_scale[c]));
      }
      KernelTester t("FusedBatchNormGradV2");
      SetAttrs<T>(images, is_training, &t);
      t.template Input<T>(images.dims, dy).template Input<T>(images.dims, x);
      t.template Input<float>({channels}, scale);
      t.template Input<float>({channels}, Floats(given.mean));
      t.template Input<float>({channels}, Floats(given.variance));
      ASSERT_TRUE(IsOk(t.Run()));
      // Sums of numbers that cancel: off by the rounding of the largest of them.
      const double off = 1e-6 * static_cast<double>(images.count());
      EXPECT_TRUE(IsNear(t.template Output<T>(0), dx, kTolerance<T>, 2e-5));
      EXPECT_TRUE(IsNear(t.template Output<float>(1), Floats(of_scale), 1e-5, off));
      EXPECT_TRUE(IsNear(t.template Output<float>(2), Floats(of_offset), 1e-5, off));
      EXPECT_TRUE(t.template Output<float>(3).empty());
    }
  }
}

KernelTester& SetInputs(const Images& images, const std::vector<float>& x, KernelTester* t) {
  const int64_t channels = images.channels();
  SetAttrs<float>(images, true, t);
  t->Input<float>(images.dims, x).Input<float>({channels}, std::vector<float>(channels, 1));
  t->Input<float>({channels}, std::vector<float>(channels, 0));
  return t->Input<float>({0}, {}).Input<float>({0}, {});
}

// A mean that is large beside the deviation, and a first element far from all others: what sums of
// squares lose their digits by.
TEST(BatchNormStatisticsTest, AreExactFarFromZero) {
  const Images images = {{64, 32, 32, 3}, false};
  std::vector<float> x = Random<float>(images.size(), 1000, 0.1, 7);
  std::fill_n(x.begin(), 3, -5000.0f);
  KernelTester t("FusedBatchNormV2");
  ASSERT_TRUE(IsOk(SetInputs(images, x, &t).Run()));
  const Statistics expected = StatisticsOf(images, x);
  EXPECT_TRUE(IsNear(t.Output<float>(3), Floats(expected.mean), 1e-7, 0));
  EXPECT_TRUE(IsNear(t.Output<float>(4), Floats(expected.variance), 1e-5, 0));
}

// A plain sum in float of 4 million times 0.1 is off by a twentieth.
TEST(BatchNormStatisticsTest, DoNotLoseDigitsWithTheNumberOfElements) {
  const Images images = {{16, 512, 512, 1}, false};
  const std::vector<float> x(images.size(), 0.1f);
  KernelTester t("FusedBatchNormV2");
  ASSERT_TRUE(IsOk(SetInputs(images, x, &t).Run()));
  EXPECT_TRUE(IsNear(t.Output<float>(3), {0.1f}, 1e-6, 0));
  EXPECT_TRUE(IsNear(t.Output<float>(4), {0.0f}, 0, 1e-12));
}

TEST(BatchNormStatisticsTest, AnInfinityLeavesNoNumberInItsChannel) {
  const Images images = {{1, 2, 2, 2}, false};
  const float infinity = std::numeric_limits<float>::infinity();
  KernelTester t("FusedBatchNormV2");
  ASSERT_TRUE(IsOk(SetInputs(images, {1, infinity, 1, 2, 3, 4, 3, 5}, &t).NaNsAreAlike().Run()));
  EXPECT_EQ(t.Output<float>(3)[0], 2.0f);
  EXPECT_EQ(t.Output<float>(4)[0], 1.0f);
  EXPECT_TRUE(std::isnan(t.Output<float>(4)[1]));
  EXPECT_TRUE(std::isnan(t.Output<float>(0)[3]));
}

TEST(BatchNormStatisticsTest, OfNoImagesAreNoNumbers) {
  const Images images = {{0, 4, 4, 2}, false};
  KernelTester t("FusedBatchNormV2");
  ASSERT_TRUE(IsOk(SetInputs(images, {}, &t).Run()));
  for (uint32_t i = 1; i < 5; ++i) EXPECT_TRUE(std::isnan(t.Output<float>(i)[1])) << i;
}

TEST(BatchNormTest, RefusesStatisticsInTraining) {
  const Images images = {{1, 1, 1, 1}, false};
  KernelTester t("FusedBatchNormV2");
  SetInputs(images, {1}, &t).SetInput<float>(3, {1}, {0});
  EXPECT_EQ(t.Run().code(), MS_INVALID_ARGUMENT);
}

// ---- Across channels ----

double WindowSum(const std::vector<double>& values, int64_t c, int64_t radius) {
  double sum = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
    if (i - c <= radius && c - i <= radius) sum += values[i];
  }
  return sum;
}

void CheckLrn(int64_t channels, int64_t radius, double beta) {
  SCOPED_TRACE(ms::StrCat(channels, " channels, radius ", radius, ", beta ", beta));
  constexpr double kBias = 1.5;
  constexpr double kAlpha = 0.25;
  const auto x = Random<float>(3 * channels, 0, 2, 1);
  const auto dy = Random<float>(3 * channels, 0, 1, 2);
  std::vector<float> y;
  std::vector<float> dx;
  for (int64_t first = 0; first < 3 * channels; first += channels) {
    std::vector<double> squares(channels);
    std::vector<double> norm(channels);
    std::vector<double> products(channels);
    for (int64_t c = 0; c < channels; ++c) squares[c] = x[first + c] * x[first + c];
    for (int64_t c = 0; c < channels; ++c) {
      norm[c] = kBias + kAlpha * WindowSum(squares, c, radius);
      y.push_back(static_cast<float>(x[first + c] * std::pow(norm[c], -beta)));
      products[c] = dy[first + c] * x[first + c] * std::pow(norm[c], -beta) / norm[c];
    }
    for (int64_t c = 0; c < channels; ++c) {
      dx.push_back(
          static_cast<float>(dy[first + c] * std::pow(norm[c], -beta) -
                             2 * kAlpha * beta * x[first + c] * WindowSum(products, c, radius)));
    }
  }
  const Dims dims = {1, 3, 1, channels};
  const auto run = [&](const char* op, const std::vector<std::vector<float>>& inputs) {
    KernelTester t(op);
    t.Attr("T", MS_FLOAT32).Attr("depth_radius", radius);
    t.Attr("bias", kBias).Attr("alpha", kAlpha).Attr("beta", beta);
    for (const auto& input : inputs) t.Input<float>(dims, input);
    EXPECT_TRUE(IsOk(t.Run()));
    return t.Output<float>(0);
  };
  EXPECT_TRUE(IsNear(run("LRN", {x}), y, 1e-5, 1e-6));
  EXPECT_TRUE(IsNear(run("LRNGrad", {dy, x, y}), dx, 1e-5, 1e-5));
}

TEST(LrnTest, DividesByTheNormOfNearChannels) {
  for (const int64_t channels : {1, 7, 40}) {
    for (const int64_t radius : {int64_t{0}, int64_t{2}, int64_t{5}, int64_t{1} << 62}) {
      for (const double beta : {0.5, 0.75, 1.0, 0.6}) CheckLrn(channels, radius, beta);
    }
  }
}

}  // namespace
}  // namespace millstream::kernels
