// Products of small matrices, as attention over few positions and batches of rotations have them.
#ifndef MILLSTREAM_KERNELS_MATMUL_SMALL_PRODUCTS_H_
#define MILLSTREAM_KERNELS_MATMUL_SMALL_PRODUCTS_H_

#include <cstdint>

namespace millstream::kernels {

// `count` products C[m,n] = op(A)[m,k] * op(B)[k,n] of dense row-major matrices. From one product
// to the next it is `a_stride` elements in A, which may be 0, `b_stride` in B and m * n in C.
struct SmallProducts {
  // Up to this side a library spends more on its call, and on packing, than on the product.
  static constexpr int64_t kLongestSide = 32;
  static bool Suits(int64_t m, int64_t n, int64_t k) {
    return m >= 1 && n >= 1 && k >= 1 && m <= kLongestSide && n <= kLongestSide &&
           k <= kLongestSide;
  }

  int64_t m;
  int64_t n;
  int64_t k;
  bool transpose_a;  // A is stored as [k,m]
  bool transpose_b;  // B is stored as [n,k]
  int64_t count;
  const float* a;
  int64_t a_stride;
  const float* b;
  int64_t b_stride;
  float* c;
};

// REQUIRES: SmallProducts::Suits(m, n, k). Every element is summed from the first term to the last,
// one multiplication and addition after the other, fused where the processor can.
void MultiplySmall(const SmallProducts& products);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_SMALL_PRODUCTS_H_
