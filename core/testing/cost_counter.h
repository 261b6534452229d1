// Counts the heap allocations and mutex locks of code, and their callers. Only test programs that
// link this file count.
#ifndef MILLSTREAM_CORE_TESTING_COST_COUNTER_H_
#define MILLSTREAM_CORE_TESTING_COST_COUNTER_H_

#include <string>
#include <vector>

namespace millstream {

// malloc and its relatives (operator new among them), pthread mutexes and Abseil's, on the thread
// that made the counter, as long as it lives. One at a time on a thread.
//
// Every event belongs to the innermost caller that is not a general library (libc, libstdc++,
// Abseil): to a backend if that is a backend's shared object or a library that only backends use,
// else to the runtime.
class CostCounter {
 public:
  CostCounter();
  ~CostCounter();
  CostCounter(const CostCounter&) = delete;
  CostCounter& operator=(const CostCounter&) = delete;

  struct Events {
    // "malloc by libcore.so: millstream::Plan::TakeState()", one line an event.
    std::vector<std::string> runtime;
    std::vector<std::string> backend;
  };
  // Stops counting. There is room for kMaxEvents; one that found none makes the test fail.
  Events Finish();
  static constexpr int kMaxEvents = 1 << 15;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_TESTING_COST_COUNTER_H_
