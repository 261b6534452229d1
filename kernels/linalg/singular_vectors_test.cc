#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/linalg/test_matrix.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

// The diagonals of bidiagonal matrices that are hard to decompose, at place i of n.
struct Diagonals {
  const char* name;
  double (*diagonal)(int64_t i, int64_t n);
  double (*above)(int64_t i, int64_t n);
};

double One(int64_t, int64_t) { return 1; }
double Zero(int64_t, int64_t) { return 0; }
double Tiny(int64_t, int64_t) { return 1e-17; }
double Descending(int64_t i, int64_t) { return std::pow(10.0, static_cast<double>(-i) / 3); }
double Ascending(int64_t i, int64_t n) { return Descending(n - 1 - i, n); }
double SteeplyAscending(int64_t i, int64_t n) {
  return std::pow(10.0, -8 * static_cast<double>(n - 1 - i));
}
double SmallFromTheMiddle(int64_t i, int64_t n) { return i < n / 2 ? 1 : 1e-200; }
double SmallToTheMiddle(int64_t i, int64_t n) { return i > n / 2 ? 1 : 1e-300; }
double OftenZero(int64_t i, int64_t) { return i % 7 == 3 ? 0 : 1; }
double Glued(int64_t i, int64_t) { return i % 11 == 10 ? 1e-9 : 0.2; }
double Thrice(int64_t i, int64_t) { return static_cast<double>(1 + i % 3); }
double NearlyNone(int64_t i, int64_t) { return 1e-13 * static_cast<double>(i % 5); }
double Powers(int64_t i, int64_t) { return std::pow(0.9, static_cast<double>(i)); }
double NegativePowers(int64_t i, int64_t n) { return -0.4 * Powers(i, n); }

constexpr Diagonals kHardMatrices[] = {
    {"zero", Zero, Zero},
    {"identity", One, Zero},
    {"a zero beside equal values", Zero, One},
    {"a tiny value beside near ones", Tiny, One},
    {"descending", Descending, Descending},
    {"ascending", Ascending, Ascending},
    {"below the range of double", SteeplyAscending, SteeplyAscending},
    {"small parts", SmallFromTheMiddle, SmallFromTheMiddle},
    {"small parts first", SmallToTheMiddle, SmallToTheMiddle},
    {"zeros on the diagonal", OftenZero, Glued},
    {"many near values", One, Glued},
    {"equal values with errors", Thrice, NearlyNone},
    {"nearly without full rank", Powers, NegativePowers},
};

// Matrices by rows, of n columns.
template <typename T>
using Square = std::vector<T>;

template <typename T>
Square<T> Bidiagonal(const Diagonals& diagonals, int64_t n) {
  Square<T> x(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i) {
    x[static_cast<size_t>(i * n + i)] = T(diagonals.diagonal(i, n));
    if (i + 1 < n) x[static_cast<size_t>(i * n + i + 1)] = T(diagonals.above(i, n));
  }
  return x;
}

// The largest element of A diag(scales) B^H - C; a NaN if any is.
template <typename T>
double Error(int64_t n, const Square<T>& a, const std::vector<T>& scales, const Square<T>& b,
             const Square<T>& c) {
  double most = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T sum = -c[static_cast<size_t>(i * n + j)];
      for (int64_t k = 0; k < n; ++k) {
        sum += a[static_cast<size_t>(i * n + k)] * scales[static_cast<size_t>(k)] *
               Conjugate(b[static_cast<size_t>(j * n + k)]);
      }
      const double size = std::abs(sum);
      if (std::isnan(size)) return size;
      most = std::max(most, size);
    }
  }
  return most;
}

template <typename T>
class SingularVectorsTest : public ::testing::Test {};
using Types = ::testing::Types<double, Complex>;
TYPED_TEST_SUITE(SingularVectorsTest, Types);

TYPED_TEST(SingularVectorsTest, OfHardMatricesAreOrthogonal) {
  using T = TypeParam;
  for (const Diagonals& hard : kHardMatrices) {
    for (const int64_t n : {2, 33, 70, 131}) {
      SCOPED_TRACE(std::string(hard.name) + ", " + std::to_string(n));
      const Square<T> x = Bidiagonal<T>(hard, n);
      KernelTester t("Svd");
      t.Attr("T", ms::DTypeOf<T>()).Attr("full_matrices", false).Attr("compute_uv", true);
      t.Outputs({ms::DTypeOf<T>(), ms::DTypeOf<T>(), ms::DTypeOf<T>()});
      t.template Input<T>({n, n}, x);
      ASSERT_TRUE(IsOk(t.Run()));
      const std::vector<T> values = t.template Output<T>(0);
      for (size_t i = 1; i < values.size(); ++i) {
        ASSERT_GE(std::real(values[i - 1]), std::real(values[i]));
      }
      ASSERT_GE(std::real(values.back()), 0);
      const Square<T> u = t.template Output<T>(1);
      const Square<T> v = t.template Output<T>(2);
      const std::vector<T> ones(static_cast<size_t>(n), T(1));
      const Square<T> identity = Bidiagonal<T>({"identity", One, Zero}, n);
      EXPECT_LT(Error(n, u, values, v, x), 1e-12);
      EXPECT_LT(Error(n, u, ones, u, identity), 1e-12);
      EXPECT_LT(Error(n, v, ones, v, identity), 1e-12);
    }
  }
}

TYPED_TEST(SingularVectorsTest, ValuesWithoutVectorsAreTheSame) {
  using T = TypeParam;
  for (const Diagonals& hard : kHardMatrices) {
    for (const int64_t n : {33, 131, 257}) {
      SCOPED_TRACE(std::string(hard.name) + ", " + std::to_string(n));
      std::vector<T> values[2];
      for (const bool vectors : {false, true}) {
        KernelTester t("Svd");
        t.Attr("T", ms::DTypeOf<T>()).Attr("full_matrices", false).Attr("compute_uv", vectors);
        t.Outputs({ms::DTypeOf<T>(), ms::DTypeOf<T>(), ms::DTypeOf<T>()});
        t.template Input<T>({n, n}, Bidiagonal<T>(hard, n));
        ASSERT_TRUE(IsOk(t.Run()));
        values[vectors ? 1 : 0] = t.template Output<T>(0);
      }
      ASSERT_EQ(values[0].size(), values[1].size());
      for (size_t i = 0; i < values[0].size(); ++i) {
        ASSERT_LT(std::abs(values[0][i] - values[1][i]), 1e-12) << i;
      }
    }
  }
}

}  // namespace
}  // namespace millstream::kernels
