#include "core/step/float_control.h"

#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "framework/plugin/host_interfaces.h"

namespace millstream {
namespace {

// Whether it is the first time.
bool IsNew(absl::string_view who) {
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const known = new std::set<std::string, std::less<>>();
  absl::MutexLock lock(&mutex);
  return known->emplace(who).second;
}

#if defined(__x86_64__)
void Set(uint32_t control) {
  _mm_setcsr(control);
  // Rounding has a second place, for numbers of 80 bits, which is set along with this one.
  const uint32_t rounding = control >> 13 & 3;
  uint16_t word = 0;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  word = static_cast<uint16_t>((word & ~0xC00U) | rounding << 10);
  __asm__ volatile("fldcw %0" : : "m"(word));
}
#else
void Set(uint32_t) {}
#endif

}  // namespace

void RestoreFloatControl(uint32_t control, absl::string_view who) {
  const uint32_t left = FloatControl();
  Set(control);
  if (!IsNew(who)) return;
  HostLog(MS_LOG_WARNING,
          absl::StrCat(who, " left another floating-point environment than it found (MXCSR 0x",
                       absl::Hex(left), " instead of 0x", absl::Hex(control),
                       "): it is restored; numbers that were computed meanwhile may differ"));
}

}  // namespace millstream
