// The master service of a task: the sessions of the clients that talk to the task.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "distributed_runtime/leases.h"
#include "distributed_runtime/master_session.h"
#include "distributed_runtime/rpc.h"
#include "distributed_runtime/session_table.h"
#include "distributed_runtime/task_watch.h"
#include "distributed_runtime/worker.h"
#include "framework/status.h"

namespace millstream {

// Thread-safe.
class Master : public std::enable_shared_from_this<Master> {
 public:
  explicit Master(std::shared_ptr<Worker> worker);

  // See MasterSession::Create. UNAVAILABLE after Stop.
  StatusOr<std::shared_ptr<MasterSession>> CreateSession(const std::string& config,
                                                         absl::Time deadline);
  // Ends a session. Does nothing if there is none.
  void CloseSession(uint64_t handle) {
    leases_.Remove(handle);
    sessions_.Close(handle);
  }
  // Removes the resources of the containers (all if none is named) in all tasks, and closes the
  // sessions of this master.
  Status Reset(absl::Span<const std::string> containers);
  void CloseAll() { sessions_.CloseAll(); }
  // The same, and waits for what EndAbandoned has begun. No session begins from then on. Tasks that
  // watch this master are told at the end, when they have no sessions of it.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Called with each heartbeat. Tells the other tasks of its sessions that this master is there,
  // and does not wait for answers. Steps that wait for a task which has not answered for some
  // heartbeats, or which does not know the session, fail with UNAVAILABLE or ABORTED.
  void Beat() ABSL_LOCKS_EXCLUDED(mutex_);
  // Called with each heartbeat. Closes the sessions of clients in other processes that are gone,
  // without waiting for their steps.
  void EndAbandoned();

  // Sets what the task knows of itself.
  void AddStatus(proto::TaskStatusRecord* status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Asks all tasks for that. A task that does not answer before `deadline` gets an error.
  void AskAll(absl::Time deadline, proto::ClusterStatusRecord* status);

  // Answers a request of a client in another process. False if the master has no such method.
  bool Handle(absl::string_view method, PayloadReader request, Reply reply);

 private:
  StatusOr<std::shared_ptr<MasterSession>> Find(uint64_t handle);
  void BeatTo(size_t task, const std::vector<std::shared_ptr<MasterSession>>& sessions)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void TakeAnswer(size_t task, const Status& status, PayloadReader* response)
      ABSL_LOCKS_EXCLUDED(mutex_);

  void OnCreateSession(PayloadReader* request, const Reply& reply);
  void OnPrepareStep(PayloadReader* request, const Reply& reply);
  void OnRunStep(PayloadReader* request, const Reply& reply);
  void OnCancelRun(PayloadReader* request, const Reply& reply);
  void OnExplainStep(PayloadReader* request, const Reply& reply);
  void OnCloseSession(PayloadReader* request, const Reply& reply);
  void OnReset(PayloadReader* request, const Reply& reply);
  void OnKeepSession(PayloadReader* request, const Reply& reply);
  void OnWatch(PayloadReader* request, const Reply& reply) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnGetTaskStatus(PayloadReader* request, const Reply& reply);
  void OnGetClusterStatus(PayloadReader* request, const Reply& reply);
  void NoteLoss(size_t task, bool is_lost) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<Worker> worker_;
  const uint64_t incarnation_;
  SessionTable<MasterSession> sessions_;
  Leases leases_;  // of clients in other processes
  TaskWatch watch_;
  std::atomic<bool> is_stopping_{false};
  absl::Mutex mutex_;
  // By task: the heartbeats since one was answered.
  std::vector<int> unanswered_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> is_lost_ ABSL_GUARDED_BY(mutex_);
  int64_t losses_ ABSL_GUARDED_BY(mutex_) = 0;
  // By task: what one that has sessions of this master waits for (MasterWatch).
  std::map<std::string, Reply> watchers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_H_
