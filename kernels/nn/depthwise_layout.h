// Activations of depthwise convolutions with their channels last, and one for each output channel:
// what the loops take, whatever the op's data format and multiplier.
#ifndef MILLSTREAM_KERNELS_NN_DEPTHWISE_LAYOUT_H_
#define MILLSTREAM_KERNELS_NN_DEPTHWISE_LAYOUT_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/nn/conv_shape.h"

namespace millstream::kernels {

// Of one activation: of the input, or of the output, which has more channels.
struct DepthwiseLayout {
  bool channels_first = false;
  int64_t batch = 0;
  int64_t pixels = 0;  // of an image
  int64_t channels = 0;
  int64_t copies = 1;  // of each channel

  static DepthwiseLayout OfInput(const ConvShape& shape);
  static DepthwiseLayout OfOutput(const ConvShape& shape);

  bool IsPlain() const { return copies == 1 && (!channels_first || channels == 1 || pixels == 1); }
  int64_t size() const { return batch * pixels * channels * copies; }

  // The activation with channels last, each `copies` times.
  ms::Status Spread(ms::Frame& frame, uint64_t element_size, const void* from, void* to) const;
  // The reverse for an activation without copies.
  ms::Status Return(ms::Frame& frame, uint64_t element_size, const void* from, void* to) const;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_DEPTHWISE_LAYOUT_H_
