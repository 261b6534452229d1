#include "core/step/step_scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/graph/error_details.h"
#include "core/partition/rendezvous.h"
#include "core/step/wait_judge.h"
#include "core/step/worker_pool.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

// How often a driver with nothing to do looks whether the step is to end early.
constexpr absl::Duration kLookInterval = absl::Milliseconds(20);

// A message should fit a screen.
constexpr size_t kMostWaits = 10;

std::string InLines(const std::vector<std::string>& waits) {
  std::string text;
  for (size_t i = 0; i < std::min(waits.size(), kMostWaits); ++i) {
    absl::StrAppend(&text, "\n  ", waits[i]);
  }
  if (waits.size() > kMostWaits) {
    absl::StrAppend(&text, "\n  and ", waits.size() - kMostWaits, " more");
  }
  return text;
}

// What the outside work waits for, one wait a line. Empty if one is not known, because the work
// then may end by itself.
std::string KnownWaits(const std::vector<OutsideWork>& outside_work, int outside) {
  if (outside == 0 || static_cast<size_t>(outside) != outside_work.size()) return "";
  std::string waits;
  for (const OutsideWork& work : outside_work) {
    if (work.waits_for.empty()) return "";
    absl::StrAppend(&waits, work.waits_for, "\n");
  }
  return waits;
}

// A step with a time limit waits until then. Programs of other tasks may end the waits of a step
// that has parts there.
WaitVerdict Judge(const RunOptions& options, const std::string& waits) {
  const WaitJudge judge = TheWaitJudge();
  const bool is_asked = judge != nullptr && options.should_stop != nullptr &&
                        options.timeout_ms == 0 && options.other_tasks == nullptr && !waits.empty();
  return is_asked ? judge(waits) : WaitVerdict::kMayEnd;
}

Status HopelessStepError(const std::vector<std::string>& waits) {
  return errors::FailedPrecondition(
      "the step waits for what nobody can give: no running step, no queue runner and no other "
      "thread of the program can end these waits:",
      InLines(waits));
}

}  // namespace

Status StuckStepError(const std::vector<std::string>& waits) {
  return errors::Internal(
      "the step cannot continue: no node runs, and the remaining nodes wait for missing inputs:",
      InLines(waits));
}

std::string LateStepWarning(absl::string_view cause, const std::vector<std::string>& work) {
  const std::string step = absl::StrCat("a step that is to end (", cause, ") ");
  // It is being compiled, say, or copies what was fetched.
  if (work.empty()) return absl::StrCat(step, "has not, and no kernel runs");
  return absl::StrCat(step, "still waits for kernels:", InLines(work));
}

void StepScheduler::Enqueue(StepPart* part) {
  part->state_ = StepPart::State::kQueued;
  ready_.push_back(part);
  changed_.Signal();
  CallHelper();
}

// Each present thread can take one part or task. If there is more work, this requests a pool
// thread.
void StepScheduler::CallHelper() {
  const int hands = 1 + helpers_;
  const int work = static_cast<int>(ready_.size() + tasks_.size()) + running_ + running_tasks_;
  if (work <= hands || hands >= threads_) return;
  ++helpers_;
  if (!WorkerPool::Global()->Run(&StepScheduler::Help, this, threads_ - 1)) --helpers_;
}

void StepScheduler::WakeLocked(StepPart* part) {
  switch (part->state_) {
    case StepPart::State::kWaiting: Enqueue(part); break;
    case StepPart::State::kRunning: part->state_ = StepPart::State::kRunningAndWoken; break;
    case StepPart::State::kQueued:
    case StepPart::State::kRunningAndWoken:
    case StepPart::State::kFinished: break;
  }
}

void StepScheduler::Wake(StepPart* part) {
  absl::MutexLock lock(&mutex_);
  WakeLocked(part);
}

void StepScheduler::StartOutside(const OutsideWork& work) {
  absl::MutexLock lock(&mutex_);
  ++outside_;
  if (work.node != nullptr) outside_work_.push_back(work);
}

void StepScheduler::FinishOutside(StepPart* part, const Node* node) {
  absl::MutexLock lock(&mutex_);
  --outside_;
  if (node != nullptr) {
    const auto work =
        std::find_if(outside_work_.begin(), outside_work_.end(),
                     [&](const OutsideWork& w) { return w.node == node && w.part == part; });
    *work = std::move(outside_work_.back());
    outside_work_.pop_back();
  }
  if (part != nullptr) WakeLocked(part);
  changed_.SignalAll();
}

bool StepScheduler::RunElsewhere(void (*work)(void* argument), void* argument) {
  if (threads_ == 1) return false;
  absl::MutexLock lock(&mutex_);
  tasks_.push_back(Task{work, argument});
  changed_.Signal();
  CallHelper();
  return true;
}

// Does one thing that waits to be done, if there is one; the lock is open meanwhile. Parts go
// first: they may find more to do for others.
bool StepScheduler::RunOne(bool is_driver) {
  if (!ready_.empty()) {
    AdvanceOne(is_driver);
    return true;
  }
  if (tasks_.empty()) return false;
  const Task task = tasks_.front();
  tasks_.pop_front();
  ++running_tasks_;
  mutex_.Unlock();
  task.work(task.argument);
  mutex_.Lock();
  --running_tasks_;
  return true;
}

// Advances the first ready part; the lock is open meanwhile.
void StepScheduler::AdvanceOne(bool is_driver) {
  StepPart* const part = ready_.front();
  ready_.pop_front();
  part->state_ = StepPart::State::kRunning;
  ++running_;
  if (is_driver) driven_ = part;
  mutex_.Unlock();
  const bool finished = part->Advance();
  mutex_.Lock();
  --running_;
  if (is_driver) driven_ = nullptr;
  if (finished) {
    part->state_ = StepPart::State::kFinished;
    ++finished_;
  } else if (part->state_ == StepPart::State::kRunningAndWoken) {
    Enqueue(part);
  } else {
    part->state_ = StepPart::State::kWaiting;
  }
  changed_.SignalAll();
}

// A pool thread that helps while there is something to do, then leaves.
void StepScheduler::Help(void* scheduler) {
  auto* const self = static_cast<StepScheduler*>(scheduler);
  absl::MutexLock lock(&self->mutex_);
  while (self->RunOne(false)) {
  }
  --self->helpers_;
  self->changed_.SignalAll();
}

bool StepScheduler::IsStuck() const {
  return ready_.empty() && running_ == 0 && outside_ == 0 &&
         finished_ < static_cast<int>(parts_.size());
}

// Describes the waits of all parts. REQUIRES: no thread advances a part.
std::vector<std::string> StepScheduler::Waits() const {
  std::vector<std::string> waits;
  for (const StepPart* part : parts_) {
    if (part->state_ != StepPart::State::kWaiting) continue;
    for (std::string& wait : part->WaitsFor()) waits.push_back(std::move(wait));
  }
  return waits;
}

// Of the parts that threads advance, or will, what these are at (but for `silent`) and what runs
// beside; then what the others wait for.
std::vector<std::string> StepScheduler::WorkBut(const StepPart* silent) const {
  std::vector<std::string> all;
  for (const StepPart* part : parts_) {
    const bool is_running = part->state_ == StepPart::State::kRunning ||
                            part->state_ == StepPart::State::kRunningAndWoken;
    if (!is_running && part->state_ != StepPart::State::kQueued) continue;
    const std::string node = part == silent || !is_running ? "" : part->RunsNow();
    if (!node.empty()) all.push_back(absl::StrCat(node, ", is running"));
    for (const OutsideWork& work : outside_work_) {
      if (work.part == part)
        all.push_back(DescribeWait(*work.node, work.device_name, work.waits_for));
    }
  }
  for (std::string& wait : Waits()) all.push_back(std::move(wait));
  return all;
}

// The driver's own part says itself where it stands.
void StepScheduler::NoteWork() {
  absl::MutexLock lock(&mutex_);
  if (!std::exchange(has_noted_work_, true)) late_work_ = WorkBut(driven_);
}

Status StepScheduler::WithWork(const Status& error) const {
  const bool ends_early = absl::IsDeadlineExceeded(error) || absl::IsCancelled(error);
  if (!ends_early || late_work_.empty()) return error;
  return WithErrorText(error, absl::StrCat(error.message(), InLines(late_work_)));
}

Status StepScheduler::StuckError() const { return StuckStepError(Waits()); }

Status StepScheduler::Drive(const std::vector<StepPart*>& parts) {
  absl::MutexLock lock(&mutex_);
  parts_ = parts;
  for (StepPart* part : parts_) Enqueue(part);
  const int count = static_cast<int>(parts_.size());
  const auto only_waits = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> std::string {
    const bool idle = ready_.empty() && tasks_.empty() && running_ == 0 && running_tasks_ == 0;
    return idle && !ending_ ? KnownWaits(outside_work_, outside_) : "";
  };
  bool was_idle = false;  // during the whole interval before
  while (finished_ < count) {
    if (RunOne(true)) {
      was_idle = false;
      continue;
    }
    const bool was_stuck = IsStuck();
    const std::string waits = was_idle ? only_waits() : "";
    mutex_.Unlock();  // the front end is asked without it
    Status interrupted = step_.CheckInterruption();
    const WaitVerdict verdict =
        interrupted.ok() ? Judge(step_.options(), waits) : WaitVerdict::kMayEnd;
    mutex_.Lock();
    if (interrupted.ok() && was_stuck && IsStuck()) interrupted = StuckError();
    if (verdict == WaitVerdict::kStop) interrupted = errors::Cancelled("the step was interrupted");
    if (verdict == WaitVerdict::kInVain && only_waits() == waits) {
      interrupted = HopelessStepError(Waits());
    }
    if (!interrupted.ok() && !ending_) EndEarly(interrupted);
    if (ending_ && ready_.empty() && tasks_.empty()) WarnIfLate();
    if (ready_.empty() && tasks_.empty() && finished_ < count) {
      was_idle = !changed_.WaitUntil(&mutex_, SteadyNow() + kLookInterval);
    }
  }
  // If the last part failed after the previous check, the outstanding work must be stopped.
  if (!ending_ && !step_.status().ok()) EndEarly(step_.status());
  // Does not wait for helpers that have not started: the pool may be busy with other sessions'
  // steps.
  helpers_ -= WorkerPool::Global()->Withdraw(this);
  // The others find nothing to do and leave; and what runs outside has brought its result, but may
  // not have left FinishOutside yet.
  while (helpers_ > 0 || outside_ > 0) changed_.Wait(&mutex_);
  return WithWork(step_.status());
}

std::string StepScheduler::TakeWarning() {
  absl::MutexLock lock(&mutex_);
  return TakeWarningLocked();
}

// Once; what does not end may be an answer that never comes.
std::string StepScheduler::TakeWarningLocked() {
  if (has_warned_) return "";
  const std::vector<std::string> work = WorkBut(nullptr);
  has_warned_ = !work.empty();
  Status cause = step_.status();
  // A driver that is in a kernel has not looked.
  if (cause.ok()) cause = step_.CheckInterruption(/*may_ask=*/false);
  return LateStepWarning(cause.message(), work);
}

void StepScheduler::WarnIfLate() {
  if (SteadyNow() < warn_at_) return;
  warn_at_ = absl::InfiniteFuture();
  const std::string warning = TakeWarningLocked();
  if (warning.empty()) return;
  mutex_.Unlock();  // a blocked log must not block threads that end kernels
  HostLog(MS_LOG_WARNING, warning);
  mutex_.Lock();
}

// Lets every part see that the step is stopping, those that wait for a tensor too.
void StepScheduler::EndEarly(const Status& error) {
  ending_ = true;
  warn_at_ = SteadyNow() + patience_;
  step_.Fail(error);
  mutex_.Unlock();
  if (step_.rendezvous != nullptr) step_.rendezvous->Abort(step_.status());
  mutex_.Lock();
  for (StepPart* part : parts_) WakeLocked(part);
}

}  // namespace millstream
