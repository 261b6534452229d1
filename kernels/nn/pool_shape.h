// What kernels of pooling know about one problem.
#ifndef MILLSTREAM_KERNELS_NN_POOL_SHAPE_H_
#define MILLSTREAM_KERNELS_NN_POOL_SHAPE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/nn/window.h"

namespace millstream::kernels {

// Positions [begin, end).
struct Span {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

// One pooling problem. Channels are always last: a tensor with the channels first is one of
// batch * channels images with one channel, and windows along the channels are windows over one
// long row.
struct PoolShape {
  int64_t batch = 0;
  int64_t channels = 0;
  Spatial input = {0, 0, 0};
  Spatial output = {0, 0, 0};
  Spatial ksize = {1, 1, 1};
  Spatial stride = {1, 1, 1};
  Spatial before = {0, 0, 0};  // padding
  ms::Shape output_shape;      // as the op gives it

  int64_t InputSize() const { return batch * input[0] * input[1] * input[2] * channels; }
  int64_t OutputSize() const { return NumWindows() * channels; }
  int64_t NumWindows() const { return batch * output[0] * output[1] * output[2]; }
  // Where the channels of an input pixel start, in elements.
  int64_t PixelOffset(int64_t n, int64_t outer, int64_t middle, int64_t inner) const {
    return (((n * input[0] + outer) * input[1] + middle) * input[2] + inner) * channels;
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
  // No two windows that differ in the outer dimension share an element.
  bool HasDisjointRows() const { return stride[0] >= ksize[0]; }
  // The outer positions that belong to outer window o alone, when the windows go by in order: those
  // that it is the first to see, and those behind it that no window sees.
  Span FirstSeenBy(int64_t o) const;
  // Every input element is in exactly one window.
  bool IsTiling() const;
  // One window with all its channels, at about 4 elements a nanosecond.
  uint64_t WindowCost() const;
};

// The windows of one node.
class PoolAttributes {
 public:
  // Reads padding, data_format and, where the node has them, ksize and strides. Otherwise these are
  // the last two inputs. `over_depth`: windows may lie along the channels instead (NHWC only).
  ms::Status Init(const ms::KernelInfo& info, bool over_depth = false);
  ms::Status Resolve(const ms::Frame& frame, const ms::Shape& input, const char* input_name,
                     PoolShape* shape) const;
  // Dimensions of the tensors.
  uint32_t rank() const { return rank_; }

 private:
  // One entry a dimension of the tensors.
  ms::Status SetWindows(const std::vector<int64_t>& ksize, const std::vector<int64_t>& strides);
  ms::Status SetWindowsFromInputs(const ms::Frame& frame);
  ms::Status Fit(const ms::Shape& input, const char* input_name, PoolShape* shape) const;
  void FitOverDepth(const ms::Shape& input, PoolShape* shape) const;
  // The dimension of the tensors for the outer (0), middle (1) or inner (2) one; -1 if there is
  // none.
  int TensorDim(uint32_t i) const;

  Padding padding_ = Padding::kValid;
  bool channels_first_ = false;
  bool over_depth_ = false;
  bool from_inputs_ = false;
  uint32_t rank_ = 4;
  Spatial ksize_ = {1, 1, 1};
  Spatial strides_ = {1, 1, 1};
  int64_t depth_ = 1;  // elements of one window along the channels
};

// Checks that `tensor` has the output's shape.
ms::Status CheckPoolOutput(const PoolShape& shape, const ms::Shape& tensor, const char* name);
// Checks that `tensor` has the shape of the pooling's input.
ms::Status CheckPoolInput(const ms::Shape& input, const ms::Shape& tensor, const char* name);

// Goes through the windows of a pooling in their order in the output, and knows the pixels of each
// that are no padding.
class WindowWalk {
 public:
  // At window `first`, counted over all images. REQUIRES: there is such a window.
  WindowWalk(const PoolShape& shape, int64_t first);

  // Where the first pixel is in the input, in elements.
  int64_t corner() const { return corner_; }
  // The distance of each pixel from the first, in elements and in row-major order.
  const int64_t* offsets() const { return offsets_.data(); }
  // The same by dimensions: how many pixels, and the distance of neighbours.
  const Spatial& size() const { return size_; }
  int64_t step(uint32_t i) const { return step_[i]; }
  int64_t num_pixels() const { return static_cast<int64_t>(offsets_.size()); }

  // To the next window; behind the last one there is nothing to look at.
  void Next() {
    if (++place_[2] >= shape_.output[2]) return NextRow();
    SetInner();
  }

 private:
  void NextRow();
  void SetRow();
  void SetInner() {
    const Span inner = shape_.Window(2, place_[2]);
    corner_ = row_corner_ + inner.begin * shape_.channels;
    if (inner.size() != size_[2]) SetOffsets(inner.size());
  }
  void SetOffsets(int64_t inner_size);

  const PoolShape& shape_;
  const Spatial step_;
  int64_t image_ = 0;
  Spatial place_ = {0, 0, 0};  // of the window
  Spatial size_ = {0, 0, 0};   // in pixels; what offsets_ is for
  int64_t row_corner_ = 0;
  int64_t corner_ = 0;
  std::vector<int64_t> offsets_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_POOL_SHAPE_H_
