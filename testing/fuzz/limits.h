// What a call costs the process in memory and time, for tests of hostile input.
#ifndef MILLSTREAM_TESTING_FUZZ_LIMITS_H_
#define MILLSTREAM_TESTING_FUZZ_LIMITS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace millstream::fuzz {

// What an input of up to 1 MiB may cost (docs/security.md).
inline constexpr int64_t kMaxBytes = int64_t{64} << 20;
inline constexpr double kMaxSeconds = 2;

struct Cost {
  int64_t bytes = 0;   // the most that was allocated at a time, above what was before; see below
  double seconds = 0;  // of the processors, so that other load does not count
};

// The cost of `call`, of all threads. Under a sanitizer, which has an allocator of its own, no
// bytes are counted, and the seconds are divided by what it costs.
Cost CostOf(absl::FunctionRef<void()> call);

}  // namespace millstream::fuzz

#endif  // MILLSTREAM_TESTING_FUZZ_LIMITS_H_
