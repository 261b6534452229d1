// The steps that a session has compiled, by signature.
#ifndef MILLSTREAM_CORE_SESSION_STEP_CACHE_H_
#define MILLSTREAM_CORE_SESSION_STEP_CACHE_H_

#include <cstddef>
#include <iterator>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/session/session.h"

namespace millstream {

// Keeps at most so many steps, and those besides that somebody holds: a callable, or a thread that
// runs one. Of the others the least recently found goes first; behind many that are held it goes
// some additions later, since each looks at few of them. `Step` is a compiled step. What is taken
// out is the caller's to delete, without a lock. Thread-safe.
template <typename Step>
class StepCache {
 public:
  using Steps = std::vector<std::shared_ptr<Step>>;

  explicit StepCache(size_t most) : most_(most) {}
  StepCache(const StepCache&) = delete;
  StepCache& operator=(const StepCache&) = delete;

  // Null when there is none.
  std::shared_ptr<Step> Find(const StepSignature& signature) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = by_signature_.find(signature);
    if (found == by_signature_.end()) return nullptr;
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return found->second->step;
  }

  // The step of this signature from now on: `step`, or one that is there already. What had to go
  // for it is added to `dropped`.
  std::shared_ptr<Step> Add(const StepSignature& signature, std::shared_ptr<Step> step,
                            Steps* dropped) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto [found, is_new] = by_signature_.try_emplace(signature);
    if (!is_new) return found->second->step;
    by_use_.push_front({signature, step});
    found->second = by_use_.begin();
    TakeBeyondMost(dropped);
    return step;
  }

  // Takes out all that nobody holds.
  Steps TakeUnheld() ABSL_LOCKS_EXCLUDED(mutex_) {
    Steps taken;
    absl::MutexLock lock(&mutex_);
    for (auto entry = by_use_.begin(); entry != by_use_.end();) {
      const auto next = std::next(entry);
      if (!IsHeld(*entry)) Take(entry, &taken);
      entry = next;
    }
    return taken;
  }

  // Takes out all.
  Steps TakeAll() ABSL_LOCKS_EXCLUDED(mutex_) {
    Steps taken;
    absl::MutexLock lock(&mutex_);
    for (Entry& entry : by_use_) taken.push_back(std::move(entry.step));
    by_signature_.clear();
    by_use_.clear();
    return taken;
  }

  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return by_use_.size();
  }

 private:
  struct Entry {
    StepSignature signature;
    std::shared_ptr<Step> step;
  };

  using Entries = std::list<Entry>;

  // How many that are held one addition meets, while all that find a step wait for it.
  static constexpr int kMostPassed = 8;

  // A step that only the cache holds cannot become held without the lock.
  static bool IsHeld(const Entry& entry) { return entry.step.use_count() > 1; }

  void Take(typename Entries::iterator entry, Steps* taken) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    taken->push_back(std::move(entry->step));
    by_signature_.erase(entry->signature);
    by_use_.erase(entry);
  }

  // What is held goes to the front, so that the next addition meets others.
  void TakeBeyondMost(Steps* taken) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    int passed = 0;
    while (by_use_.size() > most_ && passed < kMostPassed) {
      const auto last = std::prev(by_use_.end());
      if (IsHeld(*last)) {
        by_use_.splice(by_use_.begin(), by_use_, last);
        ++passed;
      } else {
        Take(last, taken);
      }
    }
  }

  const size_t most_;
  mutable absl::Mutex mutex_;
  Entries by_use_ ABSL_GUARDED_BY(mutex_);  // the last found first
  absl::flat_hash_map<StepSignature, typename Entries::iterator> by_signature_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_STEP_CACHE_H_
