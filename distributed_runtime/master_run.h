// One run of a step over several tasks, as the master sees it.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_RUN_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/session/executable.h"
#include "core/step/run_options.h"
#include "distributed_runtime/step_carrier.h"
#include "distributed_runtime/step_exchange.h"
#include "distributed_runtime/step_placements.h"
#include "distributed_runtime/transport.h"
#include "distributed_runtime/worker_session.h"
#include "framework/status.h"
#include "framework/steady_time.h"
#include "framework/tensor.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"
#include "millstream/distributed_runtime/protos/status_messages.pb.h"
#include "millstream/distributed_runtime/protos/trace_messages.pb.h"

namespace millstream {

// The share of another task in a step.
struct TaskShare {
  size_t task = 0;  // of Peers::tasks
  std::string name;
  std::shared_ptr<Channel> channel;
  std::vector<bool> needs_feed;  // by feed of the step; it gets only the shapes of the others
  StepExchange exchange;         // with the master's task
};

// A step that all its tasks have registered. Constant after Prepare.
struct MasterStep {
  int64_t number = 0;
  std::shared_ptr<WorkerSession> session;  // of this task; what `here` needs
  std::shared_ptr<Executable> here;
  bool runs_here = false;      // the master's task has a part
  bool runs_in_order = false;  // it is one part, see RunsInOneOrder
  std::vector<TaskShare> shares;
  std::vector<int> carriers;  // by edge: the share whose messages carry its tensor, or -1
  // Of a step that Prepare has made: the signature, and what becomes of its placement; null: that
  // stays.
  proto::SignatureRecord signature;
  std::shared_ptr<StepPlacements> placements;
};

// Responses may come after the run has ended, so they hold it. Thread-safe.
class MasterRun final : public StepCarrier, public std::enable_shared_from_this<MasterRun> {
 public:
  // `session`: the session's handle; `here`: the share of this task.
  MasterRun(std::shared_ptr<const MasterStep> step, uint64_t session,
            std::shared_ptr<WorkerStep> here);

  // Asks the shares for the same reports as the client. Called before Start.
  void WantReport(const StepReport& wanted) {
    wants_trace_ = wanted.want_trace;
    wants_graphs_ = wanted.want_partition_graphs;
  }
  // Begins the run in the tasks that need no tensor of this one for that. The others begin as soon
  // as their tensors are there. `running` has the earlier runs of the session that had not ended
  // when this one got its number. After an error the run has ended. REQUIRES: `feeds` live until
  // Finish has returned.
  Status Start(absl::Span<const Tensor> feeds, int64_t timeout_ms, std::vector<uint64_t> running)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs the part of this task and waits for the others. The options are those of the client's run;
  // `closing` is cancelled when the master's session is closed. After an error all tasks are told,
  // and those that do not answer are waited for shortly.
  Status Finish(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                const RunOptions& options, const Cancellation* closing) ABSL_LOCKS_EXCLUDED(mutex_);
  // What the shares have reported, by share. Called after Finish.
  std::vector<proto::StepReportRecord> TakeReports() ABSL_LOCKS_EXCLUDED(mutex_);
  // How long it has run, and for which shares it waits.
  void Describe(proto::RunningStepRecord* record) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the run in all tasks. The first error counts.
  void Fail(const Status& error) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the run if the task (a number of Peers::tasks) has a share in it, and waits for the task
  // no more.
  void LoseTask(size_t task, const Status& error) ABSL_LOCKS_EXCLUDED(mutex_);

  // ---- StepCarrier: a round's request leaves when it has its tensors ----
  bool Carries(int64_t edge) const override { return step_->carriers[edge] >= 0; }
  void Carry(int64_t edge, Parcel parcel) override ABSL_LOCKS_EXCLUDED(mutex_);
  // The thread takes the answer that brings the tensor, if it has nothing else to do meanwhile.
  void Await(int64_t edge) override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // What a share has got and given.
  struct Progress {
    bool has_begun = false;
    int answers = 0;                                    // to requests of rounds
    bool has_answered = false;                          // its part has ended
    std::vector<std::vector<CarriedParcel>> collected;  // by round, for the request
    std::unique_ptr<proto::StepReportRecord> report;    // null: there is none
  };
  // Sends a request of the share. Does nothing if the run has failed.
  void Send(size_t share, int round, Payload request) ABSL_LOCKS_EXCLUDED(mutex_);
  Status SendRound(size_t share, int round, const std::vector<CarriedParcel>& carried)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Status EncodeBegin(size_t share, const std::vector<CarriedParcel>& carried, Payload* payload);
  Status EncodeContinue(int round, const std::vector<CarriedParcel>& carried, Payload* payload);
  void TakeResponse(size_t share, const Status& status, PayloadReader* response)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The first call for a share has an effect.
  void EndShare(size_t share, const Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // All shares have ended, and no part of this task may wait for their tensors.
  bool IsOver() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a wait for the answer to a round makes no sense, because it is there or was not asked
  // for.
  bool HasRound(size_t share, int round) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes answers on this thread for a moment, before it waits.
  void Help() ABSL_LOCKS_EXCLUDED(mutex_);
  void Await(const RunOptions& options) ABSL_LOCKS_EXCLUDED(mutex_);
  std::string MissingTasks() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // A share has ended.
  void NoteEnd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (--missing_ == 0) ended_all_.SignalAll();
  }

  const std::shared_ptr<const MasterStep> step_;
  const uint64_t session_;
  const std::shared_ptr<WorkerStep> step_here_;
  const uint64_t number_;
  const absl::Time begin_;
  // The thread that runs the step has nothing else to do while it waits, and takes the answers
  // itself (Channel::StartAwaited). To make floats of their halves, threads share the answers.
  const bool awaits_answers_;
  bool wants_trace_ = false;   // constant from Start on
  bool wants_graphs_ = false;  // likewise
  // Set by Start.
  absl::Span<const Tensor> feeds_;
  int64_t timeout_ms_ = 0;
  std::vector<uint64_t> running_;
  mutable absl::Mutex mutex_;
  SteadyCondVar ended_all_;
  Status error_ ABSL_GUARDED_BY(mutex_);
  std::vector<Tensor> fetches_ ABSL_GUARDED_BY(mutex_);
  std::vector<Progress> shares_ ABSL_GUARDED_BY(mutex_);
  size_t missing_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_RUN_H_
