// The geometry that convolutions and pooling share: windows that slide over spatial dimensions.
#ifndef MILLSTREAM_KERNELS_NN_WINDOW_H_
#define MILLSTREAM_KERNELS_NN_WINDOW_H_

#include <array>
#include <cstdint>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

enum class Padding { kSame, kValid, kExplicit };

// The outer, middle and inner dimension that windows slide over: depth, height and width of a
// volume; height, one position, and width of an image.
using Spatial = std::array<int64_t, 3>;

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

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_WINDOW_H_
