// Threads for work that may block.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_THREAD_CACHE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_THREAD_CACHE_H_

#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace millstream {

// Work never waits for other work: if no thread is idle, a new one is started. An idle thread ends
// after some seconds. Thread-safe.
class ThreadCache {
 public:
  static ThreadCache* Global();  // never destroyed

  void Run(std::function<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);
  // From now on `take` gets the work, to call it on a thread of its own; null: threads of this
  // class do again. For simulations of clusters, which choose what runs when.
  void GiveTo(std::function<void(std::function<void()>)> take) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !waiting_.empty(); }

  absl::Mutex mutex_;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  std::function<void(std::function<void()>)> take_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_THREAD_CACHE_H_
