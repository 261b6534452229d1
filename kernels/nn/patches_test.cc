// ExtractImagePatches, ExtractVolumePatches, DataFormatDimMap and DataFormatVecPermute.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using Sizes = std::vector<int64_t>;

void SetWindows(KernelTester* t, const Sizes& sizes, const Sizes& strides, const char* padding) {
  t->Attr("ksizes", sizes).Attr("strides", strides).Attr("padding", std::string(padding));
}

TEST(ExtractImagePatchesTest, ZerosAreOutsideOfTheImage) {
  KernelTester t("ExtractImagePatches");
  SetWindows(&t, {1, 2, 3, 1}, {1, 2, 1, 1}, "SAME");
  t.Attr("rates", Sizes{1, 1, 1, 1}).Attr("T", MS_INT16);
  t.Input<int16_t>({1, 3, 2, 1}, {1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (Sizes{1, 2, 2, 6}));
  EXPECT_EQ(t.Output<int16_t>(0), (std::vector<int16_t>{0, 1, 2, 0, 3, 4,  //
                                                        1, 2, 0, 3, 4, 0,  //
                                                        0, 5, 6, 0, 0, 0,  //
                                                        5, 6, 0, 0, 0, 0}));
}

TEST(ExtractImagePatchesTest, RatesAreTheDistanceOfElements) {
  KernelTester t("ExtractImagePatches");
  SetWindows(&t, {1, 1, 2, 1}, {1, 1, 1, 1}, "SAME");
  t.Attr("rates", Sizes{1, 1, 2, 1}).Attr("T", MS_FLOAT64);
  t.Input<double>({1, 1, 3, 2}, {1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<double>(0), (std::vector<double>{0, 0, 3, 4, 1, 2, 5, 6, 3, 4, 0, 0}));
}

TEST(ExtractVolumePatchesTest, TakesWindowsOfThreeDimensions) {
  KernelTester t("ExtractVolumePatches");
  SetWindows(&t, {1, 2, 1, 2, 1}, {1, 1, 1, 1, 1}, "VALID");
  t.Attr("T", MS_FLOAT32);
  t.Input<float>({1, 2, 2, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (Sizes{1, 1, 2, 2, 4}));
  EXPECT_EQ(t.Output<float>(0),
            (std::vector<float>{1, 2, 7, 8, 2, 3, 8, 9, 4, 5, 10, 11, 5, 6, 11, 12}));
}

TEST(ExtractImagePatchesTest, ARateOfZeroIsOutOfRange) {
  KernelTester t("ExtractImagePatches");
  SetWindows(&t, {1, 2, 2, 1}, {1, 1, 1, 1}, "VALID");
  t.Attr("rates", Sizes{1, 0, 1, 1}).Attr("T", MS_FLOAT32);
  t.Input<float>({1, 2, 2, 1}, {1, 2, 3, 4});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_OUT_OF_RANGE);
  EXPECT_EQ(status.message(), "rates has the entry 0, expected a positive 32-bit integer");
}

void SetFormats(KernelTester* t, const char* from, const char* to) {
  t->Attr("src_format", std::string(from)).Attr("dst_format", std::string(to));
}

TEST(DataFormatTest, DimensionsAndElementsGoToTheirPlaces) {
  KernelTester dims("DataFormatDimMap"), vector("DataFormatVecPermute"),
      pairs("DataFormatVecPermute");
  dims.Attr("T", MS_INT32).Input<int32_t>({6}, {0, 1, 2, 3, -1, -4});
  vector.Attr("T", MS_INT64).Input<int64_t>({4}, {10, 11, 12, 13});
  pairs.Attr("T", MS_INT32).Input<int32_t>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  for (KernelTester* t : {&dims, &vector, &pairs}) {
    SetFormats(t, "NHWC", "NCHW");
    ASSERT_TRUE(IsOk(t->Run()));
  }
  EXPECT_EQ(dims.Output<int32_t>(0), (std::vector<int32_t>{0, 2, 3, 1, 1, 0}));
  EXPECT_EQ(vector.Output<int64_t>(0), (std::vector<int64_t>{10, 13, 11, 12}));
  EXPECT_EQ(pairs.Output<int32_t>(0), (std::vector<int32_t>{1, 2, 7, 8, 3, 4, 5, 6}));
}

TEST(DataFormatTest, RefusesDimensionsAndFormatsThatAreNone) {
  KernelTester dims("DataFormatDimMap"), letters("DataFormatVecPermute");
  SetFormats(&dims, "NHWC", "NCHW");
  dims.Attr("T", MS_INT32).Input<int32_t>({1}, {4});
  EXPECT_EQ(dims.Run().message(), "x has the dimension 4, expected one in [-4, 4)");
  SetFormats(&letters, "NHWC", "NCDH");
  letters.Attr("T", MS_INT32).Input<int32_t>({4}, {1, 2, 3, 4});
  EXPECT_EQ(letters.Run().message(),
            "dst_format must have the letters of src_format, NHWC, in any order, but is NCDH");
}

}  // namespace
}  // namespace millstream::kernels
