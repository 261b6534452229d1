#include "distributed_runtime/worker_session.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "core/graph/prune.h"
#include "core/host/host_ctx.h"
#include "core/io/file_system.h"
#include "core/partition/rendezvous_name.h"
#include "distributed_runtime/graph_coding.h"
#include "distributed_runtime/rpc.h"
#include "framework/allocator.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/steady_time.h"

namespace millstream {

StatusOr<std::shared_ptr<WorkerSession>> WorkerSession::Create(WorkerSessionArguments arguments) {
  const std::shared_ptr<SharedDevices> shared = arguments.devices;
  MS_ASSIGN_OR_RETURN(DeviceList devices, shared->Create(arguments.options.device_count));
  const std::shared_ptr<WorkerSession> session(
      new WorkerSession(std::move(arguments), std::move(devices)));
  shared->AddUser(session);
  return session;
}

WorkerSession::WorkerSession(WorkerSessionArguments arguments, DeviceList devices)
    : arguments_(std::move(arguments)),
      devices_(std::move(devices)),
      checks_(arguments_.options.check_numerics_folder, LocalFileSystem()),
      gate_([this] { Release(); }) {
  context_.graph = &graph_;
  context_.settings.resources = arguments_.resources.get();
  context_.settings.budget = &budget_;
  context_.settings.running = &running_;
  context_.SetOptions(arguments_.options, &checks_);
}

WorkerSession::~WorkerSession() { Close(); }

Status WorkerSession::SetCluster(const DeviceSet& all) {
  absl::MutexLock lock(&mutex_);
  if (has_cluster_) return absl::OkStatus();
  for (const DeviceDescription& own : Describe(devices_)) {
    const int found = all.Find(own.name);
    if (found >= 0 && all[found].incarnation != own.incarnation) {
      return absl::AbortedError(absl::StrCat("the device ", own.name, " was made again"));
    }
  }
  context_.SetDevices(devices_, all);
  if (arguments_.master == arguments_.task && arguments_.options.placement_period > 0 &&
      all.size() > 1) {
    costs_ = std::make_unique<SessionCosts>(all);
    context_.costs = costs_.get();
  }
  has_cluster_ = true;
  return absl::OkStatus();
}

Status WorkerSession::Extend(const proto::GraphChunk& chunk) {
  absl::MutexLock lock(&mutex_);
  return AddChunk(chunk, &graph_);
}

StatusOr<std::shared_ptr<Executable>> WorkerSession::Compile(
    const proto::SignatureRecord& signature, const PlacementHints& hints) {
  const SessionGate::Pass pass(&gate_);
  MS_RETURN_IF_ERROR(pass.status());
  {
    absl::MutexLock lock(&mutex_);
    if (!has_cluster_) return errors::FailedPrecondition("the session has no devices as yet");
  }
  MS_ASSIGN_OR_RETURN(const StepSignature decoded, DecodeSignature(graph_, signature));
  MS_RETURN_IF_ERROR(DropOtherVariables(decoded));
  MS_ASSIGN_OR_RETURN(std::unique_ptr<Executable> graph,
                      Executable::Create(&context_, decoded, hints));
  return std::shared_ptr<Executable>(std::move(graph));
}

// Variables outlive the program that made them. One of the same name, but of another type or shape,
// is that of another program: here it begins anew.
Status WorkerSession::DropOtherVariables(const StepSignature& signature) {
  const auto is_here = [this](const DeviceName& asked) {
    return absl::c_any_of(devices_, [&asked](const std::unique_ptr<Device>& device) {
      return asked.Fits(device->description().parsed_name);
    });
  };
  const StatusOr<PrunedGraph> pruned = Prune(graph_, signature);
  if (!pruned.ok()) return absl::OkStatus();  // compiling says it better
  for (const Node* node : pruned->nodes) {
    if (node->op().name != "VarHandleOp") continue;
    const StatusOr<DeviceName> asked = DeviceName::Parse(graph_.Device(node));
    const std::optional<HandleInfo> handle = graph_.Facts(node->output(0)).handle;
    if (!asked.ok() || !is_here(*asked) || !handle.has_value()) continue;
    const std::string container = node->Attr<std::string>("container").value_or("");
    std::string name = node->Attr<std::string>("shared_name").value_or("");
    if (name.empty()) name = node->name();
    StatusOr<ResourceRef<Variable>> found = arguments_.resources->Lookup<Variable>(container, name);
    if (!found.ok()) continue;
    const Variable& present = **found;
    if (present.dtype() == handle->dtype && present.shape().IsCompatibleWith(handle->shape)) {
      continue;
    }
    found = ResourceRef<Variable>();  // a name that somebody holds stays
    MS_RETURN_IF_ERROR(arguments_.resources->Delete(container, name, Variable::kType));
  }
  return absl::OkStatus();
}

StatusOr<uint64_t> WorkerSession::Register(int64_t number, const proto::SignatureRecord& signature,
                                           const std::vector<int>& placement) {
  PlacementHints hints;
  if (!placement.empty()) hints.decided = &placement;
  TaskGraph graph;
  MS_ASSIGN_OR_RETURN(graph.executable, Compile(signature, hints));
  const PartitionedGraph& parts = graph.executable->builder().partitions();
  graph.exchange = std::make_shared<const StepExchange>(
      PlanExchange(parts, context_.devices, arguments_.master, arguments_.task));
  const uint64_t fingerprint = Fingerprint(parts, graph.exchange->rounds);
  absl::MutexLock lock(&mutex_);
  graphs_[number] = std::move(graph);
  return fingerprint;
}

void WorkerSession::Unregister(int64_t number) {
  const SessionGate::Pass pass(&gate_);
  if (!pass.status().ok()) return;  // all of them go
  TaskGraph graph;                  // destroyed without the lock
  {
    absl::MutexLock lock(&mutex_);
    const auto found = graphs_.find(number);
    if (found == graphs_.end()) return;
    graph = std::move(found->second);
    graphs_.erase(found);
  }
  if (HasIdleDevices()) return;
  absl::MutexLock lock(&mutex_);
  left_.push_back(std::move(graph));
}

StatusOr<TaskGraph> WorkerSession::Find(int64_t number) {
  absl::MutexLock lock(&mutex_);
  const auto found = graphs_.find(number);
  if (found != graphs_.end()) return found->second;
  return errors::NotFound("the session has no graph ", number, " in ", arguments_.task);
}

StatusOr<std::shared_ptr<WorkerStep>> WorkerSession::Step(uint64_t number) {
  absl::MutexLock lock(&mutex_);
  if (record_.HasEnded(number)) {
    return errors::Cancelled("the step ", number, " of the master ", arguments_.master,
                             " has ended before this message of it came to ", arguments_.task);
  }
  std::shared_ptr<WorkerStep>& step = steps_[number];
  if (step == nullptr) {
    step = std::make_shared<WorkerStep>(arguments_.handle, number, arguments_.peers,
                                        arguments_.devices);
  }
  return step;
}

// Messages overtake one another. A step may have ended by an error while the message that begins
// its part, or the one that aborts it, is still on its way: so its part may run, or come to run.
void WorkerSession::BeginStep(uint64_t number, absl::Span<const uint64_t> running) {
  std::vector<std::shared_ptr<WorkerStep>> ended;
  {
    absl::MutexLock lock(&mutex_);
    if (!record_.Begin(number, running)) return;
    for (auto at = steps_.begin(); at != steps_.end();) {
      const auto present = at++;
      if (!record_.HasEnded(present->first)) continue;
      ended.push_back(std::move(present->second));
      steps_.erase(present);
    }
  }
  for (const std::shared_ptr<WorkerStep>& step : ended) {
    step->Stop(errors::Cancelled("the step has ended in the task of its master"));
  }
}

void WorkerSession::Forget(uint64_t number) {
  std::shared_ptr<WorkerStep> forgotten;  // destroyed without the lock
  absl::MutexLock lock(&mutex_);
  const auto found = steps_.find(number);
  if (found == steps_.end()) return;
  forgotten = std::move(found->second);
  steps_.erase(found);
}

Status WorkerSession::Run(Executable* graph, WorkerStep* step, absl::Span<const Tensor> feeds,
                          absl::Span<Tensor> fetches, const RunOptions& options) {
  const SessionGate::Pass pass(&gate_);
  MS_RETURN_IF_ERROR(pass.status());
  RunOptions run = options;
  run.cancellation = step->cancellation();
  run.closing = &closing_;
  run.other_tasks = step;
  return RunNoted(graph, step, feeds, fetches, run);
}

// The step is listed among those that run, and counted when it has ended.
Status WorkerSession::RunNoted(Executable* graph, WorkerStep* step, absl::Span<const Tensor> feeds,
                               absl::Span<Tensor> fetches, const RunOptions& options) {
  const absl::Time begin = SteadyNow();
  LogBegin(arguments_.task, "part", arguments_.handle, step->number());
  {
    absl::MutexLock lock(&mutex_);
    running_steps_[step->number()] = Running{graph, step->shared_from_this(), begin};
  }
  Status status = graph->Run(feeds, fetches, options);
  if (absl::IsCancelled(status)) {
    // A step that was stopped by another error ends with that.
    const Status aborted = step->aborted();
    if (!aborted.ok() && !absl::IsCancelled(aborted)) status = aborted;
  }
  status = WithTask(status, arguments_.task);
  {
    absl::MutexLock lock(&mutex_);
    running_steps_.erase(step->number());
    if (running_steps_.empty()) ended_steps_.SignalAll();
  }
  arguments_.counters->Add(status);
  LogEnd(arguments_.task, "part", arguments_.handle, step->number(), SteadyNow() - begin, status);
  return status;
}

void WorkerSession::AddStatus(proto::TaskStatusRecord* status) {
  absl::MutexLock lock(&mutex_);
  status->set_graphs(status->graphs() + static_cast<int64_t>(graphs_.size()));
  for (const auto& [number, running] : running_steps_) {
    proto::RunningStepRecord* const record = status->add_running();
    record->set_session(arguments_.handle);
    record->set_step(number);
    record->set_nanos(absl::ToInt64Nanoseconds(SteadyNow() - running.begin));
    AddWaits(running, record);
  }
}

void WorkerSession::AddWaits(const Running& running, proto::RunningStepRecord* record) const {
  const WorkerStep::Waits waits = running.step->waits();
  for (const std::string& text : waits.names) {
    const StatusOr<RendezvousName> name = RendezvousName::Parse(text);
    if (!name.ok()) continue;
    proto::WaitRecord* const wait = record->add_waits();
    wait->set_task(std::string(TaskOf(name->source)));
    // "edge_3_a:0"
    const std::vector<std::string> parts = absl::StrSplit(name->tensor, absl::MaxSplits('_', 2));
    wait->set_tensor(parts.back());
  }
  const std::vector<Transfer>& transfers = running.graph->builder().partitions().transfers;
  for (const int64_t edge : waits.edges) {
    proto::WaitRecord* const wait = record->add_waits();
    wait->set_task(std::string(TaskOf(context_.devices[transfers[edge].from].name)));
    wait->set_tensor(transfers[edge].tensor);
  }
}

void WorkerSession::StopSteps(const Status& error) {
  std::vector<std::shared_ptr<WorkerStep>> steps;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [number, step] : steps_) steps.push_back(step);
  }
  for (const std::shared_ptr<WorkerStep>& step : steps) {
    step->Stop(WithTask(error, arguments_.task));
  }
}

void WorkerSession::Abandon(const Status& error) {
  StopSteps(error);
  closing_.Cancel();
}

void WorkerSession::AwaitSteps(absl::Time end) {
  absl::MutexLock lock(&mutex_);
  ended_steps_.Await(&mutex_, end, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return running_steps_.empty();
  });
}

void WorkerSession::Close() {
  closing_.Cancel();
  StopSteps(errors::Cancelled("the session was closed while the step ran"));
  gate_.Close(absl::Milliseconds(arguments_.options.late_kernel_warning_ms), [this] {
    for (const std::string& warning :
         running_.LateWarnings("the session was closed while the step ran")) {
      HostLog(MS_LOG_WARNING, warning);
    }
  });
}

// Of what steps have left there. Steps that end otherwise have waited for their devices.
bool WorkerSession::HasIdleDevices() const {
  return absl::c_all_of(devices_, [](const std::unique_ptr<Device>& device) {
    DeviceMemory* const memory = device->memory();
    return memory == nullptr || memory->ForgetAbandonedOrLost();
  });
}

// When no step runs any more.
void WorkerSession::Release() {
  if (!HasIdleDevices()) {
    if (std::shared_ptr<WorkerSession> self = weak_from_this().lock()) {
      return arguments_.devices->KeepUntilIdle(std::move(self));
    }
  }
  budget_.DropKeptStates();
  checks_.DropKept();
  absl::flat_hash_map<int64_t, TaskGraph> graphs;
  std::vector<TaskGraph> left;
  absl::flat_hash_map<uint64_t, std::shared_ptr<WorkerStep>> steps;
  {
    absl::MutexLock lock(&mutex_);
    graphs.swap(graphs_);
    left.swap(left_);
    steps.swap(steps_);
  }
}

}  // namespace millstream
