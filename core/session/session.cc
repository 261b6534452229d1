// The direct session: everything in this process.
#include "core/session/session.h"

#include <utility>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/device/device.h"
#include "core/graph/fork_guard.h"
#include "core/host/host_ctx.h"
#include "core/io/file_system.h"
#include "core/plan/running_steps.h"
#include "core/plan/state_budget.h"
#include "core/resources/resource_manager.h"
#include "core/session/adaptive_step.h"
#include "core/session/compiled_step.h"
#include "core/session/executable.h"
#include "core/session/live_sessions.h"
#include "core/session/session_gate.h"
#include "core/session/step_cache.h"
#include "core/structural/structural.h"
#include "framework/allocator.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/loader.h"

namespace millstream {
namespace {

class DirectSession;

class DirectCallable : public Callable {
 public:
  DirectCallable(DirectSession* session, std::shared_ptr<CompiledStep> step)
      : session_(session), step_(std::move(step)) {}
  Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
             const RunOptions& options) override;
  int64_t num_instructions() const override { return step_->num_instructions(); }
  std::string placement_text() const override { return step_->placement_text(); }

 private:
  DirectSession* const session_;
  const std::shared_ptr<CompiledStep> step_;
};

class DirectSession : public Session, public LiveSession {
 public:
  DirectSession(Graph* graph, const SessionOptions& options, DeviceList devices)
      : devices_(std::move(devices)),
        checks_(options.check_numerics_folder,
                options.files != nullptr ? options.files : LocalFileSystem()),
        gate_([this] { Release(); }) {
    context_.graph = graph;
    context_.SetDevices(devices_);
    context_.settings.resources = &resources_;
    context_.settings.budget = &budget_;
    context_.settings.running = &running_;
    context_.SetOptions(options, &checks_);
    for (const auto& device : devices_) {
      if (device->memory() == nullptr) continue;
      device->memory()->SetReclaimer([this] { budget_.DropKeptStates(); });
    }
    if (options.placement_period > 0 && devices_.size() > 1) {
      costs_ = std::make_unique<SessionCosts>(context_.devices);
      context_.costs = costs_.get();
    }
    LiveSessions::Global()->Add(this);
  }
  ~DirectSession() override {
    LiveSessions::Global()->Remove(this);
    EndSteps();
  }

  Status Run(const StepSignature& signature, absl::Span<const Tensor> feeds,
             absl::Span<Tensor> fetches, const RunOptions& options) override {
    const SessionGate::Pass pass(&gate_);
    MS_RETURN_IF_ERROR(pass.status());
    return RunEntered(signature, feeds, fetches, options);
  }

  StatusOr<std::unique_ptr<Callable>> MakeCallable(const StepSignature& signature) override {
    const SessionGate::Pass pass(&gate_);
    MS_RETURN_IF_ERROR(pass.status());
    MS_ASSIGN_OR_RETURN(std::shared_ptr<CompiledStep> step, FindStep(signature));
    return std::make_unique<DirectCallable>(this, std::move(step));
  }

  Status RunStep(CompiledStep* step, absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                 const RunOptions& options) {
    const SessionGate::Pass pass(&gate_);
    MS_RETURN_IF_ERROR(pass.status());
    return step->Run(feeds, fetches, WithDefaults(options));
  }

  std::vector<DeviceInfo> ListDevices() const override {
    std::vector<DeviceInfo> infos;
    for (const auto& device : devices_) {
      DeviceInfo& info = infos.emplace_back();
      info.name = device->name();
      info.type = device->type();
      info.memory_limit = device->memory_limit();
      info.has_memory = device->memory() != nullptr;
      if (info.has_memory) info.memory = device->memory()->stats();
    }
    return infos;
  }

  Status Close() override {
    EndSteps();
    return absl::OkStatus();
  }

  Status Trim() override {
    const SessionGate::Pass pass(&gate_);
    MS_RETURN_IF_ERROR(pass.status());
    budget_.DropKeptStates();
    checks_.DropKept();
    Delete(steps_.TakeUnheld());
    for (const auto& device : devices_) {
      if (device->memory() != nullptr) device->memory()->Trim();
    }
    TrimHostMemory();
    return absl::OkStatus();
  }

  Status ResetContainers(absl::Span<const std::string> containers) override {
    const SessionGate::Pass pass(&gate_);
    MS_RETURN_IF_ERROR(pass.status());
    resources_.Reset(containers);
    return absl::OkStatus();
  }

  // ---- LiveSession ----
  void Shut() override {
    CancelSteps();
    gate_.Shut();
  }
  void ResetAndShut(absl::Span<const std::string> containers) override {
    CancelSteps();
    resources_.Reset(containers);
    gate_.Shut();
  }
  bool IsOver() override { return gate_.IsInside() || gate_.HasReleased(); }

 protected:
  SessionGate* gate() override { return &gate_; }

 private:
  // Steps that a forked child has copies of run in the parent; so do kernels that want to be told.
  void CancelSteps() {
    if (!ForkGuard::Forked()) closing_.Cancel();
  }

  // Those that block in a kernel cannot say so themselves.
  void EndSteps() {
    CancelSteps();
    gate_.Close(absl::Milliseconds(context_.settings.options.late_kernel_warning_ms), [this] {
      for (const std::string& warning :
           running_.LateWarnings("the session was closed while the step ran")) {
        HostLog(MS_LOG_WARNING, warning);
      }
    });
  }

  // When no step runs any more.
  void Release() ABSL_LOCKS_EXCLUDED(mutex_) {
    for (const auto& device : devices_) {
      if (device->memory() != nullptr) device->memory()->Close();
    }
    budget_.DropKeptStates();  // callables hold on to their plans
    checks_.DropKept();
    steps_.TakeAll();
    {
      absl::MutexLock lock(&mutex_);
      left_.clear();
    }
    resources_.Reset({});
    TrimHostMemory();
  }

  // Unless something on a device may still need one of them, left there by a step that ended early:
  // then they go the next time.
  void Delete(StepCache<CompiledStep>::Steps steps) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      steps.insert(steps.end(), left_.begin(), left_.end());
      left_.clear();
    }
    bool all_idle = true;
    for (const auto& device : devices_) {
      if (device->memory() != nullptr) all_idle &= device->memory()->ForgetAbandoned();
    }
    if (all_idle) return;
    absl::MutexLock lock(&mutex_);
    left_.insert(left_.end(), steps.begin(), steps.end());
  }

  RunOptions WithDefaults(RunOptions options) const {
    options.closing = &closing_;
    if (options.timeout_ms == 0)
      options.timeout_ms = context_.settings.options.operation_timeout_ms;
    return options;
  }

  Status RunEntered(const StepSignature& signature, absl::Span<const Tensor> feeds,
                    absl::Span<Tensor> fetches, const RunOptions& options) {
    MS_ASSIGN_OR_RETURN(std::shared_ptr<CompiledStep> step, FindStep(signature));
    return step->Run(feeds, fetches, WithDefaults(options));
  }

  StatusOr<std::shared_ptr<CompiledStep>> Compile(const StepSignature& signature) {
    MS_ASSIGN_OR_RETURN(std::unique_ptr<Executable> step, Executable::Create(&context_, signature));
    if (!step->builder().is_placed_by_costs())
      return std::shared_ptr<CompiledStep>(std::move(step));
    return std::make_shared<AdaptiveStep>(&context_, signature, std::move(step));
  }

  StatusOr<std::shared_ptr<CompiledStep>> FindStep(const StepSignature& signature) {
    return steps_.FindOrBuild(
        signature, [&] { return Compile(signature); },
        [this](StepCache<CompiledStep>::Steps dropped) { Delete(std::move(dropped)); });
  }

  // Members are destroyed from the bottom up: plans before kernels, kernels before variables.
  ResourceManager resources_;
  DeviceList devices_;
  NumericChecks checks_;
  ExecutableContext context_;
  std::unique_ptr<SessionCosts> costs_;  // null: steps are placed without
  StateBudget budget_;
  RunningSteps running_;
  StepCache<CompiledStep> steps_;
  absl::Mutex mutex_;
  StepCache<CompiledStep>::Steps left_ ABSL_GUARDED_BY(mutex_);  // see Delete
  Cancellation closing_;  // stops the steps that run as the session closes
  SessionGate gate_;
};

Status DirectCallable::Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                           const RunOptions& options) {
  return session_->RunStep(step_.get(), feeds, fetches, options);
}

}  // namespace

Status Session::ResetAll(absl::Span<const std::string> containers) {
  MS_RETURN_IF_ERROR(ForkGuard::Check());
  LiveSessions::Global()->Reset(containers);
  return absl::OkStatus();
}

void Session::Free(std::unique_ptr<Session> session) {
  if (session == nullptr) return;
  Session* const freed = session.release();
  freed->Close().IgnoreError();
  freed->gate()->Free([freed] { delete freed; });
}

Status Session::PrepareProcess() {
  MS_RETURN_IF_ERROR(ForkGuard::Check());
  ForkGuard::Arm();
  MS_RETURN_IF_ERROR(RegisterRuntimeInterfaces());
  MS_RETURN_IF_ERROR(RegisterStructuralKernels());
  MS_RETURN_IF_ERROR(PluginLoader::Global()->LoadInstalled());
  static absl::once_flag armed;
  absl::call_once(armed, &LiveSessions::EndBeforeLibraries);
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<Session>> Session::Create(Graph* graph, const SessionOptions& options) {
  MS_RETURN_IF_ERROR(PrepareProcess());
  MS_ASSIGN_OR_RETURN(DeviceList devices, CreateDevices(options.device_count));
  return std::make_unique<DirectSession>(graph, options, std::move(devices));
}

}  // namespace millstream
