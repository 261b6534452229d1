// Matrix products in the types that the library has none for: packed, cache-blocked, one small
// register tile in the middle, after Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication" (TOMS 2008), simplified.
//
// Sums run over k in order, whatever the threads: the result depends on the shapes alone. Integers
// wrap.
#ifndef MILLSTREAM_KERNELS_MATMUL_BLOCKED_GEMM_H_
#define MILLSTREAM_KERNELS_MATMUL_BLOCKED_GEMM_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/gemm.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {

// Signed overflow is undefined, unsigned is not, and the bits are the same.
template <typename T, bool = std::is_integral_v<T>>
struct WrappingOf {
  using type = std::make_unsigned_t<T>;
};
template <typename T>
struct WrappingOf<T, false> {
  using type = T;
};

template <typename T>
class BlockedGemm {
 public:
  BlockedGemm(const GemmShape& shape, const T* a, const T* b, T* c)
      : shape_(shape),
        a_(reinterpret_cast<const Number*>(a)),
        b_(reinterpret_cast<const Number*>(b)),
        c_(reinterpret_cast<Number*>(c)) {}

  void Run(ms::Frame& frame) const {
    if (shape_.m == 0 || shape_.n == 0) return;
    if (shape_.k == 0) {
      std::fill(c_, c_ + shape_.m * shape_.n, Number(0));
      return;
    }
    const int64_t tile_columns = (shape_.n + kColumns - 1) / kColumns;
    const int64_t tiles = (shape_.m + kRows - 1) / kRows * tile_columns;
    const uint64_t tile_cost_ns =
        static_cast<uint64_t>(std::min(kRows, shape_.m) * std::min(kColumns, shape_.n) * shape_.k) /
            2 +
        1;
    frame.ParallelFor(tiles, tile_cost_ns, [&](uint64_t begin, uint64_t end) {
      for (uint64_t tile = begin; tile < end; ++tile) {
        ComputeTile(static_cast<int64_t>(tile) / tile_columns * kRows,
                    static_cast<int64_t>(tile) % tile_columns * kColumns);
      }
    });
  }

 private:
  using Number = typename WrappingOf<T>::type;
  using Lane = Vector<Number>;

  // The register tile, and the blocks whose packed forms share the caches (at most 112 KiB).
  static constexpr int64_t kTileRows = 4;
  static constexpr int64_t kTileVectors = 2;
  static constexpr int64_t kTileColumns = kTileVectors * kLanes<Number>;
  static constexpr int64_t kRows = 48;
  static constexpr int64_t kColumns = 64;
  static constexpr int64_t kDepth = 128;

  void ComputeTile(int64_t row, int64_t column) const {
    alignas(64) Number packed_a[kRows * kDepth];
    alignas(64) Number packed_b[kColumns * kDepth];
    const int64_t rows = std::min(kRows, shape_.m - row);
    const int64_t columns = std::min(kColumns, shape_.n - column);
    for (int64_t k = 0; k < shape_.k; k += kDepth) {
      const int64_t depth = std::min(kDepth, shape_.k - k);
      PackA(row, rows, k, depth, packed_a);
      PackB(column, columns, k, depth, packed_b);
      for (int64_t j = 0; j < columns; j += kTileColumns) {
        for (int64_t i = 0; i < rows; i += kTileRows) {
          Number* c = c_ + (row + i) * shape_.n + column + j;
          Multiply(packed_a + i * depth, packed_b + j * depth, depth, k == 0,
                   std::min(kTileRows, rows - i), std::min(kTileColumns, columns - j), c);
        }
      }
    }
  }

  // Strips of kTileRows rows, each stored by depth; missing rows are zero.
  void PackA(int64_t row, int64_t rows, int64_t k0, int64_t depth, Number* packed) const {
    const int64_t row_step = shape_.transpose_a ? 1 : shape_.k;
    const int64_t depth_step = shape_.transpose_a ? shape_.m : 1;
    Pack(a_ + row * row_step + k0 * depth_step, rows, row_step, depth, depth_step, kTileRows,
         packed);
  }
  // Strips of kTileColumns columns, likewise.
  void PackB(int64_t column, int64_t columns, int64_t k0, int64_t depth, Number* packed) const {
    const int64_t column_step = shape_.transpose_b ? shape_.k : 1;
    const int64_t depth_step = shape_.transpose_b ? 1 : shape_.n;
    Pack(b_ + column * column_step + k0 * depth_step, columns, column_step, depth, depth_step,
         kTileColumns, packed);
  }
  static void Pack(const Number* source, int64_t count, int64_t step, int64_t depth,
                   int64_t depth_step, int64_t strip, Number* packed) {
    for (int64_t first = 0; first < count; first += strip) {
      const int64_t present = std::min(strip, count - first);
      for (int64_t k = 0; k < depth; ++k) {
        const Number* from = source + first * step + k * depth_step;
        for (int64_t i = 0; i < present; ++i) packed[i] = from[i * step];
        for (int64_t i = present; i < strip; ++i) packed[i] = Number(0);
        packed += strip;
      }
    }
  }

  void Multiply(const Number* a, const Number* b, int64_t depth, bool first, int64_t rows,
                int64_t columns, Number* c) const {
    Lane sum[kTileRows][kTileVectors] = {};
    for (int64_t k = 0; k < depth; ++k) {
      Lane right[kTileVectors];
      for (int v = 0; v < kTileVectors; ++v) right[v] = Load(b + v * kLanes<Number>);
      for (int i = 0; i < kTileRows; ++i) {
        for (int v = 0; v < kTileVectors; ++v) sum[i][v] += a[i] * right[v];
      }
      a += kTileRows;
      b += kTileColumns;
    }
    for (int64_t i = 0; i < rows; ++i) {
      alignas(64) Number line[kTileColumns];
      for (int v = 0; v < kTileVectors; ++v) Store(sum[i][v], line + v * kLanes<Number>);
      Number* to = c + i * shape_.n;
      for (int64_t j = 0; j < columns; ++j) to[j] = first ? line[j] : to[j] + line[j];
    }
  }

  GemmShape shape_;
  const Number* a_;
  const Number* b_;
  Number* c_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_BLOCKED_GEMM_H_
