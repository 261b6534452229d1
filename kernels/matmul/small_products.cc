#include "kernels/matmul/small_products.h"

#include <algorithm>
#include <cstring>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// One product: element (i, p) of op(A) is at a[i * a_row + p * a_column], B is not transposed.
struct Operands {
  int64_t depth;
  const float* a;
  int64_t a_row;
  int64_t a_column;
  const float* b;
  int64_t columns;
  float* c;
};

// kRows rows of as many columns as V has: the sums stay in the processor's registers, which takes
// loops that are unrolled before the compiler looks at the array.
template <typename V, int kRows>
inline void MultiplyTile(const Operands& operands, int64_t row, int64_t column) {
  const float* a = operands.a + row * operands.a_row;
  const float* b = operands.b + column;
  V sums[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) sums[i] = V{};
  for (int64_t p = 0; p < operands.depth; ++p) {
    V terms;
    std::memcpy(&terms, b, sizeof(terms));
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) sums[i] += a[i * operands.a_row] * terms;
    a += operands.a_column;
    b += operands.columns;
  }
  float* const c = operands.c + row * operands.columns + column;
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) std::memcpy(c + i * operands.columns, &sums[i], sizeof(V));
}

template <typename V>
inline void MultiplyColumns(const Operands& operands, int64_t rows, int64_t column) {
  int64_t row = 0;
  for (; row + 8 <= rows; row += 8) MultiplyTile<V, 8>(operands, row, column);
  if (row + 4 <= rows) {
    MultiplyTile<V, 4>(operands, row, column);
    row += 4;
  }
  for (; row < rows; ++row) MultiplyTile<V, 1>(operands, row, column);
}

// By the widest vectors that the columns fill. The last one goes back over the one before it where
// they are not a multiple.
template <int kBytes>
inline void Multiply(const Operands& operands, int64_t rows) {
  constexpr int64_t kStep = kLanes<float, kBytes>;
  const int64_t columns = operands.columns;
  if (columns >= kStep) {
    for (int64_t next = 0; next < columns; next += kStep) {
      MultiplyColumns<Vector<float, kBytes>>(operands, rows, std::min(next, columns - kStep));
    }
  } else if constexpr (kBytes > 16) {
    Multiply<kBytes / 2>(operands, rows);
  } else {
    for (int64_t column = 0; column < columns; ++column) {
      MultiplyColumns<float>(operands, rows, column);
    }
  }
}

template <int kBytes>
struct AllProducts {
  static void Run(const SmallProducts& products) {
    const int64_t m = products.m;
    const int64_t n = products.n;
    const int64_t k = products.k;
    float transposed[SmallProducts::kLongestSide * SmallProducts::kLongestSide];
    Operands operands{};
    operands.depth = k;
    operands.a_row = products.transpose_a ? 1 : k;
    operands.a_column = products.transpose_a ? m : 1;
    operands.columns = n;
    const float* b = products.b;
    for (int64_t product = 0; product < products.count; ++product, b += products.b_stride) {
      operands.a = products.a + product * products.a_stride;
      operands.b = b;
      operands.c = products.c + product * m * n;
      if (products.transpose_b) {
        // Products that share B have it from the first.
        for (int64_t j = 0; j < n && (product == 0 || products.b_stride != 0); ++j) {
          for (int64_t p = 0; p < k; ++p) transposed[p * n + j] = b[j * k + p];
        }
        operands.b = transposed;
      }
      Multiply<kBytes>(operands, m);
    }
  }
};

}  // namespace

void MultiplySmall(const SmallProducts& products) { RunVectorLoop<AllProducts>(products); }

}  // namespace millstream::kernels
