// Shapes of pooling: windows over tensors of images (rank 4) and volumes (rank 5).
#ifndef MILLSTREAM_FRAMEWORK_OPS_POOL_WINDOWS_H_
#define MILLSTREAM_FRAMEWORK_OPS_POOL_WINDOWS_H_

#include <vector>

#include "framework/ops/window_arithmetic.h"
#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

// The windows of one node.
struct PoolWindows {
  Padding padding = Padding::kValid;
  int rank = kImageRank;
  int channels = 3;  // the dimension that holds them
  // One window a dimension, the batch among them. Empty where sizes or steps are not known yet.
  std::vector<Window> along;

  // Whether windows lie along the channels. False where that is not known.
  bool OverChannels() const { return !along.empty() && along[channels].size != 1; }
};

// Reads padding, data_format (NHWC if there is none), and ksize and strides, which are attributes
// or the last two inputs. INVALID_ARGUMENT for lists of the wrong length and values below 1;
// UNIMPLEMENTED for pooling over the batch, over space and channels at once, and over channels in
// strides other than the window's size.
StatusOr<PoolWindows> PoolWindowsOf(const ShapeContext& context);

// The shape of the output for `input` of the windows' rank. INVALID_ARGUMENT when a window does not
// fit.
StatusOr<PartialShape> PooledShape(const PoolWindows& windows, const PartialShape& input);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_POOL_WINDOWS_H_
