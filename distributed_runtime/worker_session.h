// One session's state in one task: its copy of the graph, its devices, and its steps.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_WORKER_SESSION_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_WORKER_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/device/device.h"
#include "core/device/shared_devices.h"
#include "core/graph/graph.h"
#include "core/numerics/numeric_checks.h"
#include "core/placement/placer_costs.h"
#include "core/plan/running_steps.h"
#include "core/plan/state_budget.h"
#include "core/resources/resource_manager.h"
#include "core/session/executable.h"
#include "core/session/session_gate.h"
#include "distributed_runtime/peers.h"
#include "distributed_runtime/run_numbers.h"
#include "distributed_runtime/step_exchange.h"
#include "distributed_runtime/step_log.h"
#include "distributed_runtime/worker_step.h"
#include "framework/status.h"
#include "framework/steady_time.h"
#include "framework/tensor.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"
#include "millstream/distributed_runtime/protos/status_messages.pb.h"

namespace millstream {

// What a session of a task is made of.
struct WorkerSessionArguments {
  uint64_t handle = 0;  // the master's number of the session
  std::string task;     // "/job:worker/replica:0/task:1"
  std::string master;   // the task of the master
  SessionOptions options;
  bool shortens_floats = false;  // see TensorWriter::AddSent
  std::shared_ptr<StepCounters> counters;
  std::shared_ptr<Peers> peers;
  std::shared_ptr<SharedDevices> devices;      // of the task; they outlive the resources
  std::shared_ptr<ResourceManager> resources;  // sessions may share it
};

// A step that a master in another task has registered.
struct TaskGraph {
  std::shared_ptr<Executable> executable;
  std::shared_ptr<const StepExchange> exchange;  // with the master's task
};

// Thread-safe.
class WorkerSession final : public DeviceUser, public std::enable_shared_from_this<WorkerSession> {
 public:
  // Errors of CreateDevices.
  static StatusOr<std::shared_ptr<WorkerSession>> Create(WorkerSessionArguments arguments);
  ~WorkerSession();

  // The devices of this task.
  DeviceSet devices() const { return Describe(devices_); }
  // Sets the devices of all tasks that the session uses. Later calls have no effect. ABORTED if a
  // device of this task is not the present one.
  Status SetCluster(const DeviceSet& all) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds a chunk to the graph.
  Status Extend(const proto::GraphChunk& chunk) ABSL_LOCKS_EXCLUDED(mutex_);
  // The session's copy of the graph.
  const Graph& graph() const { return graph_; }
  // Compiles the parts of this task. REQUIRES: SetCluster was called.
  StatusOr<std::shared_ptr<Executable>> Compile(const proto::SignatureRecord& signature,
                                                const PlacementHints& hints = PlacementHints())
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Compiles, and keeps the result under the master's number. Returns its Fingerprint. `placement`:
  // the device of each node of the step; empty: this task places them as the master does.
  StatusOr<uint64_t> Register(int64_t number, const proto::SignatureRecord& signature,
                              const std::vector<int>& placement) ABSL_LOCKS_EXCLUDED(mutex_);
  // Does not keep that any more. Does nothing if there is none. REQUIRES: no run of it begins.
  void Unregister(int64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  // NOT_FOUND if no graph of this number was registered.
  StatusOr<TaskGraph> Find(int64_t number) ABSL_LOCKS_EXCLUDED(mutex_);

  // The share of a step, which is made when it is first asked for. CANCELLED if the master has
  // ended the step before it began a later one (BeginStep): a message of it has come late.
  StatusOr<std::shared_ptr<WorkerStep>> Step(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  // The master has begun a step. Of the steps with smaller numbers all but `running` have ended
  // everywhere: stops and removes their shares. Does nothing if a later step has begun before.
  void BeginStep(uint64_t number, absl::Span<const uint64_t> running) ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes the share of a step that has ended everywhere.
  void Forget(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the running steps, and those whose messages have come, by that error. Later ones run.
  void StopSteps(const Status& error) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for a session that nobody will use again: later steps, whose messages have come late,
  // are cancelled.
  void Abandon(const Status& error) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until no step runs, but no longer than until `end`, by SteadyNow.
  void AwaitSteps(absl::Time end) ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs the parts of this task. Errors have the name of the task. `options`: limits of time,
  // should_stop and the report are used.
  Status Run(Executable* graph, WorkerStep* step, absl::Span<const Tensor> feeds,
             absl::Span<Tensor> fetches, const RunOptions& options) ABSL_LOCKS_EXCLUDED(mutex_);
  // The master's number of the session.
  uint64_t handle() const { return arguments_.handle; }
  // The task of the master.
  const std::string& master() const { return arguments_.master; }
  // By which the master places. Null: in other tasks, and if its session does not place by costs.
  SessionCosts* costs() const { return costs_.get(); }
  const ResourceManager& resources() const { return *arguments_.resources; }
  // Whether tensors of float32 that leave the task are shortened.
  bool shortens_floats() const { return arguments_.shortens_floats; }
  // Adds the number of registered graphs, and the steps that run, with what they wait for.
  void AddStatus(proto::TaskStatusRecord* status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Cancels the running steps and waits until they have ended. Then frees the state, unless a
  // device still needs it for what a step has left there: then the SharedDevices keep the session.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);
  void DropKeptMemory() override { budget_.DropKeptStates(); }

 private:
  WorkerSession(WorkerSessionArguments arguments, DeviceList devices);
  struct Running {
    const Executable* graph = nullptr;  // while the step runs
    std::shared_ptr<const WorkerStep> step;
    absl::Time begin;
  };
  Status RunNoted(Executable* graph, WorkerStep* step, absl::Span<const Tensor> feeds,
                  absl::Span<Tensor> fetches, const RunOptions& options)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void AddWaits(const Running& running, proto::RunningStepRecord* record) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void Release() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasIdleDevices() const;
  Status DropOtherVariables(const StepSignature& signature);

  // Members are destroyed from the bottom up: plans before kernels, kernels before variables.
  const WorkerSessionArguments arguments_;
  Graph graph_;
  DeviceList devices_;
  NumericChecks checks_;
  ExecutableContext context_;
  std::unique_ptr<SessionCosts> costs_;  // set by SetCluster
  StateBudget budget_;
  RunningSteps running_;
  absl::Mutex mutex_;
  bool has_cluster_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<int64_t, TaskGraph> graphs_ ABSL_GUARDED_BY(mutex_);
  // What was unregistered while a device may have needed it.
  std::vector<TaskGraph> left_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, std::shared_ptr<WorkerStep>> steps_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Running> running_steps_ ABSL_GUARDED_BY(mutex_);
  SteadyCondVar ended_steps_;                 // none runs any more
  RunRecord record_ ABSL_GUARDED_BY(mutex_);  // of the master's steps
  Cancellation closing_;
  SessionGate gate_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_WORKER_SESSION_H_
