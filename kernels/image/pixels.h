// Pixels of any type as floats, in which image kernels compute.
#ifndef MILLSTREAM_KERNELS_IMAGE_PIXELS_H_
#define MILLSTREAM_KERNELS_IMAGE_PIXELS_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// The conversions of one type.
struct PixelFormat {
  MS_DType dtype;
  // Elements [begin, begin + n) of `from`.
  void (*widen)(const void* from, int64_t begin, int64_t n, float* to);
  // To elements [begin, begin + n) of `to`; null for integers.
  void (*narrow)(const float* from, int64_t n, void* to, int64_t begin);
};

// Null for types that are no pixels' types.
const PixelFormat* PixelFormatOf(MS_DType dtype);

// Height and width of the argument `name`, a vector of two numbers above zero.
ms::Status ReadImageSize(const ms::View& view, const char* name, int64_t size[2]);

// `images` must have four dimensions, and one pixel and channel at least.
ms::Status CheckImages(const ms::View& images, const char* name);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_IMAGE_PIXELS_H_
