// How one float32 convolution problem is computed: forwards by Winograd's filtering or by our own
// products with strips of the filter where they are fastest, as a matrix product where it is one,
// else by oneDNN's convolutions, which for the filter's gradient get the batch in pieces, and which
// compute the input's forwards where they can.
#ifndef MILLSTREAM_KERNELS_NN_CONV_PLAN_H_
#define MILLSTREAM_KERNELS_NN_CONV_PLAN_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/gemm.h"
#include "kernels/nn/conv_batches.h"
#include "kernels/nn/conv_filter_gradient.h"
#include "kernels/nn/conv_input_gradient.h"
#include "kernels/nn/conv_shape.h"
#include "kernels/nn/conv_strips.h"
#include "kernels/nn/conv_winograd.h"

namespace millstream::kernels {

// Immutable but for KeepFilter; Run may be called from several threads at once.
class ConvPlan : public ms::ShapeState {
 public:
  // `threads`: how many Run will usually be given. Fewer are fine.
  ConvPlan(const ConvShape& shape, ConvDirection direction, int threads);

  const ConvShape& shape() const { return shape_; }
  int threads() const { return threads_; }
  uint64_t scratch_bytes() const;

  // The filter has this value in every Run.
  void KeepFilter(const float* filter);

  // True if Run does what an epilogue says; otherwise it is the caller's to do.
  bool TakesEpilogue() const { return winograd_ != nullptr || strips_ != nullptr; }

  // The tensor that `direction` computes is written, the other two are read.
  ms::Status Run(ms::Frame& frame, float* input, float* filter, float* output, void* scratch,
                 const ProductEpilogue& epilogue = ProductEpilogue()) const;

  // Writes a convolution forwards, with a bias and limits, to pixels that are parts of larger ones:
  // nothing between them changes. The bits are those of Run and of separate ops. `scratch` has
  // apart_scratch_bytes(). REQUIRES: the direction is kForward; the epilogue has a bias and adds
  // nothing else.
  ms::Status RunApart(ms::Frame& frame, float* input, float* filter,
                      const ProductEpilogue& epilogue, const ConvOutput& output,
                      void* scratch) const;
  uint64_t apart_scratch_bytes() const;

 private:
  uint64_t pixels_offset() const;  // in the scratch of RunApart
  ms::Status RunProduct(ms::Frame& frame, float* input, float* filter, float* output,
                        void* scratch) const;
  void FillZero(float* input, float* filter, float* output) const;

  ConvShape shape_;
  ConvDirection direction_;
  int threads_;
  // At most one kind is there; none when the problem has no products.
  std::unique_ptr<ConvWinograd> winograd_;
  std::unique_ptr<ConvStrips> strips_;
  std::unique_ptr<Gemm> product_;
  std::unique_ptr<const ConvFilterGradient> filter_gradient_;
  std::unique_ptr<ConvInputGradient> input_gradient_;
  ConvBatches library_;
};

// The plans of one node whose shapes are not known in advance: the last few are kept. Thread-safe.
class ConvPlanCache {
 public:
  std::shared_ptr<const ConvPlan> Get(const ConvShape& shape, ConvDirection direction, int threads);

 private:
  static constexpr size_t kCapacity = 8;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const ConvPlan>> plans_;  // the latest used last
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CONV_PLAN_H_
