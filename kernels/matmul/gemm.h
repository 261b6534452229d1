// Products of dense row-major matrices: C[m,n] = op(A)[m,k] * op(B)[k,n].
#ifndef MILLSTREAM_KERNELS_MATMUL_GEMM_H_
#define MILLSTREAM_KERNELS_MATMUL_GEMM_H_

#include <array>
#include <cstdint>
#include <memory>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/kept_strips.h"
#include "kernels/matmul/strip_gemm.h"
#include "kernels/matmul/wide_and_single.h"

namespace millstream::kernels {

struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool transpose_a = false;  // A is stored as [k,m]
  bool transpose_b = false;  // B is stored as [n,k]
  // Complex types only: op() conjugates as well.
  bool conjugate_a = false;
  bool conjugate_b = false;
};

// A prepared float32 product of one shape. For some shapes it has loops of our own, or a oneDNN
// primitive that is faster than the library's plain call. The library may divide long sums by its
// number of threads; LibraryThreadCount returns 1 if the bits must not depend on it. Immutable
// except for KeepRight. Several threads may call Run at the same time, each with its own scratch.
class Gemm {
 public:
  // `threads`: how many Run will usually be given. Fewer are fine.
  Gemm(const GemmShape& shape, int threads);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  // Tells that B has this value in every Run. If its layout would be converted in each Run, keeps
  // one converted copy. No bit changes.
  void KeepRight(const float* b);

  uint64_t scratch_bytes() const;
  // `scratch` has scratch_bytes() and is 64-byte aligned; null when that is 0. A product that takes
  // long asks the host now and then whether the step goes on.
  ms::Status Run(ms::Frame& frame, const float* a, const float* b, float* c, void* scratch,
                 int threads) const;

 private:
  struct Primitive;

  ms::Status RunRow(ms::Frame& frame, const float* a, float* c) const;
  ms::Status RunPieces(ms::Frame& frame, const float* a, const float* b, float* c, void* scratch,
                       int threads) const;

  GemmShape shape_;
  std::unique_ptr<StripGemm> strips_;  // null where the library computes the product
  KeptStrips kept_right_;              // of B, if A is a row and B is kept; else null
  // None where the plain call will do. A product that takes long is cut into pieces of rows_ rows
  // and columns_ columns of the result, for which the first is; the others are for the last rows,
  // the last columns and both, where these pieces are smaller.
  int64_t rows_;
  int64_t columns_;
  std::array<WideAndSingle<Primitive>, 4> primitives_;
};

// A float32 product that is not prepared; in one thread no slower than a Gemm.
ms::Status RunPlainGemm(ms::Frame& frame, const GemmShape& shape, const float* a, const float* b,
                        float* c, int threads);

// As Gemm, prepared and run at once, with scratch taken from the frame.
ms::Status RunGemm(ms::Frame& frame, const GemmShape& shape, const float* a, const float* b,
                   float* c);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_GEMM_H_
