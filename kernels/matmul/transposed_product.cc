#include "kernels/matmul/transposed_product.h"

#include "kernels/matmul/window_product.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// Rows whose sums stay in the processor's registers, sixteen or thirty-two, with two vectors of
// each row.
template <int kBytes>
constexpr int kMostRows = kBytes == 64 ? 12 : 6;

// Where a tile's operands lie.
struct TileOperands {
  const float* left;    // the first row's
  const float* right;   // the first column's
  int64_t vector_step;  // to the second vector of columns
  float* sums;
};

// The loops are unrolled before the compiler looks at the array, as they must be for it to become
// registers.
template <int kBytes, int kRows, int kVectors>
inline void AddTile(const TransposedProduct& product, const TileOperands& tile) {
  using Lane = Vector<float, kBytes>;
  constexpr int64_t kStep = kLanes<float, kBytes>;
  Lane sums[kRows][kVectors];
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) sums[i][j] = Lane{};
  }
  const float* left = tile.left;
  const float* right = tile.right;
#pragma GCC unroll 1
  for (int64_t k = 0; k < product.depth; ++k, left += product.left_step, right += kStripColumns) {
    const Lane first = Load<kBytes>(right);
    const Lane second = kVectors == 1 ? first : Load<kBytes>(right + tile.vector_step);
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i) {
      const float factor = left[i];
      sums[i][0] += factor * first;
      if (kVectors == 2) sums[i][kVectors - 1] += factor * second;
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      float* const place = tile.sums + i * product.sums_step + j * kStep;
      Store(Load<kBytes>(place) + sums[i][j], place);
    }
  }
}

template <int kBytes>
struct TransposedLoop {
  static void Run(const TransposedProduct& product) {
    constexpr int64_t kStep = kLanes<float, kBytes>;
    const int64_t columns = StripsOf(product.columns) * kStripColumns;
    const int64_t strip_size = product.depth * kStripColumns;
    for (int64_t column = 0; column < columns; column += 2 * kStep) {
      // Two vectors are a half of a strip, a strip or two.
      const TileOperands tile = {
          product.left,
          product.strips + column / kStripColumns * strip_size + column % kStripColumns,
          kStep < kStripColumns ? kStep : strip_size, product.sums + column};
      if (column + kStep < columns) {
        AddRows<2>(product, tile);
      } else {
        AddRows<1>(product, tile);
      }
    }
  }

 private:
  template <int kVectors>
  static void AddRows(const TransposedProduct& product, TileOperands tile) {
    int64_t left = product.rows;
    left = AddTiles<kMostRows<kBytes>, kVectors>(product, left, &tile);
    if constexpr ((kMostRows<kBytes>) > 8) left = AddTiles<8, kVectors>(product, left, &tile);
    left = AddTiles<4, kVectors>(product, left, &tile);
    left = AddTiles<2, kVectors>(product, left, &tile);
    AddTiles<1, kVectors>(product, left, &tile);
  }

  // Adds as many tiles as fit `left` rows, and returns how many rows are left.
  template <int kRows, int kVectors>
  static int64_t AddTiles(const TransposedProduct& product, int64_t left, TileOperands* tile) {
    for (; left >= kRows; left -= kRows) {
      AddTile<kBytes, kRows, kVectors>(product, *tile);
      tile->left += kRows;
      tile->sums += kRows * product.sums_step;
    }
    return left;
  }
};

}  // namespace

void AddTransposedProduct(const TransposedProduct& product) {
  RunVectorLoop<TransposedLoop>(product);
}

}  // namespace millstream::kernels
