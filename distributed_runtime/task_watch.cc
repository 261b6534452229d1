#include "distributed_runtime/task_watch.h"

#include <algorithm>

namespace millstream {
namespace {

// A session that waits asks every two seconds. After a longer pause it is another one that asks.
constexpr absl::Duration kLongestPause = absl::Seconds(5);

}  // namespace

absl::Time TaskWatch::Ask(size_t task, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  Task& asked = tasks_[task];
  const bool is_anew = now > asked.last_result + kLongestPause;
  asked.asked = is_anew ? now : std::min(asked.asked, now);
  return asked.has_answered ? asked.asked + patience_ : absl::InfiniteFuture();
}

bool TaskWatch::TakeResult(size_t task, const Status& status, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  Task& asked = tasks_[task];
  const bool is_answer = !absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status);
  const bool is_gone = !is_answer && asked.has_answered && now >= asked.asked + patience_;
  asked.last_result = now;
  if (is_answer) asked.has_answered = true;
  if (is_answer || is_gone) asked.asked = absl::InfiniteFuture();
  return is_gone;
}

}  // namespace millstream
