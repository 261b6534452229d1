#include "distributed_runtime/pulse.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/graph/fork_guard.h"
#include "distributed_runtime/thread_cache.h"
#include "framework/steady_time.h"

namespace millstream {

struct Pulse::State {
  bool IsIdle() const ABSL_SHARED_LOCKS_REQUIRED(mutex) { return !is_beating; }

  absl::Mutex mutex;
  SteadyCondVar stopped;
  bool is_stopped ABSL_GUARDED_BY(mutex) = false;
  bool is_beating ABSL_GUARDED_BY(mutex) = false;
};

Pulse::Pulse(absl::Duration period, std::function<void()> beat)
    : state_(std::make_shared<State>()) {
  ThreadCache::Global()->Run([state = state_, period, beat = std::move(beat)] {
    while (true) {
      {
        absl::MutexLock lock(&state->mutex);
        const auto is_stopped = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state->mutex) {
          return state->is_stopped;
        };
        if (state->stopped.Await(&state->mutex, SteadyNow() + period, is_stopped)) return;
        state->is_beating = true;
      }
      beat();
      absl::MutexLock lock(&state->mutex);
      state->is_beating = false;
    }
  });
}

Pulse::~Pulse() {
  // A forked child has a copy of the object, and not the thread.
  if (ForkGuard::Forked()) return;
  absl::MutexLock lock(&state_->mutex);
  state_->is_stopped = true;
  state_->stopped.SignalAll();
  state_->mutex.Await(absl::Condition(state_.get(), &State::IsIdle));
}

}  // namespace millstream
