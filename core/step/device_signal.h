// Tells a part of a step that a device has reached a point in its work.
#ifndef MILLSTREAM_CORE_STEP_DEVICE_SIGNAL_H_
#define MILLSTREAM_CORE_STEP_DEVICE_SIGNAL_H_

#include <atomic>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/step/step_scheduler.h"

namespace millstream {

// The device may reach the point long after the step has ended, or never. Therefore it holds only
// this object and not the part. The part calls Abandon when it no longer waits. Thread-safe.
class DeviceSignal {
 public:
  // The wait counts as work outside of the step (StepScheduler::StartOutside). REQUIRES: the part
  // calls Abandon before it is destroyed.
  static std::shared_ptr<DeviceSignal> Create(StepScheduler* scheduler, StepPart* part) {
    scheduler->StartOutside();
    return std::shared_ptr<DeviceSignal>(new DeviceSignal(scheduler, part));
  }

  // Called for the device. Wakes the part if it still waits.
  void Fire() ABSL_LOCKS_EXCLUDED(mutex_) { End(true); }
  // Called by the part. Ends the wait. Idempotent.
  void Abandon() ABSL_LOCKS_EXCLUDED(mutex_) { End(false); }
  // Takes no lock: the scheduler calls it under its own lock, which End takes under this one.
  bool has_fired() const { return has_fired_.load(std::memory_order_acquire); }

 private:
  DeviceSignal(StepScheduler* scheduler, StepPart* part) : scheduler_(scheduler), part_(part) {}

  // Calls the scheduler under the lock, so that the step cannot end while part_ is used.
  void End(bool fired) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (part_ == nullptr) return;
    if (fired) has_fired_.store(true, std::memory_order_release);
    scheduler_->FinishOutside(part_);
    part_ = nullptr;
  }

  absl::Mutex mutex_;
  StepScheduler* const scheduler_;
  StepPart* part_ ABSL_GUARDED_BY(mutex_);  // null: the wait has ended
  std::atomic<bool> has_fired_{false};
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_DEVICE_SIGNAL_H_
