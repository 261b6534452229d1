#include <cmath>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

template <typename T>
std::vector<bool> Compare(const std::string& op, const std::vector<T>& x, const std::vector<T>& y) {
  KernelTester t(op);
  t.Attr("T", ms::DTypeOf<T>()).Attr("incompatible_shape_error", true).Outputs({MS_BOOL});
  t.template Input<T>({static_cast<int64_t>(x.size())}, x);
  t.template Input<T>({static_cast<int64_t>(y.size())}, y);
  EXPECT_TRUE(IsOk(t.Run())) << op;
  return t.template Output<bool>(0);
}

using Bools = std::vector<bool>;

template <typename T>
class CompareTest : public ::testing::Test {};
using AllTypes = ::testing::Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t,
                                  uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(CompareTest, AllTypes);

TYPED_TEST(CompareTest, ComparesByValue) {
  using T = TypeParam;
  // The last pair differs in sign for signed types and is large for unsigned ones.
  const T last = static_cast<T>(-1);
  const std::vector<T> x = {1, 2, 3, last};
  const std::vector<T> y = {2, 2, 2, 1};
  const bool below = last < T(1);
  EXPECT_EQ(Compare<T>("Equal", x, y), (Bools{false, true, false, false}));
  EXPECT_EQ(Compare<T>("NotEqual", x, y), (Bools{true, false, true, true}));
  EXPECT_EQ(Compare<T>("Less", x, y), (Bools{true, false, false, below}));
  EXPECT_EQ(Compare<T>("LessEqual", x, y), (Bools{true, true, false, below}));
  EXPECT_EQ(Compare<T>("Greater", x, y), (Bools{false, false, true, !below}));
  EXPECT_EQ(Compare<T>("GreaterEqual", x, y), (Bools{false, true, true, !below}));
}

TEST(CompareTest, NothingComparesToNanAndZerosAreEqual) {
  const float nan = std::nanf("");
  const std::vector<float> x = {nan, 1, nan, 0.0f};
  const std::vector<float> y = {1, nan, nan, -0.0f};
  EXPECT_EQ(Compare<float>("Equal", x, y), (Bools{false, false, false, true}));
  EXPECT_EQ(Compare<float>("NotEqual", x, y), (Bools{true, true, true, false}));
  EXPECT_EQ(Compare<float>("Less", x, y), (Bools{false, false, false, false}));
  EXPECT_EQ(Compare<float>("LessEqual", x, y), (Bools{false, false, false, true}));
  EXPECT_EQ(Compare<float>("Greater", x, y), (Bools{false, false, false, false}));
  EXPECT_EQ(Compare<float>("GreaterEqual", x, y), (Bools{false, false, false, true}));
}

TEST(CompareTest, SwappedOperandsBroadcastTheRightWay) {
  KernelTester t("Greater");
  t.Attr("T", MS_INT32).Outputs({MS_BOOL});
  t.Input<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}).Input<int32_t>({3}, {3, 2, 1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<bool>(0), (Bools{false, false, true, true, true, true}));
}

TEST(CompareTest, EitherOperandMayStandStillAlongARow) {
  const Bools same = {false, true, true, false, false, true};
  for (const bool swap : {false, true}) {
    KernelTester t("Equal");
    t.Attr("T", MS_INT64).Attr("incompatible_shape_error", true).Outputs({MS_BOOL});
    if (!swap) t.Input<int64_t>({2, 1}, {4, 5});
    t.Input<int64_t>({2, 3}, {5, 4, 4, 4, 4, 5});
    if (swap) t.Input<int64_t>({2, 1}, {4, 5});
    EXPECT_TRUE(IsOk(t.Run()));
    EXPECT_EQ(t.Output<bool>(0), same);
  }
}

TEST(CompareTest, AnOperandOfTheSameBytesIsNotOverwritten) {
  // Four bytes on both sides of the comparison, but x repeats.
  KernelTester t("Less");
  t.Attr("T", MS_INT32).Outputs({MS_BOOL});
  t.Input<int32_t>({1}, {2}).Input<int32_t>({4}, {1, 2, 3, 4});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<bool>(0), (Bools{false, false, true, true}));
}

TEST(CompareTest, ShapesThatDoNotBroadcastAreAnErrorOrOneTruthValue) {
  for (const bool strict : {true, false}) {
    for (const auto& [op, value] :
         {std::make_pair("Equal", false), std::make_pair("NotEqual", true)}) {
      KernelTester t(op);
      t.Attr("T", MS_FLOAT32).Attr("incompatible_shape_error", strict).Outputs({MS_BOOL});
      t.Input<float>({2}, {1, 2}).Input<float>({3}, {1, 2, 3});
      const ms::Status status = t.Run();
      if (strict) {
        EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT) << op;
      } else {
        ASSERT_TRUE(IsOk(status)) << op;
        EXPECT_EQ(t.OutputShape(0), std::vector<int64_t>{}) << op;
        EXPECT_EQ(t.Output<bool>(0), Bools{value}) << op;
      }
    }
  }
}

TEST(CompareTest, BooleansAreComparable) {
  EXPECT_EQ(Compare<bool>("Equal", {true, true, false}, {true, false, false}),
            (Bools{true, false, true}));
}

TEST(LogicalTest, TruthTables) {
  const Bools x = {false, false, true, true};
  const Bools y = {false, true, false, true};
  for (const auto& [op, expected] : {std::make_pair("LogicalAnd", Bools{false, false, false, true}),
                                     std::make_pair("LogicalOr", Bools{false, true, true, true})}) {
    KernelTester t(op);
    t.Outputs({MS_BOOL}).Input<bool>({4}, x).Input<bool>({4}, y);
    ASSERT_TRUE(IsOk(t.Run())) << op;
    EXPECT_EQ(t.Output<bool>(0), expected) << op;
  }
}

TEST(LogicalTest, BroadcastsAndRefuses) {
  KernelTester t("LogicalOr");
  t.Outputs({MS_BOOL}).Input<bool>({2, 1}, {true, false}).Input<bool>({2}, {false, true});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<bool>(0), (Bools{true, true, false, true}));
  t.SetInput<bool>(0, {3}, {true, true, true});
  EXPECT_EQ(t.Run().code(), MS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace millstream::kernels
