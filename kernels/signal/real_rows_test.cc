#include "kernels/signal/real_rows.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace millstream::kernels {
namespace {

// Lengths around those of all vectors.
constexpr int64_t kLengths[] = {2, 4, 6, 14, 16, 30, 32, 62, 64, 66, 200, 1024, 1090};

// n complex numbers whose imaginary parts are zeros of either sign, behind an odd address.
template <typename T>
std::vector<T> RealRow(int64_t n) {
  std::vector<T> row(static_cast<size_t>(2 * n + 1));
  for (int64_t j = 0; j < n; ++j) {
    row[1 + 2 * j] = static_cast<T>(j + 1);
    row[2 + 2 * j] = j % 3 == 0 ? T(-0.0) : T(0);
  }
  return row;
}

template <typename T>
struct Pairs {
  explicit Pairs(int64_t n) : re(static_cast<size_t>(n / 2 + 1), T(-1)), im(re) {}
  bool Load(const std::vector<T>& row, int64_t n) {
    return LoadRealRow<T>(row.data() + 1, n, {re.data(), im.data()});
  }
  std::vector<T> re;
  std::vector<T> im;
};

template <typename T>
void ExpectPairs(int64_t n) {
  Pairs<T> pairs(n);
  ASSERT_TRUE(pairs.Load(RealRow<T>(n), n)) << n;
  for (int64_t j = 0; j < n / 2; ++j) {
    ASSERT_EQ(pairs.re[j], static_cast<T>(2 * j + 1)) << n << " at " << j;
    ASSERT_EQ(pairs.im[j], static_cast<T>(2 * j + 2)) << n << " at " << j;
  }
  EXPECT_EQ(pairs.re.back(), T(-1));
  EXPECT_EQ(pairs.im.back(), T(-1));
}

TEST(RealRows, PairsOfRealPartsAreRead) {
  for (const int64_t n : kLengths) {
    ExpectPairs<float>(n);
    ExpectPairs<double>(n);
  }
}

template <typename T>
void ExpectRefused(T imaginary) {
  for (const int64_t n : {2, 66, 1090}) {
    for (int64_t j = 0; j < n; ++j) {
      std::vector<T> row = RealRow<T>(n);
      row[2 + 2 * j] = imaginary;
      Pairs<T> pairs(n);
      ASSERT_FALSE(pairs.Load(row, n)) << n << " at " << j;
    }
  }
}

TEST(RealRows, OneImaginaryPartMakesARowComplex) {
  ExpectRefused<float>(1);
  ExpectRefused<float>(-std::numeric_limits<float>::denorm_min());
  ExpectRefused<float>(std::numeric_limits<float>::quiet_NaN());
  ExpectRefused<double>(std::numeric_limits<double>::denorm_min());
  ExpectRefused<double>(-std::numeric_limits<double>::quiet_NaN());
}

template <typename T>
void ExpectMirrored(int64_t n) {
  std::vector<T> re;
  std::vector<T> im;
  for (int64_t k = 0; k <= n / 2; ++k) {
    re.push_back(static_cast<T>(k + 1));
    im.push_back(k == 0 || k == n / 2 ? T(0) : static_cast<T>(-3 * k));
  }
  std::vector<T> expected(static_cast<size_t>(2 * n + 2), T(-1));
  std::vector<T> row = expected;
  for (int64_t k = 0; k < n; ++k) {
    const bool is_mirrored = 2 * k > n;
    const int64_t from = is_mirrored ? n - k : k;
    expected[1 + 2 * k] = 2 * re[from];
    expected[2 + 2 * k] = (is_mirrored ? -5 : 5) * im[from];
  }
  StoreMirroredRow<T>({re.data(), im.data()}, n, T(2), T(5), row.data() + 1);
  EXPECT_EQ(row, expected) << n;
}

TEST(RealRows, NumbersBehindTheMiddleAreConjugates) {
  for (const int64_t n : kLengths) {
    ExpectMirrored<float>(n);
    ExpectMirrored<double>(n);
  }
}

}  // namespace
}  // namespace millstream::kernels
