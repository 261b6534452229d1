// How long a thread asks gRPC again and again before it sleeps.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_LOOK_TIME_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_LOOK_TIME_H_

#include <cstdint>

namespace millstream::network {

// To wake a thread costs its waker and itself more than most answers take. So a thread that has the
// turn looks for a time before it sleeps, where a core is free for that. The rule is that of
// BriefLook, which looks at memory and not into gRPC:
// - A look that finds something sets the time of the next one to kMostNanos; one in vain halves it,
//   and below kLeastNanos there is none. One of kWholeEvery looks takes the whole time, so that a
//   quiet machine is noticed.
// - A thread looks only while fewer threads than there are cores, itself among them, look or
//   complete events (BusyThread). A process that may use one core only never looks.
// Of a kind of threads; the turn guards it.
class LookTime {
 public:
  // From the answer to a small step to the next request, and back, through a connection of one
  // host.
  static constexpr int64_t kMostNanos = 100'000;
  static constexpr int64_t kLeastNanos = 5'000;
  static constexpr uint32_t kWholeEvery = 64;

  // How long a look may take that begins now. 0: none begins.
  int64_t Begin() {
    if (looks_++ % kWholeEvery == 0) next_ = kMostNanos;
    return next_;
  }
  // It has ended.
  void End(bool has_found) {
    next_ = has_found ? kMostNanos : next_ / 2;
    if (next_ < kLeastNanos) next_ = 0;
  }

 private:
  int64_t next_ = 0;
  uint32_t looks_ = 0;
};

// A thread that completes events or looks for them, as long as the object lives. The count is a
// hint: nothing is ordered by it.
class BusyThread {
 public:
  BusyThread();
  ~BusyThread();
  BusyThread(const BusyThread&) = delete;
  BusyThread& operator=(const BusyThread&) = delete;

  // Whether one of these threads may look.
  static bool MayLook();
};

}  // namespace millstream::network

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_LOOK_TIME_H_
