#include "core/step/step_context.h"

#include <time.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/graph/graph.h"
#include "core/step/step_scheduler.h"
#include "framework/held_time_limits_for_tests.h"
#include "framework/plugin/signal_stack.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

// Asking the front end whether to stop costs it a lock.
constexpr int64_t kMillisBetweenQuestions = 50;

std::atomic<uint64_t> next_step_id{1};

// Without a deadline only the questions are timed, for which the coarse clock will do: it is some
// milliseconds behind, and reading it is a fraction of the price.
int64_t NowMillis(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
}

}  // namespace

StepContext::StepContext(const RunOptions& options, const SessionSettings& settings)
    : max_threads(settings.intra_op_threads),
      needs_permit(settings.features.parallelism_permit),
      deterministic(settings.options.deterministic),
      options_(options),
      step_id_(next_step_id.fetch_add(1, std::memory_order_relaxed)),
      container_(settings.resources, step_id_),
      driver_(std::this_thread::get_id()),
      clock_(options.timeout_ms > 0 ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_COARSE) {
  EnsureSignalStack();  // kernels run on this thread
  if (options.timeout_ms > 0 || options.should_stop != nullptr) {
    last_asked_ms_ = NowMillis(clock_);
    if (options.timeout_ms > 0) {
      constexpr int64_t kEndOfTime = std::numeric_limits<int64_t>::max();
      deadline_ms_ = std::min(options.timeout_ms, kEndOfTime - last_asked_ms_) + last_asked_ms_;
    }
  }
}

Status StepContext::CheckInterruption(bool may_ask) {
  if (options_.cancellation != nullptr && options_.cancellation->IsCancelled()) {
    return errors::Cancelled("the step was cancelled");
  }
  if (options_.closing != nullptr && options_.closing->IsCancelled()) {
    if (scheduler != nullptr && IsDriver()) scheduler->NoteWork();
    return errors::Cancelled("the session was closed while the step ran");
  }
  if (first_error_.load(std::memory_order_relaxed) != nullptr) {
    NoteWorkOf(status());
    return status();
  }
  if (options_.should_stop == nullptr && deadline_ms_ == 0) return absl::OkStatus();
  if (!IsDriver()) return absl::OkStatus();
  const int64_t now = NowMillis(clock_);
  const bool is_due = now - last_asked_ms_ >= kMillisBetweenQuestions;
  if (options_.should_stop != nullptr && is_due && may_ask) {
    last_asked_ms_ = now;
    if (options_.should_stop(options_.should_stop_argument)) {
      return errors::Cancelled("the step was interrupted");
    }
  }
  if (deadline_ms_ != 0 && now > deadline_ms_ && !HeldTimeLimits::AreHeld()) {
    if (scheduler != nullptr) scheduler->NoteWork();
    return OutOfTime();
  }
  return absl::OkStatus();
}

// The thread that watches the time for listeners must not ask the scheduler, which goes before it.
void StepContext::NoteWorkOf(const Status& error) {
  const bool took_too_long = deadline_ms_ != 0 && absl::IsDeadlineExceeded(error);
  if (took_too_long && scheduler != nullptr && IsDriver()) scheduler->NoteWork();
}

Status StepContext::OutOfTime() const {
  return absl::DeadlineExceededError(
      absl::StrCat("the step took longer than ", options_.timeout_ms, " ms"));
}

StepListeners* StepContext::Listeners() {
  StepListeners* present = listeners_.load(std::memory_order_acquire);
  if (present != nullptr) return present;
  auto made = std::make_unique<StepListeners>(options_.cancellation, options_.closing);
  return listeners_.compare_exchange_strong(present, made.get()) ? made.release() : present;
}

uint64_t StepContext::AddListener(void (*fn)(void* user), void* user, const Node* node) {
  StepListeners* const listeners = Listeners();
  const uint64_t token = listeners->Add(fn, user, node);
  // Fail looks for listeners after it has set the error; here it is the other way round, so that
  // one of the two sees the other.
  if (first_error_.load() != nullptr) listeners->Fire();
  // The thread that drives the step, and looks at the clock, may be the one that waits for the
  // call.
  if (deadline_ms_ != 0) {
    const absl::Time end =
        SteadyNow() + absl::Milliseconds(std::max<int64_t>(deadline_ms_ - NowMillis(clock_), 0));
    const auto stop = [](void* context, const Node* late) {
      auto* const step = static_cast<StepContext*>(context);
      const Status out_of_time = step->OutOfTime();
      step->Fail(late == nullptr ? out_of_time : AnnotateWithNode(out_of_time, *late));
    };
    listeners->WatchTime(end, stop, this);
  }
  return token;
}

void StepContext::RemoveListener(uint64_t token) {
  StepListeners* const listeners = listeners_.load(std::memory_order_acquire);
  if (listeners != nullptr) listeners->Remove(token);
}

void StepContext::Fail(const Status& error) {
  auto kept = std::make_unique<const Status>(error);
  const Status* none = nullptr;
  if (!first_error_.compare_exchange_strong(none, kept.get())) return;
  kept.release();
  if (StepListeners* const listeners = listeners_.load()) listeners->Fire();
}

Status StepContext::status() const {
  const Status* const error = first_error_.load(std::memory_order_acquire);
  return error == nullptr ? absl::OkStatus() : *error;
}

}  // namespace millstream
