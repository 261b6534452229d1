// Products of a float32 matrix and a vector. What they cost is reading the matrix once.
#ifndef MILLSTREAM_KERNELS_MATMUL_VECTOR_PRODUCT_H_
#define MILLSTREAM_KERNELS_MATMUL_VECTOR_PRODUCT_H_

#include <cstdint>

namespace millstream::kernels {

// The matrix is dense and row-major. Threads share out the results and never cut a sum, so the
// bits do not depend on how many there are. `y` lies apart from `x` and the matrix.

// y[j] = sum of x[i] * matrix[i, j], in the order of i.
void RowTimesMatrix(const float* x, const float* matrix, int64_t rows, int64_t columns, int threads,
                    float* y);

// y[i] = sum of matrix[i, j] * x[j], in lanes that are added at the end.
void MatrixTimesColumn(const float* matrix, const float* x, int64_t rows, int64_t columns,
                       int threads, float* y);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_VECTOR_PRODUCT_H_
