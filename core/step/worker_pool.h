// Threads that help the steps of this process, and those that kernels may block.
#ifndef MILLSTREAM_CORE_STEP_WORKER_POOL_H_
#define MILLSTREAM_CORE_STEP_WORKER_POOL_H_

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
  // when one is free, which may be long: nobody may need it to happen. False, and nothing happens,
  // when the system gives no thread at all.
  bool Run(Work work, void* argument, int most) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes back what Run has not begun of this argument; gives how many there were.
  int Withdraw(const void* argument) ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs work(argument) on a thread that it may block for as long as it likes: at once, however
  // many others there are. False, and nothing happens, when the system gives no thread.
  bool RunBlocking(Work work, void* argument) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Task {
    Work work;
    void* argument;
    bool may_block;
  };
  bool StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether every task that waits, and one more, has a thread that is free to take it.
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
