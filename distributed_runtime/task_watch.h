// Whether the tasks of a cluster are still there, as a master learns it when it begins sessions.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_TASK_WATCH_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_TASK_WATCH_H_

#include <cstddef>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "framework/status.h"

namespace millstream {

// Tasks of a cluster come up one after another, so a new session waits for a task that has never
// answered this master, however long that takes. A task that has answered before, and now refuses
// requests or is silent, has ended or hangs, or is being started again. When the patience is over,
// it is gone. It may still come back: the next session waits for it as long again.
//
// Tasks are numbers of Peers::tasks. Times are given, by any clock. Thread-safe.
class TaskWatch {
 public:
  // `patience` is how long a task that has answered before may be away.
  TaskWatch(size_t num_tasks, absl::Duration patience) : patience_(patience), tasks_(num_tasks) {}

  // A request is sent to the task. Returns how long an answer is worth the wait: until a task that
  // has answered before is gone, else for ever.
  absl::Time Ask(size_t task, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // What has become of it: UNAVAILABLE if it was refused, DEADLINE_EXCEEDED if no answer has come;
  // any other status is an answer. Returns whether the task is gone.
  bool TakeResult(size_t task, const Status& status, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Task {
    bool has_answered = false;
    absl::Time asked = absl::InfiniteFuture();  // first, of the requests since the last answer
    absl::Time last_result = absl::InfiniteFuture();  // of any request
  };
  const absl::Duration patience_;
  absl::Mutex mutex_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_TASK_WATCH_H_
