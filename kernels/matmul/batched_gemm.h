// Batches of float32 products of one shape.
#ifndef MILLSTREAM_KERNELS_MATMUL_BATCHED_GEMM_H_
#define MILLSTREAM_KERNELS_MATMUL_BATCHED_GEMM_H_

#include <cstdint>
#include <memory>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/gemm.h"
#include "kernels/matmul/product_shape.h"

namespace millstream::kernels {

// Immutable but for KeepRight; Run may be called from several threads at once, each with scratch of
// its own.
class BatchedGemm {
 public:
  // `threads`: how many Run will usually have.
  BatchedGemm(const ProductShape& shape, int threads);

  // As Gemm::KeepRight, where all products share one right operand.
  void KeepRight(const float* b);
  uint64_t scratch_bytes() const { return gemm_ == nullptr ? 0 : gemm_->scratch_bytes(); }
  // `scratch` has scratch_bytes() and is 64-byte aligned; it may be null when that is 0.
  ms::Status Run(ms::Frame& frame, const float* a, const float* b, float* c, void* scratch) const;

 private:
  ms::Status RunAcross(ms::Frame& frame, const float* a, const float* b, float* c) const;
  ms::Status RunSmall(ms::Frame& frame, const float* a, const float* b, float* c) const;

  ProductShape shape_;
  bool is_small_;               // each product, and there are several
  std::unique_ptr<Gemm> gemm_;  // null: a product is one thread's work
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_BATCHED_GEMM_H_
