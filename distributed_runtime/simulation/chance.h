// What a seed chooses. The standard library's distributions differ between its implementations.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_CHANCE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_CHANCE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace millstream {

// The output function of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014).
inline uint64_t Mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The same for a number and a text.
inline uint64_t Mixed(uint64_t x, absl::string_view text) {
  for (const char c : text) x = Mixed(x ^ static_cast<unsigned char>(c));
  return x;
}

// Not thread-safe.
class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(seed) {}

  uint64_t Next() { return state_ = Mixed(state_); }
  // Less than `bound`, which is positive.
  int Below(int bound) { return static_cast<int>(Next() % static_cast<uint64_t>(bound)); }
  bool OneIn(int n) { return Below(n) == 0; }
  absl::Duration Between(absl::Duration least, absl::Duration most) {
    return least + absl::Microseconds(static_cast<int64_t>(
                       Next() % static_cast<uint64_t>(absl::ToInt64Microseconds(most - least))));
  }

 private:
  uint64_t state_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_CHANCE_H_
