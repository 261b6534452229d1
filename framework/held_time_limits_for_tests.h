// Time limits of steps that stand still, so that a test can bring a step to the place where its
// time is to be over. Besides tests, only what looks at the limits includes this.
#ifndef MILLSTREAM_FRAMEWORK_HELD_TIME_LIMITS_FOR_TESTS_H_
#define MILLSTREAM_FRAMEWORK_HELD_TIME_LIMITS_FOR_TESTS_H_

#include <atomic>

namespace millstream {

// Until Release(), or the end of the object, no step of the process exceeds its time limit.
// Afterwards the steps whose limit has passed meanwhile do. REQUIRES: only one object at a time.
// Any thread may call Release.
class HeldTimeLimits {
 public:
  HeldTimeLimits() { held_ = true; }
  ~HeldTimeLimits() { Release(); }
  HeldTimeLimits(const HeldTimeLimits&) = delete;
  HeldTimeLimits& operator=(const HeldTimeLimits&) = delete;

  void Release() { held_ = false; }

  // True if limits are held. Call it only after a limit has passed.
  static bool AreHeld() { return held_.load(std::memory_order_acquire); }

 private:
  static inline std::atomic<bool> held_{false};
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_HELD_TIME_LIMITS_FOR_TESTS_H_
