// How long a thread asks again and again for what it waits for before it sleeps.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_LOOK_TIME_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_LOOK_TIME_H_

#include <cstdint>

namespace millstream {

// To wake a thread costs its waker and itself more than most answers take. So a thread looks for a
// time before it sleeps, where a core is free for that:
// - A process that may use one core only (sched_getaffinity) never looks.
// - A thread looks only while fewer threads of the process than there are cores, itself among them,
//   handle messages or look (BusyThread): on two cores, one may.
// - None looks while the process awaits answers of more peers than there are cores (AwaitedAnswer):
//   where these run on the same host, they have more use for the core.
// - What other processes do is learned. A look that finds something sets the time of the next one
//   to the most; one in vain halves it, and below the least there is none. One of kWholeEvery looks
//   takes the whole time, so that a quiet machine is noticed.
// Not thread-safe.
class LookTime {
 public:
  static constexpr uint32_t kWholeEvery = 64;

  constexpr LookTime(int64_t most_nanos, int64_t least_nanos)
      : most_(most_nanos), least_(least_nanos) {}

  // How many nanoseconds a look may take that begins now. 0: none begins.
  int64_t Begin() {
    if (looks_++ % kWholeEvery == 0) next_ = most_;
    return next_;
  }
  // It has ended.
  void End(bool has_found) {
    next_ = has_found ? most_ : next_ / 2;
    if (next_ < least_) next_ = 0;
  }

 private:
  const int64_t most_;
  const int64_t least_;
  int64_t next_ = 0;
  uint32_t looks_ = 0;
};

// A thread that handles messages or looks for them, as long as the object lives. The count of a
// library is a hint: nothing is ordered by it.
class BusyThread {
 public:
  BusyThread();
  ~BusyThread();
  BusyThread(const BusyThread&) = delete;
  BusyThread& operator=(const BusyThread&) = delete;

  // Whether one of these threads may look.
  static bool MayLook();
};

// An answer that the process awaits from another one, as long as the object lives.
class AwaitedAnswer {
 public:
  AwaitedAnswer();
  ~AwaitedAnswer();
  AwaitedAnswer(const AwaitedAnswer&) = delete;
  AwaitedAnswer& operator=(const AwaitedAnswer&) = delete;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_LOOK_TIME_H_
