#include "kernels/matmul/small_products.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/testing/fractions.h"

namespace millstream::kernels {
namespace {

using testing::Fractions;

constexpr float kGuard = 1234.5f;
constexpr int64_t kProducts = 3;

// Element (i, j) of a matrix, or of one that is stored transposed.
double At(const float* matrix, bool transposed, int64_t rows, int64_t columns, int64_t i,
          int64_t j) {
  return double{transposed ? matrix[j * rows + i] : matrix[i * columns + j]};
}

// A sum of `terms` products of fractions is off by no more than this.
float Bound(int64_t terms) {
  const auto count = static_cast<float>(terms);
  return count * count * std::numeric_limits<float>::epsilon();
}

// Products with strides of 0 share the operand.
void ExpectProducts(SmallProducts products, bool shares_a, bool shares_b) {
  const int64_t m = products.m;
  const int64_t n = products.n;
  const int64_t k = products.k;
  const std::vector<float> a = Fractions(kProducts * m * k, 1);
  const std::vector<float> b = Fractions(kProducts * k * n, 2);
  std::vector<float> c(static_cast<size_t>(kProducts * m * n) + 1, kGuard);
  products.count = kProducts;
  products.a = a.data();
  products.a_stride = shares_a ? 0 : m * k;
  products.b = b.data();
  products.b_stride = shares_b ? 0 : k * n;
  products.c = c.data();
  MultiplySmall(products);
  EXPECT_EQ(c.back(), kGuard);
  for (int64_t product = 0; product < kProducts; ++product) {
    const float* const left = a.data() + product * products.a_stride;
    const float* const right = b.data() + product * products.b_stride;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p) {
          sum += At(left, products.transpose_a, m, k, i, p) *
                 At(right, products.transpose_b, k, n, p, j);
        }
        ASSERT_NEAR(c[(product * m + i) * n + j], sum, Bound(k))
            << m << " x " << k << " x " << n << " product " << product << " at " << i << ", " << j;
      }
    }
  }
}

// Around the numbers of lanes of all vectors, and of the rows that are summed at a time.
constexpr int64_t kSides[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32};

TEST(SmallProductsTest, AllSides) {
  for (const int64_t m : kSides) {
    for (const int64_t n : kSides) {
      for (const int64_t k : {int64_t{1}, int64_t{6}, int64_t{32}}) {
        ASSERT_TRUE(SmallProducts::Suits(m, n, k));
        SmallProducts products{};
        products.m = m;
        products.n = n;
        products.k = k;
        ExpectProducts(products, false, false);
      }
    }
  }
}

TEST(SmallProductsTest, TransposedAndSharedOperands) {
  for (int bits = 0; bits < 16; ++bits) {
    SmallProducts products{};
    products.m = 11;
    products.n = 21;
    products.k = 13;
    products.transpose_a = (bits & 1) != 0;
    products.transpose_b = (bits & 2) != 0;
    ExpectProducts(products, (bits & 4) != 0, (bits & 8) != 0);
  }
}

TEST(SmallProductsTest, SuitsNoLongSidesAndNoEmptyOnes) {
  EXPECT_FALSE(SmallProducts::Suits(33, 1, 1));
  EXPECT_FALSE(SmallProducts::Suits(1, 33, 1));
  EXPECT_FALSE(SmallProducts::Suits(1, 1, 33));
  EXPECT_FALSE(SmallProducts::Suits(0, 1, 1));
  EXPECT_FALSE(SmallProducts::Suits(1, 0, 1));
  EXPECT_FALSE(SmallProducts::Suits(1, 1, 0));
}

}  // namespace
}  // namespace millstream::kernels
