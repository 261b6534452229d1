// What the convolution kernels know about one problem.
#ifndef MILLSTREAM_KERNELS_NN_CONV_SHAPE_H_
#define MILLSTREAM_KERNELS_NN_CONV_SHAPE_H_

#include <array>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/gemm.h"
#include "kernels/nn/window.h"

namespace millstream::kernels {

enum class ConvDirection { kForward, kBackwardInput, kBackwardFilter };

// One number for each spatial dimension: height and width of an image, and then 1; or depth, height
// and width of a volume. So a loop over the three is right for both.
using Extents = std::array<int64_t, 3>;

inline int64_t Product(const Extents& extents) { return extents[0] * extents[1] * extents[2]; }

// How one node's windows move, from its attributes; sizes of the tensors are not known yet.
struct ConvAttributes {
  uint32_t dims = 2;  // spatial dimensions: 2 or 3
  Padding padding = Padding::kValid;
  bool channels_first = false;
  Extents strides = {1, 1, 1};
  Extents dilations = {1, 1, 1};
  Extents explicit_before = {0, 0, 0};
  Extents explicit_after = {0, 0, 0};

  // Reads strides, padding and, where the node has them, data_format, dilations and
  // explicit_paddings. Strides and dilations of batch and channels are UNIMPLEMENTED.
  ms::Status Init(const ms::KernelInfo& info);

  // Reads a list attribute with one positive entry a dimension, 1 for batch and channels. REQUIRES:
  // dims and channels_first are known.
  ms::Status InitSteps(const ms::KernelInfo& info, const char* name, Extents* steps) const;

  uint32_t rank() const { return dims + 2; }
  // Dimension of an activation that holds spatial dimension i.
  uint32_t SpatialDim(uint32_t i) const { return (channels_first ? 2 : 1) + i; }
  uint32_t ChannelDim() const { return channels_first ? 1 : dims + 1; }
  const char* DimName(uint32_t i) const;

 private:
  ms::Status InitExplicitPadding(const ms::KernelInfo& info);
};

// One convolution with all sizes known. Activations have their channels last, or behind the batch
// with channels_first; filters are [size..., in_channels / groups, out_channels], the groups side
// by side in the last.
struct ConvShape {
  uint32_t dims = 2;
  bool channels_first = false;
  int64_t batch = 0;
  int64_t groups = 1;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  Extents input = {0, 0, 1};
  Extents filter = {0, 0, 1};
  Extents output = {0, 0, 1};
  Extents stride = {1, 1, 1};
  Extents dilation = {1, 1, 1};
  Extents before = {0, 0, 0};  // padding
  Extents after = {0, 0, 0};

  ms::Shape InputShape() const { return ActivationShape(input, in_channels); }
  ms::Shape OutputShape() const { return ActivationShape(output, out_channels); }
  ms::Shape FilterShape() const;
  // The shape of what the direction computes.
  ms::Shape ResultShape(ConvDirection direction) const;
  bool HasNoProducts() const;
  bool operator==(const ConvShape& other) const;

  // True when no input element is seen twice, so that the convolution is one matrix product over
  // the tensors as they lie in memory: windows of one element, or one window over all of the input.
  bool IsMatrixProduct() const;
  // The product of the direction. Operands: input x filter; output gradient x filter; input x
  // output gradient.
  GemmShape MatrixProduct(ConvDirection direction) const;

 private:
  ms::Shape ActivationShape(const Extents& extents, int64_t channels) const;
};

// Where a convolution forwards writes: its first pixel, and the elements from pixel to pixel. That
// is as many as a pixel has channels, or more where the pixels are parts of larger ones.
struct ConvOutput {
  float* pixels;
  int64_t step;
};

// Fits `input` and `filter` together; the names are used in errors.
ms::Status ResolveConv(const ConvAttributes& attributes, const ms::Shape& input,
                       const char* input_name, const ms::Shape& filter, const char* filter_name,
                       ConvShape* shape);

// Checks that the gradient of the output has the output's shape.
ms::Status CheckOutputGradient(const ConvShape& shape, const ms::Shape& gradient);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CONV_SHAPE_H_
