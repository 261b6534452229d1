#include <cmath>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

template <typename T>
class SelectTest : public ::testing::Test {};
using AllSizes = ::testing::Types<int8_t, int16_t, float, double>;
TYPED_TEST_SUITE(SelectTest, AllSizes);

TYPED_TEST(SelectTest, ChoosesElements) {
  using T = TypeParam;
  KernelTester t("Select");
  t.Attr("T", ms::DTypeOf<T>());
  t.template Input<bool>({2, 2}, {true, false, false, true});
  t.template Input<T>({2, 2}, {1, 2, 3, 4}).template Input<T>({2, 2}, {5, 6, 7, 8});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.template Output<T>(0), (std::vector<T>{1, 6, 7, 4}));
}

TYPED_TEST(SelectTest, ChoosesRowsByAVector) {
  using T = TypeParam;
  KernelTester t("Select");
  t.Attr("T", ms::DTypeOf<T>());
  t.template Input<bool>({2}, {false, true});
  t.template Input<T>({2, 3}, {1, 2, 3, 4, 5, 6});
  t.template Input<T>({2, 3}, {7, 8, 9, 10, 11, 12});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.template Output<T>(0), (std::vector<T>{7, 8, 9, 4, 5, 6}));
}

TYPED_TEST(SelectTest, AScalarChoosesEverything) {
  using T = TypeParam;
  KernelTester t("Select");
  t.Attr("T", ms::DTypeOf<T>());
  t.template Input<bool>({}, {false});
  t.template Input<T>({2}, {1, 2}).template Input<T>({2}, {3, 4});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.template Output<T>(0), (std::vector<T>{3, 4}));
}

TEST(SelectTest, NanOfTheOtherSideDoesNotSpread) {
  const float nan = std::nanf("");
  KernelTester t("Select");
  t.Attr("T", MS_FLOAT32).Input<bool>({2}, {true, false});
  t.Input<float>({2}, {1, nan}).Input<float>({2}, {nan, 2});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{1, 2}));
}

TEST(SelectTest, EmptyTensors) {
  KernelTester t("Select");
  t.Attr("T", MS_FLOAT32).Input<bool>({0}, {}).Input<float>({0, 3}, {}).Input<float>({0, 3}, {});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{0, 3}));
}

TEST(SelectTest, ShapesThatDoNotFitAreRefusedByName) {
  KernelTester t("Select");
  t.Attr("T", MS_INT32).Input<bool>({3}, {true, true, false});
  t.Input<int32_t>({2}, {1, 2}).Input<int32_t>({2}, {3, 4});
  ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("condition"), std::string::npos) << status.message();
  t.SetInput<int32_t>(2, {3}, {3, 4, 5});
  status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("t and e"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace millstream::kernels
