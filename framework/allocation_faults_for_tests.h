// Allocations of tensors' memory that fail on purpose, so that tests see what a step does without.
// Besides tests, only what allocates includes this.
#ifndef MILLSTREAM_FRAMEWORK_ALLOCATION_FAULTS_FOR_TESTS_H_
#define MILLSTREAM_FRAMEWORK_ALLOCATION_FAULTS_FOR_TESTS_H_

#include <atomic>
#include <cstdint>

namespace millstream {

// As long as it lives, allocations of the process fail. One at a time.
class AllocationFaults {
 public:
  static constexpr int64_t kAllOthers = int64_t{1} << 62;

  // The `first`-th allocation from now on, counted from 1, and those after it, `number` in all. Of
  // host memory, and of devices' arenas, which are counted together.
  AllocationFaults(int64_t first, int64_t number) {
    first_ = first;
    end_ = first + number;
    seen_ = 0;
    armed_.store(true, std::memory_order_release);
  }
  ~AllocationFaults() { armed_.store(false, std::memory_order_release); }
  AllocationFaults(const AllocationFaults&) = delete;
  AllocationFaults& operator=(const AllocationFaults&) = delete;

  // How many have failed.
  int64_t hits() const {
    const int64_t next = seen_ + 1;
    return next <= first_ ? 0 : (next < end_ ? next : end_.load()) - first_;
  }

  // Whether the allocation that asks is to fail: one load as long as there are no faults.
  static bool FailsNext() { return armed_.load(std::memory_order_relaxed) && CountedFails(); }

 private:
  static bool CountedFails() {
    if (!armed_.load(std::memory_order_acquire)) return false;
    const int64_t number = ++seen_;
    return first_ <= number && number < end_;
  }

  inline static std::atomic<bool> armed_{false};
  inline static std::atomic<int64_t> first_{0};
  inline static std::atomic<int64_t> end_{0};
  inline static std::atomic<int64_t> seen_{0};  // allocations since it lives
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_ALLOCATION_FAULTS_FOR_TESTS_H_
