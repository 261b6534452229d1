#include "core/step_context.h"

#include <chrono>

#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

// Asking the front end whether to stop costs it a lock.
constexpr int64_t kMillisBetweenQuestions = 50;

std::atomic<uint64_t> next_step_id{1};

int64_t NowMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

StepContext::StepContext(const RunOptions& options, ResourceManager* resources)
    : options_(options),
      step_id_(next_step_id.fetch_add(1, std::memory_order_relaxed)),
      container_(resources, step_id_),
      driver_(std::this_thread::get_id()) {
  if (options.timeout_ms > 0 || options.should_stop != nullptr) {
    last_asked_ms_ = NowMillis();
    if (options.timeout_ms > 0) deadline_ms_ = last_asked_ms_ + options.timeout_ms;
  }
}

Status StepContext::CheckInterruption() {
  if (options_.cancellation != nullptr && options_.cancellation->IsCancelled()) {
    return errors::Cancelled("the step was cancelled");
  }
  if (stopping_.load(std::memory_order_relaxed)) return status();
  if (options_.should_stop == nullptr && deadline_ms_ == 0) return absl::OkStatus();
  if (std::this_thread::get_id() != driver_) return absl::OkStatus();
  const int64_t now = NowMillis();
  if (options_.should_stop != nullptr && now - last_asked_ms_ >= kMillisBetweenQuestions) {
    last_asked_ms_ = now;
    if (options_.should_stop(options_.should_stop_argument)) {
      return errors::Cancelled("the step was interrupted");
    }
  }
  if (deadline_ms_ != 0 && now > deadline_ms_) {
    return absl::DeadlineExceededError(
        absl::StrCat("the step took longer than ", options_.timeout_ms, " ms"));
  }
  return absl::OkStatus();
}

void StepContext::Fail(const Status& error) {
  absl::MutexLock lock(&mutex_);
  if (first_error_.ok()) first_error_ = error;
  stopping_.store(true, std::memory_order_relaxed);
}

Status StepContext::status() const {
  absl::MutexLock lock(&mutex_);
  return first_error_;
}

}  // namespace millstream
