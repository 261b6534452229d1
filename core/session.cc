// The direct session: everything in this process.
#include "core/session.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/device.h"
#include "core/executable.h"
#include "core/host_ctx.h"
#include "core/resource_manager.h"
#include "core/structural/structural.h"
#include "core/thread_team.h"
#include "framework/plugin/loader.h"

namespace millstream {
namespace {

struct SignatureKey {
  std::vector<Output> feeds;
  std::vector<Output> fetches;
  std::vector<const Node*> targets;
  friend bool operator==(const SignatureKey& a, const SignatureKey& b) {
    return a.feeds == b.feeds && a.fetches == b.fetches && a.targets == b.targets;
  }
  template <typename H>
  friend H AbslHashValue(H h, const SignatureKey& key) {
    return H::combine(std::move(h), key.feeds, key.fetches, key.targets);
  }
};

// Counts the steps that run, so that closing can wait for them. Taking part costs one atomic add.
class RunningSteps {
 public:
  // False once the session is closed.
  bool Enter() {
    running_.fetch_add(1, std::memory_order_seq_cst);
    if (!closed_.load(std::memory_order_seq_cst)) return true;
    Leave();
    return false;
  }
  void Leave() {
    if (running_.fetch_sub(1, std::memory_order_seq_cst) == 1 &&
        closed_.load(std::memory_order_seq_cst)) {
      absl::MutexLock lock(&mutex_);  // the one who closes sleeps on it
    }
  }
  // Refuses further steps and waits for those that run.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_) {
    closed_.store(true, std::memory_order_seq_cst);
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](std::atomic<int64_t>* running) { return running->load() == 0; }, &running_));
  }

 private:
  std::atomic<int64_t> running_{0};
  std::atomic<bool> closed_{false};
  absl::Mutex mutex_;
};

Status ClosedError() { return errors::FailedPrecondition("the session is closed"); }

class DirectSession;

class DirectCallable : public Callable {
 public:
  DirectCallable(DirectSession* session, std::shared_ptr<Executable> executable)
      : session_(session), executable_(std::move(executable)) {}
  Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
             const RunOptions& options) override;
  int64_t num_instructions() const override { return executable_->num_instructions(); }
  std::string placement_text() const override { return executable_->placement_text(); }

 private:
  DirectSession* const session_;
  const std::shared_ptr<Executable> executable_;
};

class DirectSession : public Session {
 public:
  DirectSession(Graph* graph, const SessionOptions& options, DeviceList devices)
      : devices_(std::move(devices)) {
    context_.graph = graph;
    context_.devices = &devices_;
    context_.resources = &resources_;
    context_.options = options;
    context_.intra_op_threads =
        options.intra_op_threads > 0 ? options.intra_op_threads : AvailableThreads();
    context_.inter_op_threads = std::max(options.inter_op_threads, 1);
  }
  ~DirectSession() override { steps_.Close(); }

  Status Run(const StepSignature& signature, absl::Span<const Tensor> feeds,
             absl::Span<Tensor> fetches, const RunOptions& options) override {
    if (!steps_.Enter()) return ClosedError();
    Status status = RunEntered(signature, feeds, fetches, options);
    steps_.Leave();
    return status;
  }

  StatusOr<std::unique_ptr<Callable>> MakeCallable(const StepSignature& signature) override {
    if (!steps_.Enter()) return ClosedError();
    StatusOr<std::shared_ptr<Executable>> executable = FindExecutable(signature);
    steps_.Leave();
    if (!executable.ok()) return executable.status();
    return std::make_unique<DirectCallable>(this, *std::move(executable));
  }

  Status RunExecutable(Executable* executable, absl::Span<const Tensor> feeds,
                       absl::Span<Tensor> fetches, const RunOptions& options) {
    if (!steps_.Enter()) return ClosedError();
    Status status = executable->Run(feeds, fetches, WithDefaults(options));
    steps_.Leave();
    return status;
  }

  std::vector<DeviceInfo> ListDevices() const override {
    std::vector<DeviceInfo> infos;
    for (const auto& device : devices_) {
      infos.push_back(DeviceInfo{device->name(), device->type(), device->memory_limit()});
    }
    return infos;
  }

  Status Close() override {
    steps_.Close();
    {
      absl::MutexLock lock(&mutex_);
      executables_.clear();
    }
    resources_.DropValues();
    return absl::OkStatus();
  }

 private:
  RunOptions WithDefaults(RunOptions options) const {
    if (options.timeout_ms == 0) options.timeout_ms = context_.options.operation_timeout_ms;
    return options;
  }

  Status RunEntered(const StepSignature& signature, absl::Span<const Tensor> feeds,
                    absl::Span<Tensor> fetches, const RunOptions& options) {
    MS_ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable, FindExecutable(signature));
    return executable->Run(feeds, fetches, WithDefaults(options));
  }

  StatusOr<std::shared_ptr<Executable>> FindExecutable(const StepSignature& signature)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    SignatureKey key{signature.feeds, signature.fetches, signature.targets};
    absl::MutexLock lock(&mutex_);
    auto found = executables_.find(key);
    if (found != executables_.end()) return found->second;
    StatusOr<std::unique_ptr<Executable>> created = Executable::Create(&context_, signature);
    if (!created.ok()) return created.status();
    std::shared_ptr<Executable> executable = *std::move(created);
    executables_.emplace(std::move(key), executable);
    return executable;
  }

  // Members are destroyed from the bottom up: plans before kernels, kernels before variables.
  ResourceManager resources_;
  DeviceList devices_;
  ExecutableContext context_;
  RunningSteps steps_;
  absl::Mutex mutex_;
  absl::flat_hash_map<SignatureKey, std::shared_ptr<Executable>> executables_
      ABSL_GUARDED_BY(mutex_);
};

Status DirectCallable::Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                           const RunOptions& options) {
  return session_->RunExecutable(executable_.get(), feeds, fetches, options);
}

}  // namespace

StatusOr<std::unique_ptr<Session>> Session::Create(Graph* graph, const SessionOptions& options) {
  MS_RETURN_IF_ERROR(RegisterRuntimeInterfaces());
  MS_RETURN_IF_ERROR(RegisterStructuralKernels());
  MS_RETURN_IF_ERROR(PluginLoader::Global()->LoadInstalled());
  MS_ASSIGN_OR_RETURN(DeviceList devices, CreateDevices(options.device_count));
  return std::make_unique<DirectSession>(graph, options, std::move(devices));
}

}  // namespace millstream
