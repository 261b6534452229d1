#include "kernels/common/narrow_float.h"

#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

template <typename From, typename To>
void Convert(const From* from, int64_t n, To* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = To(from[i]);
}

}  // namespace

void WidenElements(const Float16* from, int64_t n, float* to) {
  RunLoop<&Convert<Float16, float>>(from, n, to);
}

void WidenElements(const BFloat16* from, int64_t n, float* to) {
  RunLoop<&Convert<BFloat16, float>>(from, n, to);
}

void NarrowElements(const float* from, int64_t n, Float16* to) {
  RunLoop<&Convert<float, Float16>>(from, n, to);
}

void NarrowElements(const float* from, int64_t n, BFloat16* to) {
  RunLoop<&Convert<float, BFloat16>>(from, n, to);
}

}  // namespace millstream::kernels
