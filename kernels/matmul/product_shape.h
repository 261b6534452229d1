// What the matrix product kernels know about one problem: batches of products of one shape.
#ifndef MILLSTREAM_KERNELS_MATMUL_PRODUCT_SHAPE_H_
#define MILLSTREAM_KERNELS_MATMUL_PRODUCT_SHAPE_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/elementwise/broadcast.h"
#include "kernels/matmul/gemm.h"

namespace millstream::kernels {

// Which matrices a product takes, counted in the tensors they stand in.
struct MatrixPair {
  int64_t a = 0;
  int64_t b = 0;
};

struct ProductShape {
  GemmShape gemm;      // of each product
  int64_t count = 1;   // of products
  int64_t a_size = 0;  // elements of the whole tensors
  int64_t b_size = 0;
  ms::Shape output;
  BroadcastPlan batch;  // of the dimensions before the last two

  int64_t a_matrix() const { return gemm.m * gemm.k; }
  int64_t b_matrix() const { return gemm.k * gemm.n; }
  int64_t output_matrix() const { return gemm.m * gemm.n; }
  MatrixPair MatricesOf(int64_t product) const;
};

// One product of matrices `a` and `b`. `transposes` holds the transpositions.
ms::Status ResolveMatMul(const GemmShape& transposes, const ms::Shape& a, const ms::Shape& b,
                         ProductShape* shape);
// Products of the matrices in `x` and `y`, whose batch dimensions are equal or, with `broadcast`,
// may also be 1 or missing. `transposes` holds what is done to the matrices first.
ms::Status ResolveBatchMatMul(const GemmShape& transposes, bool broadcast, const ms::Shape& x,
                              const ms::Shape& y, ProductShape* shape);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_PRODUCT_SHAPE_H_
