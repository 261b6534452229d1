// CollectiveExchange: whether the other tasks are there.
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "distributed_runtime/collective_exchange.h"

namespace millstream {
namespace {

// In heartbeats: how long a task that does not answer is not taken for lost, and how long an error
// is kept for those who have not asked.
constexpr int kPatience = 4;

}  // namespace

CollectiveExchange::Watch CollectiveExchange::Beat() {
  Watch watch;
  Status lost;
  bool ends = false;
  {
    absl::MutexLock lock(&mutex_);
    const bool is_begun = failed_.ok() && !tasks_.empty();
    if (!is_begun && ++beats_ > kPatience) {
      watch.is_over = !failed_.ok();
      lost = absl::AbortedError(absl::StrCat(
          "the task ", task_, " does not know the collective operation that it is asked about"));
    }
    for (Other& other : tasks_) {
      if (!is_begun || other.awaited + other.unasked == 0) continue;
      ++other.silent;
      if (++other.absent > kPatience) other.unasked = 0;
      if (other.silent <= kPatience) {
        watch.tasks.push_back({other.name, other.ticket});
      } else if (other.awaited > 0) {
        lost = absl::UnavailableError(
            absl::StrCat("the task ", other.name, ", which exchanges tensors of ", NameOf(spec_),
                         " with ", task_, ", was lost: it does not answer"));
      }
    }
    ends = TakeEnd();
  }
  if (!lost.ok()) Fail(lost);
  if (ends) on_end_();
  return watch;
}

void CollectiveExchange::Hear(absl::string_view task, bool takes_part) {
  absl::MutexLock lock(&mutex_);
  for (Other& other : tasks_) {
    if (other.name != task) continue;
    other.silent = 0;
    if (takes_part) other.absent = 0;
  }
}

void CollectiveExchange::Leave(int asker) {
  bool ends = false;
  {
    absl::MutexLock lock(&mutex_);
    if (asker < 0 || asker >= static_cast<int>(tasks_.size())) return;
    tasks_[asker].unasked = 0;
    ends = TakeEnd();
  }
  if (ends) on_end_();
}

bool CollectiveExchange::IsUnderWay() const {
  absl::MutexLock lock(&mutex_);
  return failed_.ok() && !tasks_.empty();
}

bool CollectiveExchange::Expect() {
  absl::MutexLock lock(&mutex_);
  if (!failed_.ok()) return false;
  beats_ = 0;
  return true;
}

bool CollectiveExchange::Owes() const {
  absl::MutexLock lock(&mutex_);
  return has_result_ && !has_ended_;
}

bool CollectiveExchange::Awaits(absl::string_view task) const {
  absl::MutexLock lock(&mutex_);
  if (!failed_.ok()) return false;
  return absl::c_any_of(
      tasks_, [task](const Other& other) { return other.name == task && other.awaited > 0; });
}

bool CollectiveExchange::TakeEnd() {
  if (!has_result_ || has_ended_) return false;
  has_ended_ = absl::c_none_of(tasks_, [](const Other& other) { return other.unasked > 0; });
  return has_ended_;
}

std::string CollectiveExchange::Missing(const CollectiveSpec& spec,
                                        absl::string_view device) const {
  std::vector<std::string> missing;
  absl::MutexLock lock(&mutex_);
  const bool is_member = absl::c_any_of(
      members_, [device](const CollectiveMember& one) { return one.device == device; });
  const bool is_same = spec_.scope == spec.scope && spec_.group_key == spec.group_key &&
                       spec_.instance_key == spec.instance_key;
  if (!is_member || !is_same) return "";
  for (const Other& other : tasks_) {
    if (other.awaited > 0) missing.push_back(other.name);
  }
  if (missing.empty()) return absl::StrCat("the tensors of ", NameOf(spec_), " in ", task_);
  return absl::StrCat("tensors of ", NameOf(spec_), " from ", absl::StrJoin(missing, ", "));
}

}  // namespace millstream
