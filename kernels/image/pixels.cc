#include "kernels/image/pixels.h"

#include <cstring>
#include <type_traits>

#include "kernels/common/narrow_float.h"

namespace millstream::kernels {
namespace {

template <typename T>
void Widen(const void* from, int64_t begin, int64_t n, float* to) {
  const T* const elements = static_cast<const T*>(from) + begin;
  if constexpr (kIsNarrowFloat<T>) {
    WidenElements(elements, n, to);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(elements[i]);
  }
}

template <typename T>
void Narrow(const float* from, int64_t n, void* to, int64_t begin) {
  T* const elements = static_cast<T*>(to) + begin;
  if constexpr (kIsNarrowFloat<T>) {
    NarrowElements(from, n, elements);
  } else {
    for (int64_t i = 0; i < n; ++i) elements[i] = static_cast<T>(from[i]);
  }
}

template <typename T>
constexpr PixelFormat FormatOf() {
  if constexpr (std::is_integral_v<T>) {
    return {ms::DTypeOf<T>(), &Widen<T>, nullptr};
  } else {
    return {ms::DTypeOf<T>(), &Widen<T>, &Narrow<T>};
  }
}

constexpr PixelFormat kFormats[] = {FormatOf<float>(),   FormatOf<uint8_t>(),  FormatOf<double>(),
                                    FormatOf<Float16>(), FormatOf<BFloat16>(), FormatOf<int8_t>(),
                                    FormatOf<int16_t>(), FormatOf<uint16_t>(), FormatOf<int32_t>(),
                                    FormatOf<int64_t>()};

}  // namespace

const PixelFormat* PixelFormatOf(MS_DType dtype) {
  for (const PixelFormat& format : kFormats) {
    if (format.dtype == dtype) return &format;
  }
  return nullptr;
}

ms::Status ReadImageSize(const ms::View& view, const char* name, int64_t size[2]) {
  if (view.rank() != 1 || view.size() != 2) {
    return ms::InvalidArgument(name, " must be a vector of height and width, but has shape ",
                               view.shape().ToString());
  }
  for (int i = 0; i < 2; ++i) {
    size[i] = view.data<int32_t>()[i];
    if (size[i] > 0) continue;
    return ms::InvalidArgument(name, "[", i, "] = ", size[i],
                               ": output dimensions must be positive");
  }
  return ms::Status();
}

ms::Status CheckImages(const ms::View& images, const char* name) {
  if (images.rank() == 4 && images.dim(1) > 0 && images.dim(2) > 0 && images.dim(3) > 0) {
    return ms::Status();
  }
  return ms::InvalidArgument(name, " must have 4 dimensions, and one pixel and channel at least, ",
                             "but is ", images.shape().ToString());
}

}  // namespace millstream::kernels
