// Makes allocations of tensor memory fail, for tests. Only tests and allocators include this file.
#ifndef MILLSTREAM_FRAMEWORK_ALLOCATION_FAULTS_FOR_TESTS_H_
#define MILLSTREAM_FRAMEWORK_ALLOCATION_FAULTS_FOR_TESTS_H_

#include <atomic>
#include <cstdint>

namespace millstream {

// While an object lives, some allocations of the process fail. REQUIRES: only one object at a time.
class AllocationFaults {
 public:
  static constexpr int64_t kAllOthers = int64_t{1} << 62;

  // Makes `number` allocations fail, beginning with the `first`-th from now on, counted from 1.
  // Allocations of host memory and of devices' arenas are counted together.
  AllocationFaults(int64_t first, int64_t number) {
    first_ = first;
    end_ = first + number;
    seen_ = 0;
    armed_.store(true, std::memory_order_release);
  }
  ~AllocationFaults() { armed_.store(false, std::memory_order_release); }
  AllocationFaults(const AllocationFaults&) = delete;
  AllocationFaults& operator=(const AllocationFaults&) = delete;

  // The number of allocations that have failed.
  int64_t hits() const {
    const int64_t next = seen_ + 1;
    return next <= first_ ? 0 : (next < end_ ? next : end_.load()) - first_;
  }

  // Allocators call it for each allocation: true if it must fail. One load if no object lives.
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
