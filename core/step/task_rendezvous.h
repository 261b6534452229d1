// The rendezvous of one task's share of a step that also runs in other tasks.
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

// Tensors between devices of the task meet here. Others meet in the rendezvous that the tasks
// share. What is awaited there counts as work outside of the step (StepScheduler::StartOutside): a
// step that waits for another task is not stuck. Made for one step. Thread-safe.
class TaskRendezvous final : public Rendezvous {
 public:
  // `shared` and `scheduler` must outlive it. `is_shared`: by the number of the edge, whether it
  // leads to another task or comes from one.
  TaskRendezvous(Rendezvous* shared, std::vector<bool> is_shared, StepScheduler* scheduler);

  Status Send(const RendezvousKey& key, Parcel parcel) override;
  StatusOr<bool> Receive(const RendezvousKey& key, Receiver* receiver, Parcel* parcel) override;
  // Aborts the shared rendezvous, too: the other tasks need not wait for this one any more. No
  // receiver is called after it.
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
