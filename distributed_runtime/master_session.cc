#include "distributed_runtime/master_session.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/c_api/session_options.h"
#include "distributed_runtime/clock_offset.h"
#include "distributed_runtime/device_coding.h"
#include "distributed_runtime/rpc.h"
#include "distributed_runtime/step_log.h"
#include "distributed_runtime/trace_coding.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

// How long the clock of a task is asked for.
constexpr absl::Duration kClockPatience = absl::Seconds(1);
// How long tasks have to end their share of a session.
constexpr absl::Duration kClosePatience = absl::Seconds(2);
// Behind the name of a task: what has the range about its clock.
constexpr char kClockSuffix[] = "/clock";

uint64_t RandomHandle() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

// By edge: the share that carries its tensor, or -1.
std::vector<int> CarriersOf(const std::vector<TaskShare>& shares, size_t num_edges) {
  std::vector<int> carriers(num_edges, -1);
  for (size_t s = 0; s < shares.size(); ++s) {
    for (size_t edge = 0; edge < num_edges; ++edge) {
      if (shares[s].exchange.Carries(edge)) carriers[edge] = static_cast<int>(s);
    }
  }
  return carriers;
}

// By share. A task that does not answer is taken to have the clock of this one: its step will fail.
std::vector<ClockOffset> ClocksOf(const std::vector<TaskShare>& shares) {
  std::vector<ClockOffset> clocks;
  for (const TaskShare& share : shares) {
    const StatusOr<ClockOffset> clock =
        MeasureClock(share.channel.get(), SteadyNow() + kClockPatience);
    clocks.push_back(clock.ok() ? *clock : ClockOffset());
  }
  return clocks;
}

// What the shares report, by the clock of this task. Each gets a range that says how much its clock
// differs.
Status AddReports(const std::vector<TaskShare>& shares,
                  const std::vector<proto::StepReportRecord>& records,
                  const std::vector<ClockOffset>& clocks, StepReport* report) {
  for (size_t s = 0; s < shares.size(); ++s) {
    const ClockOffset clock = clocks.empty() ? ClockOffset() : clocks[s];
    MS_RETURN_IF_ERROR(WithTask(AddReport(records[s], clock.ahead, report), shares[s].name));
    if (clocks.empty()) continue;
    TracedRange range;
    range.device = absl::StrCat(shares[s].name, kClockSuffix);
    range.name = "clock";
    range.start = range.end = StepTrace::Now();
    range.args = {{"ahead_ns", absl::StrCat(clock.ahead)}, {"error_ns", absl::StrCat(clock.error)}};
    report->trace.AddRange(std::move(range));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::shared_ptr<MasterSession>> MasterSession::Create(std::shared_ptr<Worker> worker,
                                                               uint64_t incarnation,
                                                               const std::string& config,
                                                               absl::Time deadline,
                                                               TaskWatch* watch) {
  MS_ASSIGN_OR_RETURN(const SessionOptions options, c_api::MakeSessionOptions(config));
  std::shared_ptr<MasterSession> session(
      new MasterSession(std::move(worker), RandomHandle(), options));
  MS_RETURN_IF_ERROR(session->Begin(incarnation, config, deadline, watch));
  return session;
}

MasterSession::MasterSession(std::shared_ptr<Worker> worker, uint64_t handle,
                             const SessionOptions& options)
    : worker_(std::move(worker)),
      handle_(handle),
      timeout_ms_(options.operation_timeout_ms),
      placement_period_(options.placement_period),
      measured_runs_(std::clamp<int64_t>(options.build_cost_model, 1,
                                         std::max<int64_t>(options.placement_period, 1))) {
  const size_t num_tasks = worker_->peers()->tasks().size();
  uses_.resize(num_tasks);
  has_begun_.resize(num_tasks);
  senders_.resize(num_tasks);
  knows_devices_.resize(num_tasks);
  is_in_doubt_.resize(num_tasks);
}

// The devices of this task come first, so that nodes without a request are placed here.
Status MasterSession::Begin(uint64_t incarnation, const std::string& config, absl::Time deadline,
                            TaskWatch* watch) {
  MS_ASSIGN_OR_RETURN(here_, worker_->CreateSession(handle_, config, worker_->task()));
  devices_ = here_->devices();
  kernel_types_.push_back({worker_->task(), KernelRegistry::Global()->DeviceTypes()});
  MS_ASSIGN_OR_RETURN(const DeviceFilters filters, DeviceFilters::Of(config));
  std::vector<size_t> tasks;
  for (size_t t = 0; t < uses_.size(); ++t) {
    const ClusterTask& task = worker_->peers()->tasks()[t];
    if (IsHere(task)) continue;
    MS_ASSIGN_OR_RETURN(const bool is_used, filters.FitsTask(task.name));
    if (!is_used) continue;
    uses_[t] = true;
    tasks.push_back(t);
  }
  proto::CreateWorkerSessionRequest request;
  request.set_session(handle_);
  request.set_config(config);
  request.set_master(worker_->task());
  request.set_incarnation(incarnation);
  request.set_version(kMessageVersion);
  MS_RETURN_IF_ERROR(BeginInTasks(tasks, request, filters, deadline, watch));
  LeaveOutUnknownDevices();
  return here_->SetCluster(devices_);
}

// Each task that has a part of a step places and cuts all of it, and needs the kernels of a device
// to know which of their tensors are in the device's memory.
void MasterSession::LeaveOutUnknownDevices() {
  devices_ = devices_.Select([this](const DeviceDescription& device) {
    if (device.traits.host_memory) return true;
    const auto lacking = absl::c_find_if(kernel_types_, [&device](const KernelTypes& one) {
      return !absl::c_linear_search(one.types, device.type());
    });
    if (lacking == kernel_types_.end()) return true;
    HostLog(MS_LOG_WARNING, absl::StrCat("the session does not use ", device.name, ": the task ",
                                         lacking->task, " has no kernels for devices of its type; ",
                                         "load the plugin in all tasks"));
    return false;
  });
}

Status MasterSession::BeginInTasks(const std::vector<size_t>& tasks,
                                   proto::CreateWorkerSessionRequest request,
                                   const DeviceFilters& filters, absl::Time deadline,
                                   TaskWatch* watch) {
  std::vector<TaskRequest> requests;
  for (const size_t t : tasks) {
    const ClusterTask& task = worker_->peers()->tasks()[t];
    MS_ASSIGN_OR_RETURN(std::shared_ptr<Channel> channel, worker_->peers()->ChannelTo(task.name));
    request.set_task(task.name);
    requests.push_back({task.name, std::move(channel), EncodeMessage(request)});
    deadline = std::min(deadline, watch->Ask(t, SteadyNow()));
  }
  const auto take = [&](size_t i, PayloadReader* response) -> Status {
    has_begun_[tasks[i]] = true;
    proto::CreateWorkerSessionResponse message;
    MS_RETURN_IF_ERROR(DecodeMessage(response, &message));
    MS_ASSIGN_OR_RETURN(const DeviceSet devices, DecodeDevices(message.devices()));
    devices_.Append(filters.Select(devices));
    kernel_types_.push_back(
        {worker_->peers()->tasks()[tasks[i]].name,
         std::vector<std::string>(message.kernel_types().begin(), message.kernel_types().end())});
    return absl::OkStatus();
  };
  const std::vector<Status> results =
      RequestEach("CreateWorkerSession", std::move(requests), deadline, take);
  // That one is gone says more than that another has not come as yet.
  Status first;
  Status gone;
  for (size_t i = 0; i < results.size(); ++i) {
    const Status& result = results[i];
    if (watch->TakeResult(tasks[i], result, SteadyNow()) && gone.ok()) {
      gone = absl::UnavailableError(absl::StrCat(kGone, result.message()));
    }
    if (first.ok()) first = result;
  }
  MS_RETURN_IF_ERROR(gone);
  return absl::IsDeadlineExceeded(first) ? absl::UnavailableError(first.message()) : first;
}

// The tasks other than this one that have parts of the step. A part may be empty, because all its
// nodes stand where they are read (lasting_values.h): it needs no message, unless a tensor is
// fetched there that is fed.
StatusOr<std::vector<TaskShare>> MasterSession::SharesOf(const Executable& graph,
                                                         bool* runs_here) const {
  std::vector<TaskShare> shares;
  *runs_here = false;
  for (const Partition& part : graph.builder().partitions().parts) {
    const std::string name(TaskOf(devices_[part.device].name));
    if (name == worker_->task()) {
      *runs_here = true;
      continue;
    }
    if (part.pruned.nodes.empty() && part.fetches.empty()) continue;
    TaskShare* share = nullptr;
    for (TaskShare& one : shares) {
      if (one.name == name) share = &one;
    }
    if (share == nullptr) {
      share = &shares.emplace_back();
      share->name = name;
      const std::vector<ClusterTask>& tasks = worker_->peers()->tasks();
      while (tasks[share->task].name != name) ++share->task;
      MS_ASSIGN_OR_RETURN(share->channel, worker_->peers()->ChannelTo(name));
      share->needs_feed.resize(graph.builder().given().size());
    }
    for (const int feed : part.feeds) {
      share->needs_feed[graph.builder().feed_sources()[feed]] = true;
    }
  }
  for (TaskShare& share : shares) {
    share.exchange =
        PlanExchange(graph.builder().partitions(), devices_, worker_->task(), share.name);
  }
  return shares;
}

Status MasterSession::Register(const MasterStep& step, const proto::SignatureRecord& signature) {
  std::vector<TaskRequest> requests;
  for (const TaskShare& share : step.shares) {
    if (!is_in_doubt_[share.task]) continue;
    return WithTask(GraphInDoubt(absl::StrCat("the task ", share.name)), share.name);
  }
  for (const TaskShare& share : step.shares) {
    StatusOr<Payload> request = EncodeRegister(step, share, signature);
    if (!request.ok()) {
      // What was to be sent of the graph counts as known, and nobody gets it.
      for (const TaskShare& one : step.shares) is_in_doubt_[one.task] = true;
      return WithTask(request.status(), share.name);
    }
    requests.push_back({share.name, share.channel, *std::move(request)});
  }
  std::vector<bool> have_answered(step.shares.size());
  const auto take = [&](size_t i, PayloadReader* response) -> Status {
    have_answered[i] = true;
    proto::RegisterGraphResponse message;
    MS_RETURN_IF_ERROR(DecodeMessage(response, &message));
    const uint64_t expected =
        Fingerprint(step.here->builder().partitions(), step.shares[i].exchange.rounds);
    if (message.fingerprint() == expected) return absl::OkStatus();
    return errors::FailedPrecondition(
        "the task has cut the step in another way than its master; all tasks need the same version "
        "of Millstream and the same plugins");
  };
  const std::vector<Status> results = RequestEach("RegisterGraph", std::move(requests),
                                                  absl::InfiniteFuture(), take, &registering_);
  Status first;
  for (size_t s = 0; s < results.size(); ++s) {
    if (results[s].ok()) continue;
    if (first.ok()) first = results[s];
    if (have_answered[s] || HasGraphTaken(results[s])) continue;
    // What was sent of the graph counts as known, and was lost or refused.
    is_in_doubt_[step.shares[s].task] = true;
  }
  return first;
}

StatusOr<Payload> MasterSession::EncodeRegister(const MasterStep& step, const TaskShare& share,
                                                const proto::SignatureRecord& signature) {
  proto::RegisterGraphRequest request;
  request.set_session(handle_);
  request.set_graph(step.number);
  *request.mutable_signature() = signature;
  MS_RETURN_IF_ERROR(senders_[share.task].AddChanges(here_->graph(), request.mutable_chunk()));
  if (!knows_devices_[share.task]) EncodeDevices(devices_, request.mutable_devices());
  knows_devices_[share.task] = true;
  if (here_->costs() != nullptr) {
    const std::vector<int>& placed = step.here->builder().placed();
    request.mutable_placement()->Add(placed.begin(), placed.end());
  }
  return EncodeLargeMessage(request);
}

StatusOr<std::shared_ptr<const MasterStep>> MasterSession::Prepare(
    const proto::GraphChunk& chunk, const proto::SignatureRecord& signature) {
  absl::MutexLock lock(&mutex_);
  if (is_closed_) return errors::FailedPrecondition("the session is closed");
  MS_RETURN_IF_ERROR(here_->Extend(chunk));
  StatusOr<std::shared_ptr<const MasterStep>> step = PrepareStep(signature);
  if (!step.ok()) return WithGraphTaken(step.status());
  return step;
}

StatusOr<std::shared_ptr<const MasterStep>> MasterSession::PrepareStep(
    const proto::SignatureRecord& signature) {
  MS_ASSIGN_OR_RETURN(std::shared_ptr<MasterStep> step, CompileStep(signature, PlacementHints()));
  MS_RETURN_IF_ERROR(ShareStep(step.get(), signature));
  if (step->here->builder().is_placed_by_costs()) {
    step->signature = signature;
    step->placements = std::make_shared<StepPlacements>(placement_period_, measured_runs_);
  }
  steps_[step->number] = step;
  return step;
}

StatusOr<std::shared_ptr<MasterStep>> MasterSession::CompileStep(
    const proto::SignatureRecord& signature, const PlacementHints& hints) {
  auto step = std::make_shared<MasterStep>();
  step->number = next_step_++;
  step->session = here_;
  MS_ASSIGN_OR_RETURN(step->here, here_->Compile(signature, hints));
  return step;
}

Status MasterSession::ShareStep(MasterStep* step, const proto::SignatureRecord& signature) {
  MS_ASSIGN_OR_RETURN(step->shares, SharesOf(*step->here, &step->runs_here));
  const PartitionedGraph& parts = step->here->builder().partitions();
  step->runs_in_order = RunsInOneOrder(parts, devices_, worker_->task());
  step->carriers = CarriersOf(step->shares, parts.transfers.size());
  if (!step->shares.empty()) MS_RETURN_IF_ERROR(Register(*step, signature));
  if (step->runs_here) num_steps_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

StatusOr<std::shared_ptr<const MasterStep>> MasterSession::Find(int64_t number) {
  absl::MutexLock lock(&mutex_);
  const auto found = steps_.find(number);
  if (found != steps_.end()) return found->second;
  return errors::NotFound("the session has no step ", number);
}

Status MasterSession::Run(const std::shared_ptr<const MasterStep>& step,
                          absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                          const RunOptions& options) {
  if (feeds.size() != step->here->builder().given().size()) {
    return errors::InvalidArgument("the step takes ", step->here->builder().given().size(),
                                   " feeds, got ", feeds.size());
  }
  return step->placements == nullptr ? RunStep(step, feeds, fetches, options)
                                     : RunPlaced(step, feeds, fetches, options);
}

Status MasterSession::RunStep(const std::shared_ptr<const MasterStep>& step,
                              absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                              const RunOptions& options) {
  NumberedRun begun = numbers_.Begin();
  const uint64_t number = begun.number;
  RunOptions run_options = options;
  if (run_options.timeout_ms == 0) run_options.timeout_ms = timeout_ms_;
  const absl::Time begin = SteadyNow();
  LogBegin(worker_->task(), "master", handle_, number);
  const Status status = RunNumbered(step, std::move(begun), feeds, fetches, run_options);
  here_->Forget(number);
  numbers_.End(number);
  worker_->led()->Add(status);
  LogEnd(worker_->task(), "master", handle_, number, SteadyNow() - begin, status);
  return status;
}

Status MasterSession::RunNumbered(const std::shared_ptr<const MasterStep>& step, NumberedRun begun,
                                  absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                                  const RunOptions& options) {
  here_->BeginStep(begun.number, begun.running);
  MS_ASSIGN_OR_RETURN(std::shared_ptr<WorkerStep> here, here_->Step(begun.number));
  const auto run = std::make_shared<MasterRun>(step, handle_, std::move(here));
  {
    absl::MutexLock lock(&runs_mutex_);
    running_.push_back(run);
  }
  const Status status = RunOverTasks(run, *step, feeds, fetches, options, std::move(begun.running));
  absl::MutexLock lock(&runs_mutex_);
  running_.erase(std::find(running_.begin(), running_.end(), run));
  return status;
}

Status MasterSession::RunOverTasks(const std::shared_ptr<MasterRun>& run, const MasterStep& step,
                                   absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                                   const RunOptions& options, std::vector<uint64_t> running) {
  StepReport* const report = options.report;
  std::vector<ClockOffset> clocks;
  if (report != nullptr) {
    run->WantReport(*report);
    if (report->want_trace) clocks = ClocksOf(step.shares);
  }
  if (here_->costs() != nullptr) {
    for (size_t s = 0; s < clocks.size(); ++s) AddLatency(step.shares[s].name, clocks[s]);
  }
  // Before a task can have run its part.
  if (options.cancellation != nullptr && options.cancellation->IsCancelled()) {
    return errors::Cancelled("the step was cancelled");
  }
  MS_RETURN_IF_ERROR(run->Start(feeds, options.timeout_ms, std::move(running)));
  MS_RETURN_IF_ERROR(run->Finish(feeds, fetches, options, &closing_));
  return report == nullptr ? absl::OkStatus()
                           : AddReports(step.shares, run->TakeReports(), clocks, report);
}

void MasterSession::AddStatus(proto::TaskStatusRecord* status) {
  status->set_led_sessions(status->led_sessions() + 1);
  status->set_graphs(status->graphs() + num_steps_.load(std::memory_order_relaxed));
  std::vector<std::shared_ptr<MasterRun>> running;
  {
    absl::MutexLock lock(&runs_mutex_);
    running = running_;
  }
  for (const std::shared_ptr<MasterRun>& run : running) run->Describe(status->add_running());
}

void MasterSession::LoseTask(size_t task, const Status& error) {
  std::vector<std::shared_ptr<MasterRun>> running;
  {
    absl::MutexLock lock(&runs_mutex_);
    running = running_;
  }
  for (const std::shared_ptr<MasterRun>& run : running) run->LoseTask(task, error);
  registering_.Lose(worker_->peers()->tasks()[task].name, error);
}

void MasterSession::Close() {
  // First, because a step that is registered holds the mutex, and a task may not answer.
  closing_.Cancel();
  registering_.LoseAll(
      absl::CancelledError("the session was closed while the step was registered"));
  {
    absl::MutexLock lock(&mutex_);
    if (is_closed_) return;
    is_closed_ = true;
  }
  worker_->CloseSession(handle_);
  proto::SessionRequest request;
  request.set_session(handle_);
  std::vector<TaskRequest> requests;
  for (size_t t = 0; t < uses_.size(); ++t) {
    if (!uses_[t]) continue;
    const ClusterTask& task = worker_->peers()->tasks()[t];
    StatusOr<std::shared_ptr<Channel>> channel = worker_->peers()->ChannelTo(task.name);
    if (!channel.ok()) continue;
    if (has_begun_[t]) {
      requests.push_back({task.name, *std::move(channel), EncodeMessage(request)});
      continue;
    }
    // Who asked for the session learns at once that the task does not answer, and not when it has
    // not answered this either.
    StartRequest(channel->get(), "CloseWorkerSession", EncodeMessage(request),
                 SteadyNow() + kClosePatience, [](const Status&, PayloadReader*) {});
  }
  // A task that does not answer has lost the session already, or notices by itself.
  const auto take = [](size_t i, PayloadReader* response) { return absl::OkStatus(); };
  RequestAll("CloseWorkerSession", std::move(requests), SteadyNow() + kClosePatience, take)
      .IgnoreError();
}

}  // namespace millstream
