// Tells a part of a step that a device has come so far.
#ifndef MILLSTREAM_CORE_DEVICE_SIGNAL_H_
#define MILLSTREAM_CORE_DEVICE_SIGNAL_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/step_scheduler.h"

namespace millstream {

// The device's side may come long after the step has ended, or never: what it holds is this object
// alone, which the part lets go of when it no longer waits. Thread-safe.
class DeviceSignal {
 public:
  // Counts as work outside of the step's parts (StepScheduler::StartOutside). The part calls
  // Abandon before it is destroyed.
  static std::shared_ptr<DeviceSignal> Create(StepScheduler* scheduler, StepPart* part) {
    scheduler->StartOutside();
    return std::shared_ptr<DeviceSignal>(new DeviceSignal(scheduler, part));
  }

  // By the device's side: wakes the part, if it still waits.
  void Fire() ABSL_LOCKS_EXCLUDED(mutex_) { End(true); }
  // By the part: it does not wait any more. Idempotent.
  void Abandon() ABSL_LOCKS_EXCLUDED(mutex_) { End(false); }
  bool has_fired() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return has_fired_;
  }

 private:
  DeviceSignal(StepScheduler* scheduler, StepPart* part) : scheduler_(scheduler), part_(part) {}

  // The lock is held as the scheduler is told, so that a step cannot end between a look at part_
  // and its use.
  void End(bool fired) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (part_ == nullptr) return;
    has_fired_ = fired;
    scheduler_->FinishOutside(part_);
    part_ = nullptr;
  }

  mutable absl::Mutex mutex_;
  StepScheduler* const scheduler_;
  StepPart* part_ ABSL_GUARDED_BY(mutex_);  // null: nobody waits
  bool has_fired_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_SIGNAL_H_
