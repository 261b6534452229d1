#include "core/step/step_trace.h"

#include <atomic>
#include <chrono>
#include <utility>

namespace millstream {
namespace {

template <typename Clock>
int64_t NanosecondsOf() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

}  // namespace

StepTrace::StepTrace()
    : wall_minus_monotonic_(NanosecondsOf<std::chrono::system_clock>() - Now()) {}

int64_t StepTrace::Now() { return NanosecondsOf<std::chrono::steady_clock>(); }

uint32_t StepTrace::ThisThread() {
  static std::atomic<uint32_t> next{0};
  static thread_local const uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

TracedPart* StepTrace::AddPart(std::string device) {
  parts_.push_back(TracedPart{std::move(device), {}});
  return &parts_.back();
}

uint64_t StepTrace::BeginExecution(const std::string& node) {
  uint64_t id = 0;
  {
    absl::MutexLock lock(&executions_mutex_);
    executions_.push_back(node);
    id = executions_.size();
  }
  if (listener_ != nullptr) listener_->BeginExecution(id);
  return id;
}

void StepTrace::EndExecution() {
  if (listener_ != nullptr) listener_->EndExecution();
}

std::string StepTrace::NodeOf(uint64_t id) const {
  absl::MutexLock lock(&executions_mutex_);
  return id == 0 || id > executions_.size() ? std::string() : executions_[id - 1];
}

void StepTrace::AddRange(TracedRange range) {
  absl::MutexLock lock(&ranges_mutex_);
  ranges_.push_back(std::move(range));
}

std::vector<TracedRange> StepTrace::ranges() const {
  absl::MutexLock lock(&ranges_mutex_);
  return ranges_;
}

}  // namespace millstream
