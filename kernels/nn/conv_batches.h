// A library convolution of a batch that may be large, image after image where it takes long: while
// the library computes nobody can stop it.
#ifndef MILLSTREAM_KERNELS_NN_CONV_BATCHES_H_
#define MILLSTREAM_KERNELS_NN_CONV_BATCHES_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/wide_and_single.h"
#include "kernels/nn/conv_library.h"
#include "kernels/nn/conv_shape.h"

namespace millstream::kernels {

// For the directions that keep images apart, kForward and kBackwardInput. Immutable but for
// KeepWeights; Run may be called from several threads at once, each with scratch of its own.
class ConvBatches {
 public:
  // Nothing; only scratch_bytes, KeepWeights and the conversion to bool may be called.
  ConvBatches() = default;
  // `shape` must have products. `threads`: how many Run will usually be given.
  ConvBatches(const ConvShape& shape, ConvDirection direction, int threads,
              FilterChannels channels = FilterChannels::kInOut);

  explicit operator bool() const { return static_cast<bool>(even_); }
  uint64_t scratch_bytes() const;
  // See LibraryConvolution.
  void KeepWeights(const float* filter);
  // As LibraryConvolution::Run, with the threads that the frame has; throws what that throws. Gives
  // the error of a step that is to end early.
  ms::Status Run(ms::Frame& frame, const float* input, const float* filter, const float* output,
                 void* scratch) const;

 private:
  int64_t batch_ = 0;
  int64_t images_ = 0;       // of a call; the last may have fewer
  int64_t input_image_ = 0;  // elements
  int64_t output_image_ = 0;
  WideAndSingle<LibraryConvolution> even_;
  WideAndSingle<LibraryConvolution> last_;  // nothing when it is like the others
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CONV_BATCHES_H_
