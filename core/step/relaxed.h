// What one thread writes and others may look at meanwhile.
#ifndef MILLSTREAM_CORE_STEP_RELAXED_H_
#define MILLSTREAM_CORE_STEP_RELAXED_H_

#include <atomic>

namespace millstream {

// Like a plain T to the thread that writes it, and as fast; others see some recent value, and
// nothing of what was written before it.
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
