// Tells a part of a step that a device has come so far.
#ifndef MILLSTREAM_CORE_STEP_DEVICE_SIGNAL_H_
#define MILLSTREAM_CORE_STEP_DEVICE_SIGNAL_H_

#include <atomic>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/step/step_scheduler.h"

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
  // Takes no lock: the scheduler asks with its own, which End takes with this one's.
  bool has_fired() const { return has_fired_.load(std::memory_order_acquire); }

 private:
  DeviceSignal(StepScheduler* scheduler, StepPart* part) : scheduler_(scheduler), part_(part) {}

  // The lock is held as the scheduler is told, so that a step cannot end between a look at part_
  // and its use.
  void End(bool fired) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (part_ == nullptr) return;
    if (fired) has_fired_.store(true, std::memory_order_release);
    scheduler_->FinishOutside(part_);
    part_ = nullptr;
  }

  absl::Mutex mutex_;
  StepScheduler* const scheduler_;
  StepPart* part_ ABSL_GUARDED_BY(mutex_);  // null: nobody waits
  std::atomic<bool> has_fired_{false};
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_DEVICE_SIGNAL_H_
