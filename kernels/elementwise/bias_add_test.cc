#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

template <typename T>
class BiasAddTest : public ::testing::Test {};
using AllTypes = ::testing::Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t,
                                  uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(BiasAddTest, AllTypes);

TYPED_TEST(BiasAddTest, AddsAlongTheLastDimension) {
  using T = TypeParam;
  KernelTester t("BiasAdd");
  t.Attr("T", ms::DTypeOf<T>()).Attr("data_format", "NHWC");
  t.template Input<T>({2, 1, 3}, {1, 2, 3, 4, 5, 6}).template Input<T>({3}, {10, 20, 30});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.template Output<T>(0), (std::vector<T>{11, 22, 33, 14, 25, 36}));
}

TYPED_TEST(BiasAddTest, AddsAlongTheSecondDimension) {
  using T = TypeParam;
  KernelTester t("BiasAdd");
  t.Attr("T", ms::DTypeOf<T>()).Attr("data_format", "NCHW");
  t.template Input<T>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}).template Input<T>({2}, {10, 20});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.template Output<T>(0), (std::vector<T>{11, 12, 23, 24, 15, 16, 27, 28}));
}

TEST(BiasAddTest, MatricesAreTheSameInBothFormats) {
  for (const char* format : {"NHWC", "NCHW"}) {
    KernelTester t("BiasAdd");
    t.Attr("T", MS_FLOAT32).Attr("data_format", format);
    t.Input<float>({2, 2}, {1, 2, 3, 4}).Input<float>({2}, {10, 20});
    ASSERT_TRUE(IsOk(t.Run())) << format;
    EXPECT_EQ(t.Output<float>(0), (std::vector<float>{11, 22, 13, 24})) << format;
  }
}

TEST(BiasAddTest, EmptyTensors) {
  KernelTester t("BiasAdd");
  t.Attr("T", MS_FLOAT32).Attr("data_format", "NHWC");
  t.Input<float>({0, 2}, {}).Input<float>({2}, {1, 2});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{0, 2}));
}

TEST(BiasAddTest, BadShapesAreRefusedByName) {
  const auto run = [](std::vector<int64_t> value_shape, const std::vector<float>& value,
                      std::vector<int64_t> bias_shape, const std::vector<float>& bias) {
    KernelTester t("BiasAdd");
    t.Attr("T", MS_FLOAT32).Attr("data_format", "NHWC");
    t.Input<float>(std::move(value_shape), value).Input<float>(std::move(bias_shape), bias);
    return t.Run();
  };
  const ms::Status rank = run({2}, {1, 2}, {2}, {1, 2});
  EXPECT_EQ(rank.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(rank.message().find("input value"), std::string::npos) << rank.message();
  const ms::Status length = run({1, 2}, {1, 2}, {3}, {1, 2, 3});
  EXPECT_EQ(length.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(length.message().find("input bias must be a vector of 2"), std::string::npos)
      << length.message();
  EXPECT_EQ(run({1, 2}, {1, 2}, {1, 2}, {1, 2}).code(), MS_INVALID_ARGUMENT);
}

TEST(BiasAddTest, UnknownFormatsAreRefused) {
  KernelTester t("BiasAdd");
  t.Attr("T", MS_FLOAT32).Attr("data_format", "CHWN");
  t.Input<float>({1, 1}, {1}).Input<float>({1}, {1});
  EXPECT_EQ(t.Run().code(), MS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace millstream::kernels
