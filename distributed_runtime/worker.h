// The worker of a task: its variables and other resources, and its sessions.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_WORKER_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_WORKER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/device/shared_devices.h"
#include "core/resources/resource.h"
#include "core/resources/resource_manager.h"
#include "distributed_runtime/cluster_collectives.h"
#include "distributed_runtime/leases.h"
#include "distributed_runtime/master_watch.h"
#include "distributed_runtime/peers.h"
#include "distributed_runtime/rpc.h"
#include "distributed_runtime/session_table.h"
#include "distributed_runtime/step_log.h"
#include "distributed_runtime/worker_session.h"
#include "framework/status.h"
#include "millstream/distributed_runtime/protos/status_messages.pb.h"

namespace millstream {

// How long a task that stops waits at the longest for others, which need what it has.
constexpr absl::Duration kFarewell = absl::Seconds(20);

// Sessions share the resources of the worker by container and name, unless they are isolated.
// Thread-safe.
class Worker final : public MasterWatch::Listener, public std::enable_shared_from_this<Worker> {
 public:
  // `config`: a ConfigProto, whose numbers of threads and devices hold for sessions that have none.
  Worker(std::string task, std::string config, std::shared_ptr<Peers> peers);
  ~Worker() override;

  const std::string& task() const { return task_; }
  const std::shared_ptr<Peers>& peers() const { return peers_; }
  const ResourceRef<ClusterCollectives>& collectives() const { return collectives_; }

  // ---- For the master of this task ----
  // Begins a session of the master in the task `master`. `config` is a ConfigProto.
  StatusOr<std::shared_ptr<WorkerSession>> CreateSession(uint64_t handle, const std::string& config,
                                                         const std::string& master);
  // Ends a session and waits for its steps. Does nothing if there is none.
  void CloseSession(uint64_t handle) {
    leases_.Remove(handle);
    sessions_.Close(handle);
  }
  void CloseAll() { sessions_.CloseAll(); }
  // Closes all sessions, and ends what other tasks wait for. Refuses requests from then on, but for
  // those about collective operations that have taken place: other tasks may not have all of their
  // results, and this one waits for them, up to kFarewell.
  void Stop();
  // Called with each heartbeat. Does not block.
  void Beat() {
    collectives_->Beat();
    master_watch_->Keep(leases_.Holders(), weak_from_this());
  }
  // Whether the session is one of a master in another task, whose end is noticed at once: their
  // connection is watched.
  bool WatchesMasterOf(uint64_t session) const;
  std::vector<std::shared_ptr<WorkerSession>> sessions() const { return sessions_.All(); }
  // Of the steps that the master leads, which the master counts.
  StepCounters* led() { return &led_; }
  // Sets what the worker knows: sessions, graphs, steps, traffic and accumulators.
  void AddStatus(proto::TaskStatusRecord* status);
  // Called with each heartbeat. Ends the sessions of masters in other tasks that are gone: nobody
  // has heard of them for half a minute, or they were started again. Stop waits for that. The steps
  // of a master of which nobody has heard for some seconds end before: what they wait for, such as
  // an element of a queue, is for others. What the session has stays, for the master may only have
  // been still. Those of a master that was started again have ended when it has a new session. A
  // master whose connection has ended is not waited for: its steps end at once, and so do messages
  // of steps that it had sent before and that come late.
  void EndAbandoned() ABSL_LOCKS_EXCLUDED(mutex_);
  void Reset(absl::Span<const std::string> containers) { resources_->Reset(containers); }

  // Answers a request of another task. False if the worker has no such method. After Stop it
  // refuses all methods.
  bool Handle(absl::string_view method, PayloadReader request, Reply reply);

 private:
  // Ends the steps of the master's sessions.
  void LoseMaster(const LeaseHolder& master, const Status& error) override;
  // The same, and has the sessions end with the next heartbeat.
  void EndMaster(const LeaseHolder& master) override;
  void StopSteps(const std::vector<uint64_t>& sessions, absl::string_view cause);
  Reply Counted(const Reply& reply, absl::string_view peer, size_t request_size);
  // ABORTED if there is none: the task has been started again.
  StatusOr<std::shared_ptr<WorkerSession>> Find(uint64_t handle);
  // Ends all steps of the sessions that the master had before it was started again.
  void AbandonEarlier(const std::string& master) ABSL_LOCKS_EXCLUDED(mutex_);
  // Those sessions, also such as end already.
  std::vector<std::shared_ptr<WorkerSession>> EarlierSessions(const std::string& master)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteEnding(const std::shared_ptr<WorkerSession>& session) ABSL_LOCKS_EXCLUDED(mutex_);

  void OnCreateSession(PayloadReader* request, const Reply& reply);
  void OnRegisterGraph(PayloadReader* request, const Reply& reply);
  void OnReleaseGraph(PayloadReader* request, const Reply& reply);
  void OnRunGraph(PayloadReader* request, const Reply& reply);
  void OnContinueStep(PayloadReader* request, const Reply& reply);
  void OnRecvTensor(PayloadReader* request, const Reply& reply);
  void OnAbortStep(PayloadReader* request, const Reply& reply);
  void OnReadClock(PayloadReader* request, const Reply& reply);
  void OnCloseSession(PayloadReader* request, const Reply& reply);
  void OnReset(PayloadReader* request, const Reply& reply);
  void OnHeartbeat(PayloadReader* request, const Reply& reply);

  const std::string task_;
  const std::string config_;
  const std::shared_ptr<Peers> peers_;
  const std::shared_ptr<SharedDevices> devices_;  // outlive the resources
  const std::shared_ptr<ResourceManager> resources_;
  const absl::Time begin_;
  const std::shared_ptr<StepCounters> counters_;
  StepCounters led_;
  const ResourceRef<ClusterCollectives> collectives_;
  SessionTable<WorkerSession> sessions_;
  Leases leases_;  // of masters in other tasks
  const std::shared_ptr<MasterWatch> master_watch_;
  absl::Mutex mutex_;
  // Sessions that EndAbandoned closes.
  std::vector<std::weak_ptr<WorkerSession>> ending_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> is_stopping_{false};
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_WORKER_H_
