// The geometry that convolutions and pooling share: windows that slide over two spatial dimensions.
#ifndef MILLSTREAM_KERNELS_NN_WINDOW_H_
#define MILLSTREAM_KERNELS_NN_WINDOW_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

enum class Padding { kSame, kValid, kExplicit };

// Height and width, in this order.
using Plane = std::array<int64_t, 2>;
inline constexpr std::array<const char*, 2> kPlaneNames = {"height", "width"};

// The outer, middle and inner dimension that windows slide over: depth, height and width of a
// volume; height, one position, and width of an image.
using Spatial = std::array<int64_t, 3>;

// How one node's windows move, from its attributes; sizes of the tensors are not known yet.
struct WindowAttributes {
  Padding padding = Padding::kValid;
  bool channels_first = false;  // NCHW instead of NHWC
  Plane strides = {1, 1};
  Plane explicit_before = {0, 0};
  Plane explicit_after = {0, 0};

  // Dimension of a rank-4 tensor that holds height (0) or width (1).
  uint32_t SpatialDim(uint32_t i) const { return (channels_first ? 2 : 1) + i; }
  uint32_t ChannelDim() const { return channels_first ? 1 : 3; }
};

// Reads attributes strides, padding, data_format and, where the node has it, explicit_paddings.
// Strides over batch and channels are UNIMPLEMENTED.
ms::Status InitWindow(const ms::KernelInfo& info, WindowAttributes* window);

// Reads a list attribute with one positive entry a dimension, which must be 1 for the batch and the
// channels; UNIMPLEMENTED otherwise.
ms::Status InitPlane(const ms::KernelInfo& info, std::string_view name, bool channels_first,
                     Plane* plane);

// Reads attribute padding.
ms::Status InitPadding(const ms::KernelInfo& info, Padding* padding);

// Where the windows of one spatial dimension lie.
struct WindowFit {
  int64_t output = 0;  // how many
  int64_t before = 0;  // padding before the first element
  int64_t after = 0;
};

// `extent`: from a window's first to its last element, dilation counted. With Padding::kExplicit,
// `fit` has the padding already. `dimension` is for the error.
ms::Status FitWindow(Padding padding, int64_t stride, int64_t input, int64_t extent,
                     const char* dimension, WindowFit* fit);
// The same with the padding and stride of a plane's dimension i: 0 height, 1 width.
ms::Status FitWindow(const WindowAttributes& window, uint32_t i, int64_t input, int64_t extent,
                     WindowFit* fit);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_WINDOW_H_
