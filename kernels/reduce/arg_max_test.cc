#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

template <typename T, typename Index = int64_t>
ms::Status RunArg(const std::string& op, std::vector<int64_t> dims, const std::vector<T>& values,
                  int32_t dimension, std::vector<Index>* out) {
  KernelTester t(op);
  t.Attr("T", ms::DTypeOf<T>()).Attr("Tidx", MS_INT32);
  t.Attr("output_type", ms::DTypeOf<Index>()).Outputs({ms::DTypeOf<Index>()});
  t.template Input<T>(std::move(dims), values).template Input<int32_t>({}, {dimension});
  ms::Status status = t.Run();
  if (status.ok()) *out = t.template Output<Index>(0);
  return status;
}

template <typename T>
std::vector<int64_t> Positions(const std::string& op, std::vector<int64_t> dims,
                               const std::vector<T>& values, int32_t dimension) {
  std::vector<int64_t> out;
  EXPECT_TRUE(IsOk(RunArg<T>(op, std::move(dims), values, dimension, &out))) << op;
  return out;
}

using Indices = std::vector<int64_t>;

template <typename T>
class ArgMaxTest : public ::testing::Test {};
using AllTypes = ::testing::Types<float, double, Float16, BFloat16, int8_t, int16_t, int32_t,
                                  int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(ArgMaxTest, AllTypes);

TYPED_TEST(ArgMaxTest, FindsTheFirstExtremeAlongEachDimension) {
  using T = TypeParam;
  std::vector<T> x;
  for (int value : {1, 5, 5, 7, 0, 7}) x.push_back(static_cast<T>(value));
  EXPECT_EQ(Positions<T>("ArgMax", {2, 3}, x, 1), (Indices{1, 0}));
  EXPECT_EQ(Positions<T>("ArgMax", {2, 3}, x, -1), (Indices{1, 0}));
  EXPECT_EQ(Positions<T>("ArgMax", {2, 3}, x, 0), (Indices{1, 0, 1}));
  EXPECT_EQ(Positions<T>("ArgMin", {2, 3}, x, 1), (Indices{0, 1}));
  EXPECT_EQ(Positions<T>("ArgMin", {2, 3}, x, 0), (Indices{0, 1, 0}));
}

TEST(ArgMaxTest, LargeUnsignedAndNegativeValues) {
  EXPECT_EQ(Positions<uint8_t>("ArgMax", {3}, {1, 200, 100}, 0), (Indices{1}));
  EXPECT_EQ(Positions<int8_t>("ArgMin", {3}, {1, -100, 100}, 0), (Indices{1}));
}

TEST(ArgMaxTest, Int32Positions) {
  std::vector<int32_t> out;
  ASSERT_TRUE(IsOk(RunArg<float, int32_t>("ArgMax", {1, 4}, {1, 2, 4, 3}, 1, &out)));
  EXPECT_EQ(out, (std::vector<int32_t>{2}));
}

TEST(ArgMaxTest, NanNeverCounts) {
  const float nan = std::nanf("");
  for (int64_t inner : {1, 2}) {
    std::vector<float> x;
    for (float value : {nan, 1.0f, 2.0f, nan}) x.insert(x.end(), static_cast<size_t>(inner), value);
    const Indices two(static_cast<size_t>(inner), 2);
    const Indices one(static_cast<size_t>(inner), 1);
    EXPECT_EQ(Positions<float>("ArgMax", {4, inner}, x, 0), two);
    EXPECT_EQ(Positions<float>("ArgMin", {4, inner}, x, 0), one);
    EXPECT_EQ(Positions<float>("ArgMax", {2, inner}, std::vector<float>(2 * inner, nan), 0),
              Indices(static_cast<size_t>(inner), 0));
  }
}

// What the ops promise, one element after the other.
template <typename T, typename Beats>
Indices FirstExtremes(const std::vector<T>& x, int64_t n, Beats beats) {
  Indices positions;
  for (size_t row = 0; row < x.size(); row += static_cast<size_t>(n)) {
    int64_t best = -1;
    for (int64_t i = 0; i < n; ++i) {
      const auto at = [&](int64_t k) {
        return static_cast<double>(x[row + static_cast<size_t>(k)]);
      };
      if (!std::isnan(at(i)) && (best < 0 || beats(at(i), at(best)))) best = i;
    }
    positions.push_back(std::max(best, int64_t{0}));
  }
  return positions;
}

// Rows of n of few different values, so that there are ties, with `special` ones here and there.
template <typename T>
void ExpectFirstExtremesInRows(int64_t n, const std::vector<T>& special) {
  constexpr int64_t kRows = 70;
  std::mt19937 random(static_cast<uint32_t>(n));
  std::vector<T> x;
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t i = 0; i < n; ++i) {
      const bool is_special = !special.empty() && random() % (row % 3 == 0 ? 3 : 50) == 0;
      x.push_back(is_special ? special[random() % special.size()]
                             : static_cast<T>(static_cast<int>(random() % 40)));
    }
  }
  const std::vector<int64_t> dims = {kRows, n};
  EXPECT_EQ(Positions<T>("ArgMax", dims, x, 1), FirstExtremes(x, n, std::greater<double>())) << n;
  EXPECT_EQ(Positions<T>("ArgMin", dims, x, 1), FirstExtremes(x, n, std::less<double>())) << n;
}

TYPED_TEST(ArgMaxTest, RowsOfAnyLengthAgreeWithTheReference) {
  using T = TypeParam;
  std::vector<int64_t> lengths = {200, 255, 256, 257, 300, 511, 513, 1023, 1025, 2100};
  for (int64_t n = 1; n < 70; ++n) lengths.push_back(n);
  for (const int64_t n : lengths) ExpectFirstExtremesInRows<T>(n, {});
}

template <typename T>
class ArgMaxSpecialTest : public ::testing::Test {};
using WideFloats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ArgMaxSpecialTest, WideFloats);

TYPED_TEST(ArgMaxSpecialTest, NansZerosAndInfinitiesInRows) {
  using T = TypeParam;
  constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  for (const int64_t n : {1, 3, 15, 16, 17, 31, 32, 33, 64, 100, 256, 257, 600}) {
    ExpectFirstExtremesInRows<T>(n, {kNaN});
    ExpectFirstExtremesInRows<T>(n, {T(-0.0), kNaN});
    ExpectFirstExtremesInRows<T>(n, {kInfinity, -kInfinity, kNaN});
  }
}

TYPED_TEST(ArgMaxSpecialTest, TheWeakestNumberCountsAmongNans) {
  using T = TypeParam;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  for (const int64_t n : {1, 40, 300, 700}) {
    for (const int64_t at : {int64_t{0}, n / 2, n - 1}) {
      std::vector<T> x(static_cast<size_t>(n), std::numeric_limits<T>::quiet_NaN());
      x[static_cast<size_t>(at)] = -kInfinity;
      EXPECT_EQ(Positions<T>("ArgMax", {1, n}, x, 1), (Indices{at})) << n;
      x[static_cast<size_t>(at)] = kInfinity;
      EXPECT_EQ(Positions<T>("ArgMin", {1, n}, x, 1), (Indices{at})) << n;
    }
  }
}

// Zeros are equal whatever their signs are.
TYPED_TEST(ArgMaxSpecialTest, TheFirstZeroWins) {
  using T = TypeParam;
  for (const int64_t n : {2, 40, 300}) {
    for (const T first : {T(0.0), T(-0.0)}) {
      std::vector<T> x(static_cast<size_t>(n), -first);
      x[0] = first;
      EXPECT_EQ(Positions<T>("ArgMax", {1, n}, x, 1), (Indices{0})) << n;
      EXPECT_EQ(Positions<T>("ArgMin", {1, n}, x, 1), (Indices{0})) << n;
    }
  }
}

TEST(ArgMaxTest, LargeTensorsAgreeWithTheReference) {
  constexpr int64_t kOuter = 60;
  constexpr int64_t kAxis = 9;
  constexpr int64_t kInner = 300;
  std::vector<int32_t> x(kOuter * kAxis * kInner);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>(i * 7919 % 1009);
  Indices expected;
  for (int64_t o = 0; o < kOuter; ++o) {
    for (int64_t i = 0; i < kInner; ++i) {
      int64_t best = 0;
      const auto at = [&](int64_t a) {
        return x[static_cast<size_t>((o * kAxis + a) * kInner + i)];
      };
      for (int64_t a = 1; a < kAxis; ++a) best = at(a) > at(best) ? a : best;
      expected.push_back(best);
    }
  }
  EXPECT_EQ(Positions<int32_t>("ArgMax", {kOuter, kAxis, kInner}, x, 1), expected);
}

TEST(ArgMaxTest, EmptyOutputs) { EXPECT_EQ(Positions<float>("ArgMax", {0, 3}, {}, 1), Indices()); }

TEST(ArgMaxTest, BadDimensionsAreRefusedByName) {
  std::vector<int64_t> out;
  for (int32_t dimension : {2, -3}) {
    const ms::Status status = RunArg<float>("ArgMin", {1, 2}, {1, 2}, dimension, &out);
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("expected dimension in the range [-2, 2)"), std::string::npos)
        << status.message();
  }
  const ms::Status empty = RunArg<float>("ArgMax", {2, 0}, {}, 1, &out);
  EXPECT_EQ(empty.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(empty.message().find("is empty in input shape [2,0]"), std::string::npos)
      << empty.message();
  EXPECT_EQ(RunArg<float>("ArgMax", {}, {1}, 0, &out).code(), MS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace millstream::kernels
