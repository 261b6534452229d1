#include "distributed_runtime/cluster_session.h"

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/session/live_sessions.h"
#include "core/session/session_gate.h"
#include "core/session/step_cache.h"
#include "distributed_runtime/graph_coding.h"
#include "distributed_runtime/master_client.h"

namespace millstream {
namespace {

class ClusterSession;

class ClusterCallable final : public Callable {
 public:
  ClusterCallable(ClusterSession* session, std::shared_ptr<ClientStep> step)
      : session_(*session), step_(std::move(step)) {}
  Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
             const RunOptions& options) override;
  // The tasks count their own.
  int64_t num_instructions() const override { return 0; }
  std::string placement_text() const override { return step_->placement_text(); }

 private:
  ClusterSession& session_;
  const std::shared_ptr<ClientStep> step_;
};

class ClusterSession final : public Session, public LiveSession {
 public:
  ClusterSession(Graph* graph, std::unique_ptr<MasterClient> master)
      : graph_(*graph), master_(std::move(master)), gate_([this] { Release(); }) {
    LiveSessions::Global()->Add(this);
  }
  ~ClusterSession() override {
    LiveSessions::Global()->Remove(this);
    Close().IgnoreError();
  }

  Status Run(const StepSignature& signature, absl::Span<const Tensor> feeds,
             absl::Span<Tensor> fetches, const RunOptions& options) override {
    MS_ASSIGN_OR_RETURN(const std::shared_ptr<ClientStep> step, FindStep(signature));
    return RunStep(step.get(), feeds, fetches, options);
  }
  StatusOr<std::unique_ptr<Callable>> MakeCallable(const StepSignature& signature) override {
    MS_ASSIGN_OR_RETURN(std::shared_ptr<ClientStep> step, FindStep(signature));
    return std::make_unique<ClusterCallable>(this, std::move(step));
  }
  Status RunStep(ClientStep* step, absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                 const RunOptions& options) {
    const SessionGate::Pass pass(&gate_);
    MS_RETURN_IF_ERROR(pass.status());
    RunOptions run = options;
    run.closing = &closing_;
    return step->Run(feeds, fetches, run);
  }

  std::vector<DeviceInfo> ListDevices() const override {
    std::vector<DeviceInfo> infos;
    for (const DeviceDescription& device : master_->devices()) {
      DeviceInfo& info = infos.emplace_back();
      info.name = device.name;
      info.type = device.type();
      info.memory_limit = device.memory_limit;
    }
    return infos;
  }
  Status Close() override {
    closing_.Cancel();
    gate_.Close();
    return absl::OkStatus();
  }
  Status Trim() override {
    const SessionGate::Pass pass(&gate_);
    MS_RETURN_IF_ERROR(pass.status());
    steps_.TakeUnheld();
    return absl::OkStatus();
  }
  Status ResetContainers(absl::Span<const std::string> containers) override {
    return errors::Unimplemented("containers of a cluster are reset by its target");
  }

  // ---- LiveSession ----
  void Shut() override {
    closing_.Cancel();
    gate_.Shut();
  }
  // The containers belong to the tasks, which other sessions use.
  void ResetAndShut(absl::Span<const std::string> containers) override { Shut(); }
  bool IsOver() override { return gate_.IsInside() || gate_.HasReleased(); }

 protected:
  SessionGate* gate() override { return &gate_; }

 private:
  StatusOr<std::shared_ptr<ClientStep>> FindStep(const StepSignature& signature) {
    const SessionGate::Pass pass(&gate_);
    MS_RETURN_IF_ERROR(pass.status());
    return steps_.FindOrBuild(
        signature, [&] { return Prepare(signature); }, [](StepCache<ClientStep>::Steps) {});
  }

  // One at a time: chunks of the graph must reach the master in their order.
  StatusOr<std::shared_ptr<ClientStep>> Prepare(const StepSignature& signature)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    proto::SignatureRecord record;
    EncodeSignature(signature, &record);
    StatusOr<std::unique_ptr<ClientStep>> made;
    {
      absl::MutexLock lock(&mutex_);
      proto::GraphChunk chunk;
      MS_RETURN_IF_ERROR(sender_.AddChanges(graph_, &chunk));
      made = master_->Prepare(chunk, record);
    }
    MS_RETURN_IF_ERROR(made.status());
    MarkAsRun(signature);
    return std::shared_ptr<ClientStep>(*std::move(made));
  }

  // The master marks the nodes of its copy. Here, only the ends of the step are known.
  void MarkAsRun(const StepSignature& signature) {
    std::vector<const Node*> nodes = signature.targets;
    for (const Output& fetch : signature.fetches) nodes.push_back(fetch.node);
    graph_.MarkAsRun(nodes);
  }

  void Release() {
    steps_.TakeAll();
    master_->Close();
  }

  Graph& graph_;
  const std::unique_ptr<MasterClient> master_;
  absl::Mutex mutex_;
  GraphSender sender_ ABSL_GUARDED_BY(mutex_);
  StepCache<ClientStep> steps_;
  Cancellation closing_;
  SessionGate gate_;
};

Status ClusterCallable::Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                            const RunOptions& options) {
  return session_.RunStep(step_.get(), feeds, fetches, options);
}

}  // namespace

StatusOr<std::unique_ptr<Session>> CreateClusterSession(Graph* graph, absl::string_view target,
                                                        const std::string& config,
                                                        Transport* transport, absl::Time deadline) {
  MS_RETURN_IF_ERROR(Session::PrepareProcess());
  MS_ASSIGN_OR_RETURN(std::unique_ptr<MasterClient> master,
                      MasterClient::Connect(target, config, transport, deadline));
  return std::make_unique<ClusterSession>(graph, std::move(master));
}

}  // namespace millstream
