// Tensors in the type that their elements are computed with (ComputeTypeOf): for narrow floats
// float32 copies that live until Compute returns, for other types the tensors themselves. So one
// kernel serves all, and results of many operations are rounded once.
#ifndef MILLSTREAM_KERNELS_COMMON_WIDE_TENSORS_H_
#define MILLSTREAM_KERNELS_COMMON_WIDE_TENSORS_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"

namespace millstream::kernels {

// What a conversion costs an element (see ParallelElements).
inline constexpr int64_t kConversionPicoseconds = 400;

// Points *elements to input i, which is not to be written, or to its widened copy.
template <typename T>
ms::Status WideInput(ms::Frame& frame, uint32_t i, ComputeTypeOf<T>** elements) {
  const ms::View input = frame.input(i);
  T* const narrow = input.data<T>();
  if constexpr (kIsNarrowFloat<T>) {
    const int64_t size = input.size();
    ms::View copy;
    MS_TRY(frame.Temp(size * sizeof(float), &copy));
    float* wide = copy.data<float>();
    MS_TRY(ParallelElements(frame, size, kConversionPicoseconds, [&](int64_t begin, int64_t end) {
      WidenElements(narrow + begin, end - begin, wide + begin);
    }));
    *elements = wide;
  } else {
    *elements = narrow;
  }
  return ms::Status();
}

// An output while it is computed.
template <typename T>
class WideOutput {
 public:
  ms::Status Init(ms::Frame& frame, const ms::View& output) {
    size_ = output.size();
    output_ = output.data<T>();
    if constexpr (kIsNarrowFloat<T>) {
      ms::View copy;
      MS_TRY(frame.Temp(size_ * sizeof(float), &copy));
      wide_ = copy.data<float>();
    } else {
      wide_ = output_;
    }
    return ms::Status();
  }

  // Where to write the elements; null before Init.
  ComputeTypeOf<T>* data() const { return wide_; }

  // Rounds what was written into the output; does nothing before Init.
  ms::Status Finish(ms::Frame& frame) const {
    if constexpr (kIsNarrowFloat<T>) {
      MS_TRY(
          ParallelElements(frame, size_, kConversionPicoseconds, [&](int64_t begin, int64_t end) {
            NarrowElements(wide_ + begin, end - begin, output_ + begin);
          }));
    }
    return ms::Status();
  }

 private:
  T* output_ = nullptr;
  ComputeTypeOf<T>* wide_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_COMMON_WIDE_TENSORS_H_
