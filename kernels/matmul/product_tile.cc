#include "kernels/matmul/product_tile.h"

#include <algorithm>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

constexpr int kVectors = 2;
template <int kBytes>
constexpr int64_t kStrip = kVectors* kLanes<float, kBytes>;

// `kRows` rows of a strip of columns: their sums stay in the processor's registers, which takes
// loops that are unrolled before the compiler looks at the array.
template <int kBytes, int kRows>
void MultiplyStrip(const ProductOperands& operands, float* tile) {
  using Lane = Vector<float, kBytes>;
  constexpr int64_t kStep = kLanes<float, kBytes>;
  const float* a = operands.a;
  const float* b = operands.b;
  Lane sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) sums[i][j] = Lane{};
  }
  for (int64_t k = 0; k < operands.depth; ++k, a += operands.a_step, b += operands.b_step) {
    const Lane first = Load<kBytes>(b);
    const Lane second = Load<kBytes>(b + kStep);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const float factor = a[i];
      sums[i][0] += factor * first;
      sums[i][1] += factor * second;
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      Store(sums[i][j], tile + i * kProductTileColumns + j * kStep);
    }
  }
}

// Fewer columns than a strip has.
template <int kRows>
void MultiplyColumns(const ProductOperands& operands, int64_t columns, float* tile) {
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < operands.depth; ++k) {
        sum += operands.a[k * operands.a_step + i] * operands.b[k * operands.b_step + j];
      }
      tile[i * kProductTileColumns + j] = sum;
    }
  }
}

// The last strip goes back over the one before it where the columns do not fill it.
template <int kBytes, int kRows>
int64_t MultiplyRows(const ProductOperands& operands, int64_t columns, float* tile) {
  constexpr int64_t kStep = kStrip<kBytes>;
  if (columns < kStep) {
    MultiplyColumns<kRows>(operands, columns, tile);
    return kRows;
  }
  ProductOperands strip = operands;
  for (int64_t next = 0; next < columns; next += kStep) {
    const int64_t column = std::min(next, columns - kStep);
    strip.b = operands.b + column;
    MultiplyStrip<kBytes, kRows>(strip, tile + column);
  }
  return kRows;
}

template <int kBytes>
struct Tile {
  static void Run(const ProductOperands& operands, int64_t rows, int64_t columns, float* tile) {
    // Sixteen registers hold four rows, thirty-two hold eight.
    constexpr int kMostRows = kBytes == 64 ? 8 : 4;
    ProductOperands rest = operands;
    int64_t row = 0;
    while (row < rows) {
      rest.a = operands.a + row;
      float* const to = tile + row * kProductTileColumns;
      row += rows - row >= kMostRows ? MultiplyRows<kBytes, kMostRows>(rest, columns, to)
                                     : MultiplyRows<kBytes, 1>(rest, columns, to);
    }
  }
};

}  // namespace

void ComputeProductTile(const ProductOperands& operands, int64_t rows, int64_t columns,
                        float* tile) {
  RunVectorLoop<Tile>(operands, rows, columns, tile);
}

}  // namespace millstream::kernels
