// A session over all tasks of a cluster, in the task that its client talks to.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_SESSION_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_SESSION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/device/device_set.h"
#include "core/session/executable_builder.h"
#include "core/step/run_options.h"
#include "core/step/session_options.h"
#include "distributed_runtime/client_runs.h"
#include "distributed_runtime/clock_offset.h"
#include "distributed_runtime/device_filters.h"
#include "distributed_runtime/graph_coding.h"
#include "distributed_runtime/master_run.h"
#include "distributed_runtime/rpc.h"
#include "distributed_runtime/run_numbers.h"
#include "distributed_runtime/task_watch.h"
#include "distributed_runtime/worker.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"

namespace millstream {

// Each step is placed on the devices of all tasks and registered once with every task that has a
// part of it. In each run, every such task gets one message. If the session places by costs, the
// step may be placed and registered anew (StepPlacements). Thread-safe.
class MasterSession {
 public:
  // Begins a session in all tasks that its device_filters do not leave out. `worker` is that of
  // this task, `incarnation` a number of its master that grows when the task is started again;
  // `config` is a ConfigProto. UNAVAILABLE, with a task, if it does not answer before `deadline`,
  // or is gone (TaskWatch): then the text begins with kGone, and it is of no use to try again soon.
  static StatusOr<std::shared_ptr<MasterSession>> Create(std::shared_ptr<Worker> worker,
                                                         uint64_t incarnation,
                                                         const std::string& config,
                                                         absl::Time deadline, TaskWatch* watch);
  static constexpr char kGone[] = "the task was there and is gone: ";
  ~MasterSession() { Close(); }

  uint64_t handle() const { return handle_; }
  // Whether the session was begun in a task (a number of Peers::tasks) other than this one.
  bool Uses(size_t task) const { return uses_[task]; }
  const DeviceSet& devices() const { return devices_; }
  // Extends the graph, and prepares a step. Errors are those of Session::MakeCallable; they say if
  // the graph was extended (HasGraphTaken).
  StatusOr<std::shared_ptr<const MasterStep>> Prepare(const proto::GraphChunk& chunk,
                                                      const proto::SignatureRecord& signature)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // NOT_FOUND if Prepare gave no step of this number.
  StatusOr<std::shared_ptr<const MasterStep>> Find(int64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  // As Session::Run. An error of any task ends the step in all, and names the task.
  Status Run(const std::shared_ptr<const MasterStep>& step, absl::Span<const Tensor> feeds,
             absl::Span<Tensor> fetches, const RunOptions& options) ABSL_LOCKS_EXCLUDED(mutex_);
  // Why the nodes are where they are now, see Callable.
  std::string PlacementText(const std::shared_ptr<const MasterStep>& step) const;
  // Of a client in another process, by its numbers.
  ClientRuns* client_runs() { return &client_runs_; }
  // Adds the number of prepared steps, and the running ones.
  void AddStatus(proto::TaskStatusRecord* status) ABSL_LOCKS_EXCLUDED(runs_mutex_);
  // Ends the running steps in which a task (a number of Peers::tasks) has a share, and the wait for
  // it of a step that is being prepared, with the error.
  void LoseTask(size_t task, const Status& error) ABSL_LOCKS_EXCLUDED(runs_mutex_);
  // Cancels the running steps and ends the session in all tasks. Idempotent.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether that was called.
  bool IsClosed() const { return closing_.IsCancelled(); }

 private:
  // The types of device for which a task has kernels.
  struct KernelTypes {
    std::string task;
    std::vector<std::string> types;
  };
  MasterSession(std::shared_ptr<Worker> worker, uint64_t handle, const SessionOptions& options);
  Status Begin(uint64_t incarnation, const std::string& config, absl::Time deadline,
               TaskWatch* watch);
  Status BeginInTasks(const std::vector<size_t>& tasks, proto::CreateWorkerSessionRequest request,
                      const DeviceFilters& filters, absl::Time deadline, TaskWatch* watch);
  void LeaveOutUnknownDevices();
  StatusOr<std::vector<TaskShare>> SharesOf(const Executable& graph, bool* runs_here) const;
  // As Prepare, when the graph has been extended.
  StatusOr<std::shared_ptr<const MasterStep>> PrepareStep(const proto::SignatureRecord& signature)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Compiles the part of this task. The number counts as given.
  StatusOr<std::shared_ptr<MasterStep>> CompileStep(const proto::SignatureRecord& signature,
                                                    const PlacementHints& hints)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Registers it with its other tasks.
  Status ShareStep(MasterStep* step, const proto::SignatureRecord& signature)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Register(const MasterStep& step, const proto::SignatureRecord& signature)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<Payload> EncodeRegister(const MasterStep& step, const TaskShare& share,
                                   const proto::SignatureRecord& signature)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // As Run, with this placement.
  Status RunStep(const std::shared_ptr<const MasterStep>& step, absl::Span<const Tensor> feeds,
                 absl::Span<Tensor> fetches, const RunOptions& options) ABSL_LOCKS_EXCLUDED(mutex_);
  Status RunNumbered(const std::shared_ptr<const MasterStep>& step, NumberedRun begun,
                     absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                     const RunOptions& options) ABSL_LOCKS_EXCLUDED(runs_mutex_);
  // Runs the step in all its tasks, and adds what they report.
  Status RunOverTasks(const std::shared_ptr<MasterRun>& run, const MasterStep& step,
                      absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                      const RunOptions& options, std::vector<uint64_t> running);

  // ---- Placement by costs, in master_placement.cc ----
  Status RunPlaced(const std::shared_ptr<const MasterStep>& prepared,
                   absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                   const RunOptions& options) ABSL_LOCKS_EXCLUDED(mutex_);
  // As RunStep, and adds to the costs.
  Status RunMeasured(const std::shared_ptr<const MasterStep>& step, absl::Span<const Tensor> feeds,
                     absl::Span<Tensor> fetches, const RunOptions& options)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds that messages to the task and from it take half of the round trip that shows its clock.
  void AddLatency(absl::string_view task, const ClockOffset& clock);
  // Asks tasks of whose connection nothing is known. The errors are those of a task that does not
  // answer.
  Status MeasureLatencies();
  // The step with its new placement, registered; null if it is to stay.
  std::shared_ptr<const MasterStep> PlaceAgain(const MasterStep& prepared,
                                               const MasterStep& present,
                                               absl::Span<const Tensor> feeds)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells the tasks that no run of the step goes on, and none will begin.
  void Release(const MasterStep& step);

  // True for the task of this master.
  bool IsHere(const ClusterTask& task) const { return task.name == worker_->task(); }

  const std::shared_ptr<Worker> worker_;
  const uint64_t handle_;
  const int64_t timeout_ms_;  // of steps that have none; 0: none
  // See StepPlacements. The period is 0 if the session does not place by costs.
  const int64_t placement_period_;
  const int64_t measured_runs_;
  std::shared_ptr<WorkerSession> here_;
  DeviceSet devices_;
  std::vector<KernelTypes> kernel_types_;  // of the tasks that are used
  std::vector<bool> uses_;                 // by task
  std::vector<bool> has_begun_;            // by task: whether it has said so
  Cancellation closing_;
  RequestWaits registering_;           // a lost task, and the end of the session, end them
  std::atomic<int64_t> num_steps_{0};  // prepared
  RunNumbers numbers_;
  ClientRuns client_runs_;
  absl::Mutex mutex_;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t next_step_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<int64_t, std::shared_ptr<const MasterStep>> steps_ ABSL_GUARDED_BY(mutex_);
  // By task: what it knows of the graph.
  std::vector<GraphSender> senders_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> knows_devices_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> is_in_doubt_ ABSL_GUARDED_BY(mutex_);  // whether it knows that
  absl::Mutex runs_mutex_;
  std::vector<std::shared_ptr<MasterRun>> running_ ABSL_GUARDED_BY(runs_mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_SESSION_H_
