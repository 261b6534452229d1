// What the three convolution kernels know about one problem.
#ifndef MILLSTREAM_KERNELS_NN_CONV_SHAPE_H_
#define MILLSTREAM_KERNELS_NN_CONV_SHAPE_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/gemm.h"
#include "kernels/nn/window.h"

namespace millstream::kernels {

enum class ConvDirection { kForward, kBackwardInput, kBackwardFilter };

struct ConvAttributes {
  WindowAttributes window;
  Plane dilations = {1, 1};

  ms::Status Init(const ms::KernelInfo& info);
};

// One convolution with all sizes known. Activations are NHWC, or NCHW with channels_first; filters
// are [height, width, in_channels / groups, out_channels], the groups side by side in the last.
struct ConvShape {
  bool channels_first = false;
  int64_t batch = 0;
  int64_t groups = 1;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  Plane input = {0, 0};
  Plane filter = {0, 0};
  Plane output = {0, 0};
  Plane stride = {1, 1};
  Plane dilation = {1, 1};
  Plane before = {0, 0};  // padding
  Plane after = {0, 0};

  ms::Shape InputShape() const { return ActivationShape(input, in_channels); }
  ms::Shape OutputShape() const { return ActivationShape(output, out_channels); }
  ms::Shape FilterShape() const {
    return {filter[0], filter[1], in_channels / groups, out_channels};
  }
  bool HasNoProducts() const;
  bool operator==(const ConvShape& other) const;

  // True when no input element is seen twice, so that the convolution is one matrix product over
  // the tensors as they lie in memory: 1x1 windows, or one window over the whole image.
  bool IsMatrixProduct() const;
  // The product of the direction. Operands: input x filter; output gradient x filter; input x
  // output gradient.
  GemmShape MatrixProduct(ConvDirection direction) const;

 private:
  ms::Shape ActivationShape(const Plane& plane, int64_t channels) const;
};

// Fits `input` and `filter` together; the names are used in errors.
ms::Status ResolveConv(const ConvAttributes& attributes, const ms::Shape& input,
                       const char* input_name, const ms::Shape& filter, const char* filter_name,
                       ConvShape* shape);

// Checks that the gradient of the output has the output's shape.
ms::Status CheckOutputGradient(const ConvShape& shape, const ms::Shape& gradient);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CONV_SHAPE_H_
