// The floating-point environment of a thread, which a plugin's kernel may leave otherwise than it
// found it: rounding, flushing of subnormal numbers, traps. Numbers that are computed later would
// differ, and nobody would know why.
#ifndef MILLSTREAM_CORE_STEP_FLOAT_CONTROL_H_
#define MILLSTREAM_CORE_STEP_FLOAT_CONTROL_H_

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <atomic>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace millstream {

// What says how the thread computes; the flags of what has happened are no part of it. A few
// cycles. Always 0 on processors where this is not looked at.
inline uint32_t FloatControl() {
#if defined(__x86_64__)
  constexpr uint32_t kHasHappened = 0x3F;
  return _mm_getcsr() & ~kHasHappened;
#else
  return 0;
#endif
}

// Sets it back to `control`, and warns, once for each `who`: "plugin acme, kernel Conv2D, node
// layer/conv". `who` says what ran since then.
void RestoreFloatControl(uint32_t control, absl::string_view who);

// True when kernels are to be looked after one by one: a step has found that one of its kernels
// left another environment, and did not know which one.
inline std::atomic<bool> float_control_is_watched{false};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_FLOAT_CONTROL_H_
