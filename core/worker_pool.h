// Threads that run what a step hands off: parts of it, and kernels that may block.
#ifndef MILLSTREAM_CORE_WORKER_POOL_H_
#define MILLSTREAM_CORE_WORKER_POOL_H_

#include <deque>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace millstream {

// Thread-safe. Threads start when they are first needed and live as long as the process.
class WorkerPool {
 public:
  using Work = void (*)(void* argument);
  static WorkerPool* Global();  // lives for ever

  // Runs work(argument) on some thread of the pool, at once when fewer than `most` are busy, else
  // when one is free. False, and nothing happens, when the system gives no thread at all.
  bool Run(Work work, void* argument, int most) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Task {
    Work work;
    void* argument;
  };
  bool StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  int threads_ ABSL_GUARDED_BY(mutex_) = 0;
  int idle_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_WORKER_POOL_H_
