#include "kernels/common/narrow_float.h"

namespace millstream::kernels {

void WidenElements(const Float16* from, int64_t n, float* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

void WidenElements(const BFloat16* from, int64_t n, float* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

void NarrowElements(const float* from, int64_t n, Float16* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = Float16(from[i]);
}

void NarrowElements(const float* from, int64_t n, BFloat16* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = BFloat16(from[i]);
}

}  // namespace millstream::kernels
