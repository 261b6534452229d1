// What a call costs the process in memory and time, for tests of hostile input.
#ifndef MILLSTREAM_TESTING_FUZZ_LIMITS_H_
#define MILLSTREAM_TESTING_FUZZ_LIMITS_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"

namespace millstream::fuzz {

// What an input of up to 1 MiB may cost (docs/security.md). Allocations stand for time: what takes
// more than its share of one mostly takes more of the other.
inline constexpr int64_t kMaxBytes = int64_t{64} << 20;
inline constexpr int64_t kMaxAllocations = 4'000'000;
// A guard against work that grows with the square of the input and allocates nothing, and against
// hanging: eighteen times what the slowest of the tests' inputs takes on a busy machine.
inline constexpr double kGuardSeconds = 10;

struct Cost {
  int64_t bytes = 0;        // the most that was allocated at a time, above what was before
  int64_t allocations = 0;  // calls of the C library's functions that gave memory
  double seconds = 0;       // of the processors, so that other load counts little
};

// The cost of `call`, of all threads. Under a sanitizer, which has an allocator of its own, nothing
// is counted, and the seconds are divided by what it costs.
Cost CostOf(absl::FunctionRef<void()> call);

// What of the cost is beyond the limits; "" for nothing.
std::string Excess(const Cost& cost);

}  // namespace millstream::fuzz

#endif  // MILLSTREAM_TESTING_FUZZ_LIMITS_H_
