// The gradient of a convolution's input as a convolution of the output's gradient.
#ifndef MILLSTREAM_KERNELS_NN_CONV_INPUT_GRADIENT_H_
#define MILLSTREAM_KERNELS_NN_CONV_INPUT_GRADIENT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/nn/conv_batches.h"
#include "kernels/nn/conv_shape.h"
#include "kernels/nn/conv_winograd.h"

namespace millstream::kernels {

// Where windows move by single steps, the input's gradient is a convolution as well: the output's
// gradient is its input, and the filter is turned upside down and read with its channels exchanged
// (Dumoulin, Visin, A guide to convolution arithmetic for deep learning, 2016, section 4.2). Worth
// a turned copy of the filter, because Winograd's filtering or, where that is not for the problem,
// the library computes such problems forwards faster. For the former the copy's channels are
// exchanged as well.
//
// Run may be called from several threads at once.
class ConvInputGradient {
 public:
  // Null where the problem is no such one, or where there is no fast forward convolution for it.
  // `shape` must have products; `threads`: how many Run will usually be given.
  static std::unique_ptr<ConvInputGradient> Make(const ConvShape& shape, int threads);

  uint64_t scratch_bytes() const;
  // The filter has this value in every Run.
  void KeepFilter(const float* filter);
  // `scratch` has scratch_bytes() and is 64-byte aligned. Throws what the library throws.
  ms::Status Run(ms::Frame& frame, const float* output_gradient, const float* filter,
                 float* input_gradient, void* scratch) const;

 private:
  ConvInputGradient(const ConvShape& shape, const ConvShape& turned, int threads);
  uint64_t forward_bytes() const;
  void TurnTaps(int64_t begin, int64_t end, const float* filter, float* turned) const;
  ms::Status RunForward(ms::Frame& frame, const float* output_gradient, const float* turned,
                        float* input_gradient, void* scratch) const;

  int64_t taps_;         // positions of the window
  int64_t in_channels_;  // of the filter at each
  int64_t out_channels_;
  bool is_kept_ = false;     // the filter never changes
  std::vector<float> kept_;  // the turned filter for the library, if it is kept
  // One of the two.
  std::unique_ptr<ConvWinograd> winograd_;
  ConvBatches library_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CONV_INPUT_GRADIENT_H_
