#include "core/step/step_listeners.h"

#include <algorithm>
#include <utility>

#include "core/step/run_options.h"
#include "framework/held_time_limits_for_tests.h"
#include "framework/steady_time.h"

namespace millstream {

// A kernel that forgot to take its listener back must not be called when the step is over.
StepListeners::~StepListeners() {
  if (watch_.joinable()) {
    {
      absl::MutexLock lock(&mutex_);
      is_over_ = true;
      over_.SignalAll();
    }
    watch_.join();
  }
  for (const Entry& entry : entries_) Forget(entry.listener.get());
}

// Who is not told ends by what the step's other threads see; they know better where it was.
void StepListeners::WatchTime(absl::Time deadline, OutOfTime out_of_time, void* step) {
  absl::MutexLock lock(&mutex_);
  if (watch_.joinable()) return;
  watch_ = std::thread([this, deadline, out_of_time, step] {
    const Node* node = nullptr;
    {
      absl::MutexLock waiting(&mutex_);
      const auto is_over = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_over_; };
      if (over_.Await(&mutex_, deadline, is_over)) return;
      while (HeldTimeLimits::AreHeld()) {
        if (over_.Await(&mutex_, SteadyNow() + absl::Milliseconds(1), is_over)) return;
      }
      mutex_.Await(absl::Condition(this, &StepListeners::HasEntriesOrIsOver));
      if (is_over_) return;
      node = entries_.back().node;
    }
    out_of_time(step, node);
  });
}

uint64_t StepListeners::Add(void (*fn)(void* user), void* user, const Node* node) {
  auto owned = std::make_unique<CancelListener>(fn, user);
  CancelListener* const listener = owned.get();
  uint64_t token = 0;
  {
    absl::MutexLock lock(&mutex_);
    token = ++last_token_;
    entries_.push_back({token, node, std::move(owned)});
  }
  failed_.Add(listener);
  for (const Cancellation* source : {cancellation_, closing_}) {
    if (source != nullptr) source->listeners()->Add(listener);
  }
  return token;
}

void StepListeners::Remove(uint64_t token) {
  std::unique_ptr<CancelListener> removed;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [token](const Entry& entry) { return entry.token == token; });
    if (found == entries_.end()) return;
    removed = std::move(found->listener);
    entries_.erase(found);
  }
  Forget(removed.get());
}

void StepListeners::Forget(CancelListener* listener) {
  failed_.Remove(listener);
  for (const Cancellation* source : {cancellation_, closing_}) {
    if (source != nullptr) source->listeners()->Remove(listener);
  }
}

}  // namespace millstream
