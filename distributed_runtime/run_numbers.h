// The numbers of a session's runs, by which who is asked to run them knows which have ended.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_RUN_NUMBERS_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_RUN_NUMBERS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

namespace millstream {

struct NumberedRun {
  uint64_t number = 0;
  std::vector<uint64_t> running;  // earlier ones that had not ended, by number
};

// Of who begins the runs. Thread-safe.
class RunNumbers {
 public:
  // The number and the list in one go: so a later run knows of all that an earlier one knew to have
  // ended.
  NumberedRun Begin() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    NumberedRun run = {next_++, running_};
    running_.push_back(run.number);
    return run;
  }
  // REQUIRES: Begin gave the number.
  void End(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    running_.erase(std::find(running_.begin(), running_.end(), number));
  }

 private:
  absl::Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  std::vector<uint64_t> running_ ABSL_GUARDED_BY(mutex_);
};

// Of who is asked, by messages that overtake one another. It takes memory for the runs that there
// are, and not for those that there were. Not thread-safe.
class RunRecord {
 public:
  // A run has begun: of those with smaller numbers all but `running` have ended. False if a later
  // one has begun before: then nothing is new.
  bool Begin(uint64_t number, absl::Span<const uint64_t> running) {
    if (number <= newest_) return false;
    newest_ = number;
    running_.clear();
    running_.insert(running.begin(), running.end());
    return true;
  }
  // Whether a run that has begun said so.
  bool HasEnded(uint64_t number) const { return number < newest_ && !running_.contains(number); }

 private:
  uint64_t newest_ = 0;
  absl::flat_hash_set<uint64_t> running_;  // of smaller numbers
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_RUN_NUMBERS_H_
