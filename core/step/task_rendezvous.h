// The rendezvous of one task in a step that also runs in other tasks.
#ifndef MILLSTREAM_CORE_STEP_TASK_RENDEZVOUS_H_
#define MILLSTREAM_CORE_STEP_TASK_RENDEZVOUS_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/partition/local_rendezvous.h"
#include "core/partition/rendezvous.h"
#include "core/step/step_scheduler.h"
#include "framework/status.h"

namespace millstream {

// Tensors between devices of the task use a local rendezvous. Other tensors use the rendezvous that
// the tasks share. Waits there count as work outside of the step (StepScheduler::StartOutside), so
// a step that waits for another task is not stuck. Lives for one step. Thread-safe.
class TaskRendezvous final : public Rendezvous {
 public:
  // `is_shared` is true for the numbers of edges to or from other tasks. REQUIRES: `shared` and
  // `scheduler` outlive this object.
  TaskRendezvous(Rendezvous* shared, std::vector<bool> is_shared, StepScheduler* scheduler);

  Status Send(const RendezvousKey& key, Parcel parcel) override;
  StatusOr<bool> Receive(const RendezvousKey& key, Receiver* receiver, Parcel* parcel) override;
  // Also aborts the shared rendezvous, so that other tasks do not wait for this one. No receiver is
  // called after this call.
  void Abort(const Status& error) override;

 private:
  class Wait;
  class Waits;
  bool IsShared(const RendezvousKey& key) const;

  LocalRendezvous own_;
  Rendezvous* const shared_;
  const std::vector<bool> is_shared_;
  const std::shared_ptr<Waits> waits_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_TASK_RENDEZVOUS_H_
