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
#include <type_traits>

#include "kernels/matmul/gemm.h"

namespace millstream::kernels {

// How a product is cut into tiles of C.
struct TilePlan {
  // Of a tile; with the depth that is packed at a time they share the caches (at most 112 KiB).
  static constexpr int64_t kRows = 48;
  static constexpr int64_t kColumns = 64;

  GemmShape shape;
  int64_t columns;  // of C, in parts, of which a complex number has two
  int64_t depth;    // in parts
  int64_t tile_columns;
};

// Computes one tile of C. There is one for double, int32_t, int64_t and complex numbers.
template <typename T>
void RunBlockedTile(const TilePlan& plan, int64_t tile, const T* a, const T* b, T* c);

// Products of one shape, cut into tiles of C that threads may take in any order.
template <typename T>
class BlockedGemm {
 public:
  explicit BlockedGemm(const GemmShape& shape)
      : plan_{shape, shape.n * kParts, shape.k * kParts,
              (shape.n * kParts + TilePlan::kColumns - 1) / TilePlan::kColumns},
        tiles_((shape.m + TilePlan::kRows - 1) / TilePlan::kRows * plan_.tile_columns) {}

  int64_t tiles() const { return tiles_; }
  uint64_t tile_cost_ns() const {
    const int64_t products = std::min(TilePlan::kRows, plan_.shape.m) *
                             std::min(TilePlan::kColumns, plan_.columns) * plan_.depth;
    return static_cast<uint64_t>(products) / 2 + 1;
  }

  // Computes one tile of C.
  void RunTile(int64_t tile, const T* a, const T* b, T* c) const {
    RunBlockedTile(plan_, tile, a, b, c);
  }

 private:
  static constexpr int64_t kParts =
      std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>> ? 2 : 1;

  TilePlan plan_;
  int64_t tiles_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_BLOCKED_GEMM_H_
