// Time limits of steps that stand still, so that a test can bring a step to the place where its
// time is to be over. Besides tests, only what looks at the limits includes this.
#ifndef MILLSTREAM_FRAMEWORK_HELD_TIME_LIMITS_FOR_TESTS_H_
#define MILLSTREAM_FRAMEWORK_HELD_TIME_LIMITS_FOR_TESTS_H_

#include <atomic>

namespace millstream {

// From its making to Release(), or its end, no step of the process is out of time. Then those are
// whose limit has passed meanwhile. One at a time; any thread may release.
class HeldTimeLimits {
 public:
  HeldTimeLimits() { held_ = true; }
  ~HeldTimeLimits() { Release(); }
  HeldTimeLimits(const HeldTimeLimits&) = delete;
  HeldTimeLimits& operator=(const HeldTimeLimits&) = delete;

  void Release() { held_ = false; }

  // Whether limits stand still. To be asked once a limit has passed, not before.
  static bool AreHeld() { return held_.load(std::memory_order_acquire); }

 private:
  static inline std::atomic<bool> held_{false};
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_HELD_TIME_LIMITS_FOR_TESTS_H_
