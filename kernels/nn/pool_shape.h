// What max and average pooling know about one problem.
#ifndef MILLSTREAM_KERNELS_NN_POOL_SHAPE_H_
#define MILLSTREAM_KERNELS_NN_POOL_SHAPE_H_

#include <algorithm>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/nn/window.h"

namespace millstream::kernels {

struct PoolAttributes {
  WindowAttributes window;
  Plane ksize = {1, 1};
  int64_t depth = 1;  // elements of one window along the channels

  // `over_depth`: windows may lie along the channels instead (NHWC only).
  ms::Status Init(const ms::KernelInfo& info, bool over_depth = false);
};

// Positions [begin, end).
struct Span {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

// One pooling problem, always as NHWC: an NCHW tensor is one of batch * channels images with one
// channel, and windows along the channels are windows over one long row.
struct PoolShape {
  int64_t batch = 0;
  int64_t channels = 0;
  Plane input = {0, 0};
  Plane output = {0, 0};
  Plane ksize = {1, 1};
  Plane stride = {1, 1};
  Plane before = {0, 0};   // padding
  ms::Shape output_shape;  // as the op gives it

  int64_t InputSize() const { return batch * input[0] * input[1] * channels; }
  int64_t OutputSize() const { return batch * output[0] * output[1] * channels; }
  // Where the channels of an input pixel start, in elements.
  int64_t PixelOffset(int64_t n, int64_t h, int64_t w) const {
    return ((n * input[0] + h) * input[1] + w) * channels;
  }
  // The input positions of window o along dimension i, without padding. Never empty.
  Span Window(uint32_t i, int64_t o) const {
    const int64_t first = o * stride[i] - before[i];
    return {std::max<int64_t>(0, first), std::min(input[i], first + ksize[i])};
  }
  // The windows that see input position p.
  Span WindowsAt(uint32_t i, int64_t p) const {
    const int64_t place = p + before[i];
    const int64_t first = place < ksize[i] ? 0 : (place - ksize[i]) / stride[i] + 1;
    return {first, std::min(output[i], place / stride[i] + 1)};
  }
  // Every input element is in exactly one window.
  bool IsTiling() const;
};

ms::Status ResolvePool(const PoolAttributes& attributes, const ms::Shape& input,
                       const char* input_name, PoolShape* shape);

// Checks that `tensor` has the output's shape.
ms::Status CheckPoolOutput(const PoolShape& shape, const ms::Shape& tensor, const char* name);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_POOL_SHAPE_H_
