// Looking for a message for some microseconds before a thread sleeps.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_BRIEF_LOOK_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_BRIEF_LOOK_H_

#include <chrono>
#include <cstdint>

#include "absl/functional/function_ref.h"

namespace millstream {

// To wake a thread takes longer than most answers. So a thread looks again and again before it
// sleeps, where a core is free for that. The rule:
// - A process that may use one core only (sched_getaffinity) never looks.
// - A thread looks only while fewer threads of the process than there are cores, itself among them,
//   handle messages or look (BusyThread): on two cores, one may.
// - What other processes do is learned: a look that finds nothing halves the time of the next one,
//   from 40 µs down to 1 µs, and after that a thread looks once. One that finds something sets it
//   to 40 µs. One of 64 looks takes the whole time, so that a quiet machine is noticed.
// Not thread-safe.
class BriefLook {
 public:
  // Returns true as soon as `found` does.
  bool Look(absl::FunctionRef<bool()> found);

 private:
  std::chrono::nanoseconds next_{0};  // how long
  uint32_t looks_ = 0;
};

// A thread that handles messages or looks for them, as long as the object lives.
class BusyThread {
 public:
  BusyThread();
  ~BusyThread();
  BusyThread(const BusyThread&) = delete;
  BusyThread& operator=(const BusyThread&) = delete;

  // Whether one of these threads may look.
  static bool MayLook();
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_BRIEF_LOOK_H_
