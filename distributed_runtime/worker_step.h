// One task's share of a running step: the rendezvous that exchanges its tensors with other tasks.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_WORKER_STEP_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_WORKER_STEP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "core/device/shared_devices.h"
#include "core/partition/rendezvous.h"
#include "core/partition/rendezvous_table.h"
#include "core/step/run_options.h"
#include "distributed_runtime/outgoing_tensors.h"
#include "distributed_runtime/peers.h"
#include "distributed_runtime/rpc.h"
#include "distributed_runtime/step_carrier.h"
#include "distributed_runtime/step_replies.h"
#include "distributed_runtime/transport.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// Tensors that the task sends wait here until another task asks for them. A Receive asks the task
// that sends, unless the tensor came with another (OutgoingTensors). Some tensors to and from the
// master's task travel in the messages of the step instead (StepExchange). It may exist before the
// task begins the step, because others may ask earlier. Thread-safe.
class WorkerStep final : public Rendezvous, public std::enable_shared_from_this<WorkerStep> {
 public:
  // `devices`: of the task.
  WorkerStep(uint64_t session, uint64_t step, std::shared_ptr<Peers> peers,
             std::shared_ptr<const SharedDevices> devices)
      : session_(session), step_(step), peers_(std::move(peers)), devices_(std::move(devices)) {}

  // ---- For the parts of this task ----
  Status Send(const RendezvousKey& key, Parcel parcel) override;
  StatusOr<bool> Receive(const RendezvousKey& key, Receiver* receiver, Parcel* parcel) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Abort(const Status& error) override ABSL_LOCKS_EXCLUDED(mutex_);
  const Cancellation* cancellation() const { return &cancellation_; }
  // What Abort was called with; OK if it was not.
  Status aborted() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return aborted_;
  }
  uint64_t number() const { return step_; }
  // Sets what carries such tensors. Called before the parts run. REQUIRES: it lives as long as they
  // run.
  void SetCarrier(StepCarrier* carrier) { carrier_ = carrier; }

  // ---- For other tasks ----
  // Tensors that the task sends and another asks for.
  OutgoingTensors* outgoing() { return &outgoing_; }
  // Takes tensors that came in messages of the step. Those that came before are an error.
  Status Deliver(std::vector<CarriedParcel> parcels) ABSL_LOCKS_EXCLUDED(mutex_);
  // The tensors that the parts wait for: names of those that other tasks were asked for, and edges
  // of those that come in messages of the step.
  struct Waits {
    std::vector<std::string> names;  // see RendezvousName
    std::vector<int64_t> edges;
  };
  Waits waits() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The answers to the requests of a master in another task.
  StepReplies* replies() { return &replies_; }
  // Aborts, and also stops the parts that do not wait for other tasks.
  void Stop(const Status& error) {
    Abort(error);
    cancellation_.Cancel();
    replies_.EndUnlessBegun(error);
  }

 private:
  // A request to another task.
  struct Asked {
    std::shared_ptr<Channel::Call> call;
    std::string name;  // of the tensor
  };
  // The tensor, which is in memory that a device has pinned, as one that may leave the step.
  StatusOr<Tensor> Leaving(Tensor tensor) const;
  StatusOr<bool> ReceiveCarried(int64_t edge, Receiver* receiver, Parcel* parcel)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Passes a tensor to its Receive, or keeps it until there is one.
  void Accept(const std::string& key, Parcel parcel) ABSL_LOCKS_EXCLUDED(mutex_);
  void TakeResponse(const std::string& key, const std::string& task, const Status& status,
                    PayloadReader* response) ABSL_LOCKS_EXCLUDED(mutex_);
  // The Receive that waits for the tensor, which waits no more; null: there is none.
  Receiver* TakeReceiver(const std::string& key) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remember(uint64_t number, Asked asked) ABSL_LOCKS_EXCLUDED(mutex_);
  void Forget(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);

  const uint64_t session_;
  const uint64_t step_;
  const std::shared_ptr<Peers> peers_;
  const std::shared_ptr<const SharedDevices> devices_;
  StepCarrier* carrier_ = nullptr;  // constant while parts run
  OutgoingTensors outgoing_;
  RendezvousTable<int64_t> delivered_;  // by edge
  StepReplies replies_;
  Cancellation cancellation_;
  mutable absl::Mutex mutex_;
  Status aborted_ ABSL_GUARDED_BY(mutex_);
  // By key: Receives that have asked, and tensors that came with those that others asked for.
  absl::flat_hash_map<std::string, Receiver*> receivers_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Parcel> early_ ABSL_GUARDED_BY(mutex_);
  // Requests to other tasks, by number, to cancel them.
  absl::flat_hash_map<uint64_t, Asked> asked_ ABSL_GUARDED_BY(mutex_);
  // Edges whose tensors may not have been delivered.
  absl::flat_hash_set<int64_t> awaited_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<uint64_t> ended_early_ ABSL_GUARDED_BY(mutex_);  // before Remember
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_WORKER_STEP_H_
