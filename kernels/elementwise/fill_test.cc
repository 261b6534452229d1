#include <cmath>
#include <complex>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

template <typename T>
class FillTest : public ::testing::Test {};
using AllTypes = ::testing::Types<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                                  uint32_t, uint64_t, float, double, std::complex<double>>;
TYPED_TEST_SUITE(FillTest, AllTypes);

TYPED_TEST(FillTest, WritesTheValueEverywhere) {
  using T = TypeParam;
  KernelTester t("Fill");
  t.Attr("T", ms::DTypeOf<T>()).Attr("index_type", MS_INT32);
  t.template ConstInput<int32_t>({2}, {3, 5}).template Input<T>({}, {T(1)});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(t.template Output<T>(0), std::vector<T>(15, T(1)));
}

TYPED_TEST(FillTest, ZerosAndOnesTakeTheShapeOfTheirInput) {
  using T = TypeParam;
  for (const auto& [op, value] : {std::make_pair("ZerosLike", 0), std::make_pair("OnesLike", 1)}) {
    KernelTester t(op);
    t.Attr("T", ms::DTypeOf<T>()).template Input<T>({2, 2}, {T(1), T(0), T(1), T(1)});
    ASSERT_TRUE(IsOk(t.Run())) << op;
    EXPECT_EQ(t.template Output<T>(0), std::vector<T>(4, T(value))) << op;
  }
}

TEST(FillTest, Int64DimensionsScalarsAndEmptyResults) {
  KernelTester t("Fill");
  t.Attr("T", MS_FLOAT32).Attr("index_type", MS_INT64);
  t.Input<int64_t>({2}, {4, 0}).Input<float>({}, {2});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{4, 0}));
  t.SetInput<int64_t>(0, {0}, {});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{2}));
}

TEST(FillTest, LargeTensorsAreCutWithoutSeams) {
  KernelTester t("Fill");
  t.Attr("T", MS_FLOAT64).Attr("index_type", MS_INT32);
  t.Input<int32_t>({1}, {200001}).Input<double>({}, {3});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<double>(0), std::vector<double>(200001, 3));
}

TEST(FillTest, BadArgumentsAreRefusedByName) {
  const auto fill = [](std::vector<int64_t> dims_shape, const std::vector<int64_t>& dims,
                       std::vector<int64_t> value_shape, const std::vector<float>& value) {
    KernelTester t("Fill");
    t.Attr("T", MS_FLOAT32).Attr("index_type", MS_INT64);
    t.Input<int64_t>(std::move(dims_shape), dims).Input<float>(std::move(value_shape), value);
    return t.Run();
  };
  EXPECT_EQ(fill({2}, {2, -1}, {}, {1}).message(), "Fill: input dims has a negative element -1");
  EXPECT_EQ(fill({2}, {2, -1}, {}, {1}).code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(fill({2}, {int64_t{1} << 40, int64_t{1} << 40}, {}, {1}).code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(fill({1, 1}, {2}, {}, {1}).code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(fill({33}, std::vector<int64_t>(33, 1), {}, {1}).code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(fill({1}, {2}, {1}, {1}).message(),
            "Fill: input value must be a scalar, its shape is [1]");
}

TEST(ZerosLikeTest, NanBecomesZero) {
  KernelTester t("ZerosLike");
  t.Attr("T", MS_FLOAT32).Input<float>({2}, {std::nanf(""), 1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace millstream::kernels
