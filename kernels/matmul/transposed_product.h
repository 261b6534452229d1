// Adds the product of a transposed matrix, as it lies in memory, and a matrix in strips
// (window_product.h) to sums that stay in a cache.
#ifndef MILLSTREAM_KERNELS_MATMUL_TRANSPOSED_PRODUCT_H_
#define MILLSTREAM_KERNELS_MATMUL_TRANSPOSED_PRODUCT_H_

#include <cstdint>

namespace millstream::kernels {

struct TransposedProduct {
  const float* left;  // [depth, rows]
  int64_t left_step;  // from row to row
  int64_t depth;
  int64_t rows;
  const float* strips;  // of a matrix [depth, columns]
  int64_t columns;
  float* sums;  // [rows, columns], with room for whole strips, which are written
  int64_t sums_step;
};

// sums += transpose(left) * strips. What is added to an element is summed from the first term to
// the last, fused where the processor can: its bits do not depend on the other rows and columns.
void AddTransposedProduct(const TransposedProduct& product);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_TRANSPOSED_PRODUCT_H_
