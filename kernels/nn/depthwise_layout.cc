#include "kernels/nn/depthwise_layout.h"

#include "kernels/array/strided_copy.h"

namespace millstream::kernels {

DepthwiseLayout DepthwiseLayout::OfInput(const ConvShape& shape) {
  return {shape.channels_first, shape.batch, shape.input[0] * shape.input[1], shape.in_channels,
          shape.out_channels / shape.in_channels};
}

DepthwiseLayout DepthwiseLayout::OfOutput(const ConvShape& shape) {
  return {shape.channels_first, shape.batch, shape.output[0] * shape.output[1], shape.out_channels,
          1};
}

ms::Status DepthwiseLayout::Spread(ms::Frame& frame, uint64_t element_size, const void* from,
                                   void* to) const {
  const int64_t spread = channels * copies;
  StridedCopy copy;
  copy.AddDim(batch, pixels * channels, pixels * spread);
  copy.AddDim(pixels, channels_first ? 1 : channels, spread);
  copy.AddDim(channels, channels_first ? pixels : 1, copies);
  copy.AddDim(copies, 0, 1);
  return copy.CopyBytes(frame, element_size, from, to);
}

ms::Status DepthwiseLayout::Return(ms::Frame& frame, uint64_t element_size, const void* from,
                                   void* to) const {
  StridedCopy copy;
  copy.AddDim(batch, pixels * channels, pixels * channels);
  if (channels_first) {
    copy.AddDim(channels, 1, pixels);
    copy.AddDim(pixels, channels, 1);
  } else {
    copy.AddDim(pixels * channels, 1, 1);
  }
  return copy.CopyBytes(frame, element_size, from, to);
}

}  // namespace millstream::kernels
