// Detects that the process is a forked child, in which no session may run.
#ifndef MILLSTREAM_CORE_GRAPH_FORK_GUARD_H_
#define MILLSTREAM_CORE_GRAPH_FORK_GUARD_H_

#include <atomic>

#include "absl/synchronization/mutex.h"
#include "framework/status.h"

namespace millstream {

// A fork copies the memory but only the calling thread. In the child, the worker threads (ours, and
// those of libraries that kernels call) do not exist, and locks that they held stay locked. A step
// would wait for ever. Therefore the child may build graphs, but sessions return an error.
// Functions that run steps call Check() before they take any lock. Thread-safe.
class ForkGuard {
 public:
  // Starts the detection: children that are forked after this call are detected. The first session
  // calls it.
  static void Arm();
  // Returns true in a child, or a child's child, that was forked after Arm(). One relaxed load.
  static bool Forked() { return forked_.load(std::memory_order_relaxed); }
  // Returns FAILED_PRECONDITION if Forked().
  static Status Check();

 private:
  static std::atomic<bool> forked_;
};

// While an object of this class lives, a fork locks `mutex` first. The parent unlocks it
// afterwards, and the child has it unlocked. So the data that it guards is consistent in the child.
// REQUIRES: a thread that holds `mutex` waits neither for a fork nor for another mutex of this
// kind. Thread-safe.
class FreeInForks {
 public:
  explicit FreeInForks(absl::Mutex* mutex);
  ~FreeInForks();
  FreeInForks(const FreeInForks&) = delete;
  FreeInForks& operator=(const FreeInForks&) = delete;

 private:
  absl::Mutex* const mutex_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_FORK_GUARD_H_
