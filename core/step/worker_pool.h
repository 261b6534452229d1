// The threads of this process that help steps, and those that kernels may block.
#ifndef MILLSTREAM_CORE_STEP_WORKER_POOL_H_
#define MILLSTREAM_CORE_STEP_WORKER_POOL_H_

#include <deque>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace millstream {

// Threads start when they are first needed and live as long as the process. Thread-safe.
class WorkerPool {
 public:
  using Work = void (*)(void* argument);
  static WorkerPool* Global();  // never destroyed

  // Runs work(argument) on a thread of the pool: at once if fewer than `most` threads are busy,
  // else when a thread is free. That may take arbitrarily long, so no step may depend on it.
  // Returns false and does nothing if the system provides no thread.
  bool Run(Work work, void* argument, int most) ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes the tasks of Run with this argument that have not begun; returns their number.
  int Withdraw(const void* argument) ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs work(argument) at once, on a thread that it may block for any time. Returns false and does
  // nothing if the system provides no thread.
  bool RunBlocking(Work work, void* argument) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Task {
    Work work;
    void* argument;
    bool may_block;
  };
  bool StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True if there is an idle thread for every waiting task and one more.
  bool HasIdleThread() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return static_cast<int>(tasks_.size()) < idle_;
  }
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  int threads_ ABSL_GUARDED_BY(mutex_) = 0;
  int idle_ ABSL_GUARDED_BY(mutex_) = 0;
  int blocking_ ABSL_GUARDED_BY(mutex_) = 0;  // tasks of RunBlocking that have not ended
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_WORKER_POOL_H_
