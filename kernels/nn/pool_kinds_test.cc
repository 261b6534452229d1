// The kinds of pooling beside that of images by attributes: of volumes, with windows from inputs,
// and by the places of the largest elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
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

// Whole numbers of which many are equal.
template <typename T>
std::vector<T> Values(int64_t count, int seed) {
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>((i * 7 + seed) % 11));
  return values;
}

// ---- Volumes ----

constexpr int64_t kDepth = 3, kHeight = 5, kWidth = 4, kChannels = 9;
constexpr int64_t kVolume = kDepth * kHeight * kWidth * kChannels;

// Two volumes whose windows of 2 by 3 by 2, with steps of 1, 2 and 1, all lie inside.
const Dims kInput = {2, kDepth, kHeight, kWidth, kChannels};
const Dims kOutput = {2, 2, 2, 3, kChannels};
constexpr int64_t kOutputSize = 2 * 2 * 2 * 3 * kChannels;

// The input's elements in the window of an output element.
std::vector<int64_t> ElementsOf(int64_t output) {
  const int64_t c = output % kChannels, ow = output / kChannels % 3,
                oh = output / kChannels / 3 % 2, od = output / kChannels / 6 % 2,
                n = output / kChannels / 12;
  std::vector<int64_t> elements;
  for (int64_t d = od; d < od + 2; ++d)
    for (int64_t h = 2 * oh; h < 2 * oh + 3; ++h)
      for (int64_t w = ow; w < ow + 2; ++w)
        elements.push_back((((n * kDepth + d) * kHeight + h) * kWidth + w) * kChannels + c);
  return elements;
}

template <typename T>
void SetVolumes(KernelTester* t) {
  t->Attr("T", ms::DTypeOf<T>()).Attr("TInput", ms::DTypeOf<T>());
  t->Attr("padding", std::string("VALID")).Attr("data_format", std::string("NDHWC"));
  t->Attr("ksize", Dims{1, 2, 3, 2, 1}).Attr("strides", Dims{1, 1, 2, 1, 1});
  t->Outputs({ms::DTypeOf<T>()});
}

template <typename T>
void CheckVolumes() {
  const auto x = Values<T>(2 * kVolume, 1);
  const auto dy = Values<T>(kOutputSize, 2);
  const auto g = Values<T>(2 * kVolume, 3);
  std::vector<T> largest, ddy;
  std::vector<double> sums(2 * kVolume, 0);
  for (int64_t i = 0; i < kOutputSize; ++i) {
    int64_t best = ElementsOf(i)[0];
    for (const int64_t at : ElementsOf(i)) best = x[at] > x[best] ? at : best;
    largest.push_back(x[best]);
    ddy.push_back(g[best]);
    sums[best] += static_cast<double>(dy[i]);
  }
  std::vector<T> dx;
  for (const double sum : sums) dx.push_back(static_cast<T>(sum));

  KernelTester max("MaxPool3D"), grad("MaxPool3DGrad"), grad_grad("MaxPool3DGradGrad");
  for (KernelTester* t : {&max, &grad, &grad_grad}) {
    SetVolumes<T>(t);
    t->template Input<T>(kInput, x);
  }
  ASSERT_TRUE(IsOk(max.Run()));
  EXPECT_EQ(max.OutputShape(0), kOutput);
  EXPECT_TRUE(IsNear(max.Output<T>(0), largest, 0, 0));
  grad.Input<T>(kOutput, largest).template Input<T>(kOutput, dy);
  ASSERT_TRUE(IsOk(grad.Run()));
  EXPECT_TRUE(IsNear(grad.Output<T>(0), dx, 0, 0));
  grad_grad.Input<T>(kOutput, largest).template Input<T>(kInput, g);
  ASSERT_TRUE(IsOk(grad_grad.Run()));
  EXPECT_TRUE(IsNear(grad_grad.Output<T>(0), ddy, 0, 0));
}

TEST(MaxPool3DTest, TakesTheLargestAndGivesTheGradientToTheFirstOfThem) {
  CheckVolumes<float>();
  CheckVolumes<Float16>();
  CheckVolumes<BFloat16>();
}

TEST(AvgPool3DTest, TakesMeansAndSharesTheGradient) {
  const auto x = Values<double>(2 * kVolume, 1);
  const auto dy = Values<double>(kOutputSize, 2);
  std::vector<double> means, dx(2 * kVolume, 0);
  for (int64_t i = 0; i < kOutputSize; ++i) {
    double sum = 0;
    for (const int64_t at : ElementsOf(i)) {
      sum += x[at];
      dx[at] += dy[i] / 12;
    }
    means.push_back(sum / 12);
  }
  KernelTester average("AvgPool3D"), grad("AvgPool3DGrad");
  SetVolumes<double>(&average);
  SetVolumes<double>(&grad);
  average.Input<double>(kInput, x);
  ASSERT_TRUE(IsOk(average.Run()));
  EXPECT_TRUE(IsNear(average.Output<double>(0), means, 1e-14, 0));
  grad.ConstInput<int32_t>({5}, std::vector<int32_t>(kInput.begin(), kInput.end()));
  grad.Input<double>(kOutput, dy);
  ASSERT_TRUE(IsOk(grad.Run()));
  EXPECT_TRUE(IsNear(grad.Output<double>(0), dx, 1e-14, 1e-14));
}

TEST(MaxPool3DTest, ChannelsMayBeFirst) {
  KernelTester t("MaxPool3D");
  t.Attr("T", MS_FLOAT32).Attr("padding", std::string("SAME"));
  t.Attr("data_format", std::string("NCDHW"));
  t.Attr("ksize", Dims{1, 1, 2, 1, 3}).Attr("strides", Dims{1, 1, 2, 1, 2});
  t.Input<float>({1, 2, 1, 2, 3}, {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (Dims{1, 2, 1, 2, 2}));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{2, 3, 5, 6, -1, -2, -4, -5}));
}

// ---- Windows from inputs ----

template <typename T>
void CheckWindowInputs() {
  KernelTester max("MaxPoolV2"), grad("MaxPoolGradV2"), grad_grad("MaxPoolGradGradV2");
  for (KernelTester* t : {&max, &grad, &grad_grad}) {
    t->Attr("T", ms::DTypeOf<T>()).Attr("padding", std::string("VALID"));
    t->Attr("data_format", std::string("NHWC"));
    t->template Input<T>({1, 2, 3, 1}, {1, 5, 3, 2, 4, 6});
  }
  grad.Input<T>({1, 1, 2, 1}, {5, 6}).template Input<T>({1, 1, 2, 1}, {10, 20});
  grad_grad.Input<T>({1, 1, 2, 1}, {5, 6}).template Input<T>({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6});
  for (KernelTester* t : {&max, &grad, &grad_grad}) {
    t->ConstInput<int32_t>({4}, {1, 2, 2, 1}).ConstInput<int32_t>({4}, {1, 1, 1, 1});
    ASSERT_TRUE(IsOk(t->Run()));
  }
  EXPECT_EQ(max.Output<T>(0), (std::vector<T>{5, 6}));
  EXPECT_EQ(grad.Output<T>(0), (std::vector<T>{0, 10, 0, 0, 0, 20}));
  EXPECT_EQ(grad_grad.Output<T>(0), (std::vector<T>{2, 6}));
}

TEST(MaxPoolV2Test, WindowsAreInputs) {
  CheckWindowInputs<float>();
  CheckWindowInputs<int16_t>();
}

TEST(MaxPoolV2Test, RefusesWindowsThatAreNoVectors) {
  KernelTester t("MaxPoolV2");
  t.Attr("T", MS_FLOAT32).Attr("padding", std::string("VALID"));
  t.Attr("data_format", std::string("NHWC"));
  t.Input<float>({1, 2, 3, 1}, std::vector<float>(6));
  t.ConstInput<int32_t>({2, 2}, {1, 2, 2, 1}).ConstInput<int32_t>({4}, {1, 1, 1, 1});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "ksize must be a vector, but its shape is [2,2]");
}

// ---- Places ----

// Two images of 2 by 2 pixels with 2 channels, each in one window.
const Dims kImages = {2, 2, 2, 2};
const Dims kPooled = {2, 1, 1, 2};

template <typename Index>
void SetPlaces(KernelTester* t, bool include_batch) {
  t->Attr("T", MS_FLOAT32).Attr("Targmax", ms::DTypeOf<Index>());
  t->Attr("padding", std::string("VALID")).Attr("include_batch_in_index", include_batch);
  t->Attr("ksize", Dims{1, 2, 2, 1}).Attr("strides", Dims{1, 2, 2, 1});
}

template <typename Index>
void CheckPlaces(bool include_batch, const std::vector<Index>& places) {
  const std::vector<float> x = {1, 9, 7, 2, 7, 3, 0, 9, -1, 1, -2, 4, -3, 3, -4, 2};
  KernelTester max("MaxPoolWithArgmax"), grad("MaxPoolGradWithArgmax"),
      grad_grad("MaxPoolGradGradWithArgmax");
  for (KernelTester* t : {&max, &grad, &grad_grad}) {
    SetPlaces<Index>(t, include_batch);
    t->Input<float>(kImages, x);
  }
  max.Outputs({MS_FLOAT32, ms::DTypeOf<Index>()});
  ASSERT_TRUE(IsOk(max.Run()));
  EXPECT_EQ(max.Output<float>(0), (std::vector<float>{7, 9, -1, 4}));
  EXPECT_EQ(max.Output<Index>(1), places);
  grad.Input<float>(kPooled, {1, 2, 3, 4}).template Input<Index>(kPooled, places);
  ASSERT_TRUE(IsOk(grad.Run()));
  EXPECT_EQ(grad.Output<float>(0),
            (std::vector<float>{0, 2, 1, 0, 0, 0, 0, 0, 3, 0, 0, 4, 0, 0, 0, 0}));
  grad_grad.Input<float>(kImages, x).template Input<Index>(kPooled, places);
  ASSERT_TRUE(IsOk(grad_grad.Run()));
  EXPECT_EQ(grad_grad.Output<float>(0), (std::vector<float>{7, 9, -1, 4}));
}

TEST(MaxPoolWithArgmaxTest, PlacesCountWithinAnImageOrOverAll) {
  CheckPlaces<int64_t>(false, {2, 1, 0, 3});
  CheckPlaces<int32_t>(true, {2, 1, 8, 11});
}

TEST(MaxPoolGradWithArgmaxTest, RefusesAPlaceInAnotherImage) {
  for (const bool include_batch : {false, true}) {
    KernelTester t("MaxPoolGradWithArgmax");
    SetPlaces<int64_t>(&t, include_batch);
    t.Input<float>(kImages, std::vector<float>(16)).Input<float>(kPooled, std::vector<float>(4));
    t.Input<int64_t>(kPooled, {2, 8, 8, 8});
    const ms::Status status = t.Run();
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
    EXPECT_EQ(status.message(),
              "argmax has the index 8 for element 1 of grad, which is outside of the image of 8 "
              "elements that this element belongs to");
  }
}

}  // namespace
}  // namespace millstream::kernels
