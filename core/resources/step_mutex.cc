#include "core/resources/step_mutex.h"

namespace millstream {
namespace {

constexpr WaitingList::Line kLocks = {0, 0};

Status LockCancelled() { return errors::Cancelled("the wait for the mutex was cancelled"); }

}  // namespace

void StepMutex::Lock(Ticket ticket, Done done) {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    auto attempt = [this](Status*) {
      mutex_.AssertHeld();
      return !std::exchange(is_held_, true);
    };
    waiting_.Add(ticket, kLocks, std::move(attempt), std::move(done));
    waiting_.Advance(&ended);
  }
  ended.Tell();
}

void StepMutex::Unlock() {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    is_held_ = false;
    waiting_.Wake(kLocks);
    waiting_.Advance(&ended);
  }
  ended.Tell();
}

void StepMutex::Cancel(Ticket ticket) {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    waiting_.Cancel(ticket, LockCancelled(), &ended);
    waiting_.Advance(&ended);
  }
  ended.Tell();
}

void StepMutex::Drop() {
  WaitingList::Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    waiting_.CancelAll(LockCancelled(), &ended);
  }
  ended.Tell();
}

}  // namespace millstream
