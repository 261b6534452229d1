// What a process that was forked may still do.
#ifndef MILLSTREAM_CORE_GRAPH_FORK_GUARD_H_
#define MILLSTREAM_CORE_GRAPH_FORK_GUARD_H_

#include <atomic>

#include "absl/synchronization/mutex.h"
#include "framework/status.h"

namespace millstream {

// A fork copies memory but of all threads only one: worker threads (ours, and those of libraries
// that kernels call) are gone in the child, and locks that they held stay taken. Graphs may be
// built in such a child; sessions are refused by a sentence, since a step would wait for ever.
// Whoever is asked to run asks here before it takes any lock.
class ForkGuard {
 public:
  // From now on children of this process count as forked. Called when the first session is made.
  static void Arm();
  // True in a child, or a child's child, of an armed process. One relaxed load.
  static bool Forked() { return forked_.load(std::memory_order_relaxed); }
  // FAILED_PRECONDITION in such a child.
  static Status Check();

 private:
  static std::atomic<bool> forked_;
};

// While it lives, `mutex` is free in every child that is forked, and what it guards is whole there:
// a fork waits until it has the lock itself. Whoever holds the lock may not wait for a fork, nor
// for another lock of this kind. Thread-safe.
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
