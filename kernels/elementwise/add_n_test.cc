#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

template <typename T>
class AddNTest : public ::testing::Test {};
using AllTypes = ::testing::Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t,
                                  uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(AddNTest, AllTypes);

TYPED_TEST(AddNTest, AddsAnyNumberOfInputs) {
  using T = TypeParam;
  for (int n : {1, 2, 3, 9}) {
    KernelTester t("AddN");
    t.Attr("T", ms::DTypeOf<T>()).Attr("N", n);
    T first = 0;
    T second = 0;
    for (int i = 0; i < n; ++i) {
      t.template Input<T>({2}, {static_cast<T>(i), static_cast<T>(2 * i + 1)});
      first = static_cast<T>(first + i);
      second = static_cast<T>(second + 2 * i + 1);
    }
    ASSERT_TRUE(IsOk(t.Run())) << n;
    EXPECT_EQ(t.template Output<T>(0), (std::vector<T>{first, second})) << n;
  }
}

TEST(AddNTest, AddsInTheOrderOfTheInputs) {
  // The small number is lost in the large one before it is taken away again.
  KernelTester t("AddN");
  t.Attr("T", MS_FLOAT32).Attr("N", 3);
  t.Input<float>({1}, {1}).Input<float>({1}, {1e20f}).Input<float>({1}, {-1e20f});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{0}));
}

TEST(AddNTest, LargeTensorsAreCutWithoutSeams) {
  std::vector<int32_t> x(150007);
  std::vector<int32_t> expected(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<int32_t>(i);
    expected[i] = 3 * x[i];
  }
  KernelTester t("AddN");
  t.Attr("T", MS_INT32).Attr("N", 3);
  for (int i = 0; i < 3; ++i) t.Input<int32_t>({static_cast<int64_t>(x.size())}, x);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int32_t>(0), expected);
}

TEST(AddNTest, EmptyTensors) {
  KernelTester t("AddN");
  t.Attr("T", MS_FLOAT32).Attr("N", 2).Input<float>({0, 2}, {}).Input<float>({0, 2}, {});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{0, 2}));
}

TEST(AddNTest, ShapesThatDifferAreRefusedByName) {
  KernelTester t("AddN");
  t.Attr("T", MS_FLOAT32).Attr("N", 2).Input<float>({2}, {1, 2}).Input<float>({1, 2}, {1, 2});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "AddN: all inputs must have the same shape, inputs[0] has [2] and inputs[1] has [1,2]");
}

}  // namespace
}  // namespace millstream::kernels
