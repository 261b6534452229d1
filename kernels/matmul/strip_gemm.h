// Products of few rows or many columns by our own loops.
#ifndef MILLSTREAM_KERNELS_MATMUL_STRIP_GEMM_H_
#define MILLSTREAM_KERNELS_MATMUL_STRIP_GEMM_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/kept_strips.h"
#include "kernels/matmul/window_product.h"

namespace millstream::kernels {

// C[m,n] = A[m,k] * B[k,n], all dense and row-major. A strip of B is arranged directly before it is
// multiplied, while it is in a cache. Threads share out the strips and cut no sum, so the bits do
// not depend on how many there are.
//
// Immutable except for KeepRight. Several threads may call Run at the same time, each with its own
// scratch.
class StripGemm {
 public:
  // True for the products that are computed this way. It depends on the sizes and the instruction
  // set.
  static bool Suits(int64_t m, int64_t n, int64_t k);

  // REQUIRES: Suits(m, n, k).
  StripGemm(int64_t m, int64_t n, int64_t k) : m_(m), n_(n), k_(k) {}
  StripGemm(const StripGemm&) = delete;
  StripGemm& operator=(const StripGemm&) = delete;

  // Tells that B has this value in every Run, and keeps an arranged copy, which is shared with
  // others that keep the same. No bit changes.
  void KeepRight(const float* b);

  uint64_t scratch_bytes() const;
  // `scratch` has scratch_bytes() and is 64-byte aligned; null when that is 0. Gives the error of a
  // step that is to end early.
  ms::Status Run(ms::Frame& frame, const float* a, const float* b, float* c, void* scratch) const;

 private:
  int64_t m_;
  int64_t n_;
  int64_t k_;
  KeptStrips kept_;  // of B; null when B may change
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_STRIP_GEMM_H_
