// Matrix products in the types that the library has none for: packed, cache-blocked, one small
// register tile in the middle, after Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication" (TOMS 2008), simplified.
//
// A complex product is a real one of twice the depth and twice the columns: where A and C are read
// as rows of alternating real and imaginary parts, an element x + iy of B stands for the rows (x,
// y) and (-y, x). B takes that form when it is packed.
//
// Sums run over k in order, whatever the threads: the result depends on the shapes alone. Integers
// wrap.
#ifndef MILLSTREAM_KERNELS_MATMUL_BLOCKED_GEMM_H_
#define MILLSTREAM_KERNELS_MATMUL_BLOCKED_GEMM_H_

#include <algorithm>
#include <complex>
#include <cstdint>

#include "kernels/common/wrapping.h"
#include "kernels/matmul/gemm.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {

// What the arithmetic is done in: for complex types the type of a part.
template <typename T>
struct PartsOf {
  using Number = Wrapping<T>;
  static_assert(sizeof(Number) == sizeof(T), "tiles read elements as numbers");
  static constexpr int64_t kCount = 1;
};
template <typename T>
struct PartsOf<std::complex<T>> {
  using Number = T;
  static constexpr int64_t kCount = 2;
};

// Products of one shape, cut into tiles of C that threads may take in any order.
template <typename T>
class BlockedGemm {
 public:
  explicit BlockedGemm(const GemmShape& shape)
      : shape_(shape),
        columns_(shape.n * kParts),
        depth_(shape.k * kParts),
        tile_columns_((columns_ + kColumns - 1) / kColumns),
        tiles_((shape.m + kRows - 1) / kRows * tile_columns_) {}

  int64_t tiles() const { return tiles_; }
  uint64_t tile_cost_ns() const {
    const int64_t products = std::min(kRows, shape_.m) * std::min(kColumns, columns_) * depth_;
    return static_cast<uint64_t>(products) / 2 + 1;
  }

  // Computes one tile of C.
  void RunTile(int64_t tile, const T* a, const T* b, T* c) const {
    RunVectorLoop<Tile>(*this, tile, a, b, c);
  }

 private:
  using Number = typename PartsOf<T>::Number;
  static constexpr int64_t kParts = PartsOf<T>::kCount;

  // The register tile, and the blocks whose packed forms share the caches (at most 112 KiB).
  static constexpr int64_t kTileRows = 4;
  static constexpr int64_t kTileVectors = 2;
  template <int kBytes>
  static constexpr int64_t kTileColumns = kTileVectors* kLanes<Number, kBytes>;
  static constexpr int64_t kRows = 48;
  static constexpr int64_t kColumns = 64;
  static constexpr int64_t kDepth = 128;

  template <int kBytes>
  struct Tile {
    static void Run(const BlockedGemm& gemm, int64_t tile, const T* a, const T* b, T* c) {
      gemm.ComputeTile<kBytes>(tile, a, b, c);
    }
  };

  template <int kBytes>
  void ComputeTile(int64_t tile, const T* a, const T* b, T* c) const {
    alignas(64) Number packed_a[kRows * kDepth];
    alignas(64) Number packed_b[kColumns * kDepth];
    const int64_t row = tile / tile_columns_ * kRows;
    const int64_t column = tile % tile_columns_ * kColumns;
    const int64_t rows = std::min(kRows, shape_.m - row);
    const int64_t columns = std::min(kColumns, columns_ - column);
    Number* to = reinterpret_cast<Number*>(c) + row * columns_ + column;
    if (depth_ == 0) {
      for (int64_t i = 0; i < rows; ++i) std::fill_n(to + i * columns_, columns, Number(0));
    }
    for (int64_t k = 0; k < depth_; k += kDepth) {
      const int64_t depth = std::min(kDepth, depth_ - k);
      PackA(reinterpret_cast<const Number*>(a), row, rows, k, depth, packed_a);
      PackB<kBytes>(reinterpret_cast<const Number*>(b), column, columns, k, depth, packed_b);
      for (int64_t j = 0; j < columns; j += kTileColumns<kBytes>) {
        for (int64_t i = 0; i < rows; i += kTileRows) {
          Multiply<kBytes>(packed_a + i * depth, packed_b + j * depth, depth, k == 0,
                           std::min(kTileRows, rows - i),
                           std::min(kTileColumns<kBytes>, columns - j), to + i * columns_ + j);
        }
      }
    }
  }

  // Strips of kTileRows rows, each stored by depth; missing rows are zero. Row i at depth k stands
  // at source[i * step + k * depth_step], or in parts.
  void PackA(const Number* a, int64_t row, int64_t rows, int64_t k0, int64_t depth,
             Number* packed) const {
    const int64_t row_step = (shape_.transpose_a ? 1 : shape_.k) * kParts;
    const int64_t depth_step = shape_.transpose_a ? shape_.m * kParts : kParts;
    const Number sign = shape_.conjugate_a ? Number(0) - Number(1) : Number(1);
    Pack(rows, kTileRows, depth, packed, [=](int64_t i, int64_t k) {
      const Number* source = a + (row + i) * row_step + (k0 + k) / kParts * depth_step;
      if constexpr (kParts == 1) return *source;
      return k % 2 == 0 ? source[0] : sign * source[1];
    });
  }
  // Strips of kTileColumns columns, likewise.
  template <int kBytes>
  void PackB(const Number* b, int64_t column, int64_t columns, int64_t k0, int64_t depth,
             Number* packed) const {
    const int64_t column_step = (shape_.transpose_b ? shape_.k : 1) * kParts;
    const int64_t depth_step = shape_.transpose_b ? kParts : shape_.n * kParts;
    const Number sign = shape_.conjugate_b ? Number(0) - Number(1) : Number(1);
    Pack(columns, kTileColumns<kBytes>, depth, packed, [=](int64_t j, int64_t k) {
      const Number* source =
          b + (column + j) / kParts * column_step + (k0 + k) / kParts * depth_step;
      if constexpr (kParts == 1) return *source;
      if (j % 2 == k % 2) return source[0];
      return k % 2 == 0 ? sign * source[1] : -sign * source[1];
    });
  }
  template <typename ElementAt>
  static void Pack(int64_t count, int64_t strip, int64_t depth, Number* packed,
                   const ElementAt& element_at) {
    for (int64_t first = 0; first < count; first += strip) {
      const int64_t present = std::min(strip, count - first);
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t i = 0; i < present; ++i) packed[i] = element_at(first + i, k);
        for (int64_t i = present; i < strip; ++i) packed[i] = Number(0);
        packed += strip;
      }
    }
  }

  template <int kBytes>
  void Multiply(const Number* a, const Number* b, int64_t depth, bool first, int64_t rows,
                int64_t columns, Number* c) const {
    using Lane = Vector<Number, kBytes>;
    constexpr int64_t kStep = kLanes<Number, kBytes>;
    Lane sum[kTileRows][kTileVectors] = {};
    for (int64_t k = 0; k < depth; ++k) {
      Lane right[kTileVectors];
      for (int v = 0; v < kTileVectors; ++v) right[v] = Load<kBytes>(b + v * kStep);
      for (int i = 0; i < kTileRows; ++i) {
        for (int v = 0; v < kTileVectors; ++v) sum[i][v] += a[i] * right[v];
      }
      a += kTileRows;
      b += kTileColumns<kBytes>;
    }
    for (int64_t i = 0; i < rows; ++i) {
      alignas(64) Number line[kTileColumns<kBytes>];
      for (int v = 0; v < kTileVectors; ++v) Store(sum[i][v], line + v * kStep);
      Number* to = c + i * columns_;
      for (int64_t j = 0; j < columns; ++j) to[j] = first ? line[j] : to[j] + line[j];
    }
  }

  GemmShape shape_;
  int64_t columns_;  // of C, in parts
  int64_t depth_;    // in parts
  int64_t tile_columns_;
  int64_t tiles_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_BLOCKED_GEMM_H_
