// A tile of a product that stays in the first-level cache, for kernels that read it directly
// afterwards.
#ifndef MILLSTREAM_KERNELS_MATMUL_PRODUCT_TILE_H_
#define MILLSTREAM_KERNELS_MATMUL_PRODUCT_TILE_H_

#include <cstdint>

namespace millstream::kernels {

// The largest tile: its elements, and the rows of B that they need, share a core's first cache when
// the depth is small.
inline constexpr int64_t kProductTileRows = 8;
inline constexpr int64_t kProductTileColumns = 256;

// Two row-major matrices with `depth` rows, at an element of the first: the product is
// transpose(A) * B.
struct ProductOperands {
  const float* a;
  int64_t a_step;  // elements from row to row
  const float* b;
  int64_t b_step;
  int64_t depth;
};

// Writes the first `rows` rows and `columns` columns of the product to `tile`, whose rows are
// kProductTileColumns apart. Every element is summed from the first row of A and B to the last, one
// multiplication and addition after the other, fused where the processor can.
void ComputeProductTile(const ProductOperands& operands, int64_t rows, int64_t columns,
                        float* tile);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_PRODUCT_TILE_H_
