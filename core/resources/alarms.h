// Functions that are called at a time. One thread of the process waits for all of them.
#ifndef MILLSTREAM_CORE_RESOURCES_ALARMS_H_
#define MILLSTREAM_CORE_RESOURCES_ALARMS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "framework/steady_time.h"

namespace millstream {

// Times are of SteadyNow. The thread starts with the first alarm and lives as long as the process.
// Thread-safe.
class Alarms {
 public:
  static constexpr uint64_t kNone = 0;
  // A longer time limit is none: no alarm is set for it.
  static constexpr absl::Duration kLongest = absl::Hours(24 * 365 * 10);

  static Alarms* Global();  // never destroyed

  // Calls ring() after `limit`, on the thread of the alarms, which it must not block. Gives a
  // number for Forget, or kNone if the limit is longer than kLongest.
  uint64_t Set(absl::Duration limit, std::function<void()> ring) ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes an alarm. It does not wait: the alarm may be ringing meanwhile. Ignores kNone and
  // alarms that have rung.
  void Forget(uint64_t alarm) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Key = std::pair<absl::Time, uint64_t>;

  void Ring() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  SteadyCondVar changed_;
  std::map<Key, std::function<void()>> alarms_ ABSL_GUARDED_BY(mutex_);  // the next one first
  absl::flat_hash_map<uint64_t, absl::Time> times_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = kNone;
  bool has_thread_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_ALARMS_H_
