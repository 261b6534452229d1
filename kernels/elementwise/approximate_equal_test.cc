#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

template <typename T>
std::vector<bool> AreNear(const std::vector<T>& x, const std::vector<T>& y, float tolerance) {
  KernelTester t("ApproximateEqual");
  t.Attr("T", ms::DTypeOf<T>()).Attr("tolerance", tolerance).Outputs({MS_BOOL});
  t.template Input<T>({static_cast<int64_t>(x.size())}, x);
  t.template Input<T>({static_cast<int64_t>(y.size())}, y);
  EXPECT_TRUE(IsOk(t.Run()));
  return t.Output<bool>(0);
}

using Bools = std::vector<bool>;

TEST(ApproximateEqualTest, TheToleranceItselfIsNear) {
  EXPECT_EQ(AreNear<float>({1, 2, 3, -1}, {1.5, 2.75, 3, -1.5}, 0.5),
            (Bools{true, false, true, true}));
  EXPECT_EQ(AreNear<double>({1, 2}, {1.5, 2.75}, 0.5), (Bools{true, false}));
}

TEST(ApproximateEqualTest, NothingIsNearNaNOrInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(AreNear<float>({std::nanf(""), kInfinity, kInfinity}, {std::nanf(""), kInfinity, 1}, 1),
            (Bools{false, false, false}));
}

TEST(ApproximateEqualTest, DifferencesOfIntegersDoNotWrap) {
  EXPECT_EQ(AreNear<uint8_t>({3, 5, 255}, {5, 3, 0}, 2), (Bools{true, true, false}));
  EXPECT_EQ(AreNear<int8_t>({-128, 127, 5}, {127, -128, 5}, 1e-5f), (Bools{false, false, true}));
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(AreNear<int64_t>({kLeast, 7}, {-1 - kLeast, 8}, 1.5), (Bools{false, true}));
}

TEST(ApproximateEqualTest, NarrowFloatsOverManyTiles) {
  std::vector<Float16> x, y;
  Bools expected;
  for (int i = 0; i < 3001; ++i) {
    x.push_back(Float16(static_cast<float>(i % 50)));
    y.push_back(Float16(static_cast<float>(i % 50) + (i % 3 == 0 ? 1.0f : 0.25f)));
    expected.push_back(i % 3 != 0);
  }
  EXPECT_EQ(AreNear(x, y, 0.5), expected);
}

TEST(ApproximateEqualTest, ShapesMustBeTheSame) {
  KernelTester t("ApproximateEqual");
  t.Attr("T", MS_FLOAT32).Attr("tolerance", 0.5f).Outputs({MS_BOOL});
  t.Input<float>({2}, {1, 2}).Input<float>({1}, {1});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(std::string(status.message()).find("same shape"), std::string::npos);
}

}  // namespace
}  // namespace millstream::kernels
