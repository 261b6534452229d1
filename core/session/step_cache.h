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
#include "core/graph/step_signature.h"
#include "framework/build_turns.h"
#include "framework/status.h"

namespace millstream {

// The cache of the compiled steps (`Step`) of a session. It keeps at most `most` steps, and in
// addition those that others hold: a callable, or a thread that runs the step. Of the steps that
// nobody holds, the least recently found is removed first. An addition examines only a few held
// steps, so the removal may happen some additions later. The caller deletes removed steps, outside
// of the lock. Thread-safe.
template <typename Step>
class StepCache {
 public:
  using Steps = std::vector<std::shared_ptr<Step>>;

  // More than a front end keeps callables for, so that it finds steps of callables that it let go.
  static constexpr size_t kMostSteps = 1024;

  explicit StepCache(size_t most = kMostSteps) : most_(most) {}
  StepCache(const StepCache&) = delete;
  StepCache& operator=(const StepCache&) = delete;

  // Returns the step of the signature; null if there is none.
  std::shared_ptr<Step> Find(const StepSignature& signature) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = by_signature_.find(signature);
    if (found == by_signature_.end()) return nullptr;
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return found->second->step;
  }

  // Returns the step of the signature. If there is none, adds the one that build() gives, a
  // StatusOr<std::shared_ptr<Step>>, or returns its error. Calls drop(steps) with the steps that
  // were removed, if there are any.
  //
  // Threads that want the step wait for the thread that builds it. After an error one of them tries
  // next. Other signatures do not wait. No lock is held over build() and drop().
  // REQUIRES: build() runs no code that may want a step of this cache.
  template <typename Build, typename Drop>
  StatusOr<std::shared_ptr<Step>> FindOrBuild(const StepSignature& signature, const Build& build,
                                              const Drop& drop) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (std::shared_ptr<Step> found = Find(signature)) return found;
    Steps dropped;
    std::shared_ptr<Step> step;
    {
      const BuildTurns<StepSignature>::Turn turn(&turns_, signature);
      if (std::shared_ptr<Step> found = Find(signature)) return found;
      MS_ASSIGN_OR_RETURN(std::shared_ptr<Step> made, build());
      step = Add(signature, std::move(made), &dropped);
    }
    if (!dropped.empty()) drop(std::move(dropped));
    return step;
  }

  // Adds `step`, unless there is a step of this signature. Returns the step of the signature. Adds
  // the steps that were removed to `dropped`.
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

  // Removes and returns all steps that nobody else holds.
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

  // Removes and returns all steps.
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

  // The most held steps that one addition examines, because others wait for the lock meanwhile.
  static constexpr int kMostPassed = 8;

  // A step that only the cache holds cannot become held without the lock.
  static bool IsHeld(const Entry& entry) { return entry.step.use_count() > 1; }

  void Take(typename Entries::iterator entry, Steps* taken) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    taken->push_back(std::move(entry->step));
    by_signature_.erase(entry->signature);
    by_use_.erase(entry);
  }

  // Moves held steps to the front, so that the next addition examines others.
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
  BuildTurns<StepSignature> turns_;
  mutable absl::Mutex mutex_;
  Entries by_use_ ABSL_GUARDED_BY(mutex_);  // most recently found first
  absl::flat_hash_map<StepSignature, typename Entries::iterator> by_signature_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_STEP_CACHE_H_
