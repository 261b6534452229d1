// A variable that one thread writes and other threads may read at the same time.
#ifndef MILLSTREAM_CORE_STEP_RELAXED_H_
#define MILLSTREAM_CORE_STEP_RELAXED_H_

#include <atomic>

namespace millstream {

// For the writing thread it is like a plain T, and as fast. Other threads read some recent value.
// The read does not order other memory accesses.
template <typename T>
class Relaxed {
 public:
  Relaxed(T value) : value_(value) {}  // NOLINT: it stands for a T
  Relaxed& operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator T() const { return value_.load(std::memory_order_relaxed); }  // NOLINT: likewise
  Relaxed& operator++() { return *this = *this + 1; }

 private:
  std::atomic<T> value_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_RELAXED_H_
