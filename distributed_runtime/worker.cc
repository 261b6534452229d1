#include "distributed_runtime/worker.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/c_api/session_options.h"
#include "core/device/device_memory.h"
#include "core/partition/rendezvous_name.h"
#include "core/resources/gradient_accumulator.h"
#include "distributed_runtime/clock_offset.h"
#include "distributed_runtime/device_coding.h"
#include "distributed_runtime/graph_coding.h"
#include "distributed_runtime/handler_thread.h"
#include "distributed_runtime/thread_cache.h"
#include "framework/message.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/steady_time.h"
#include "millstream/framework/protos/config.pb.h"

namespace millstream {
namespace {

// In heartbeats: how long a session outlasts its master.
constexpr int kPatience = 30;
// In heartbeats: how long its steps do. So long a master waits for a task.
constexpr int kStepPatience = 4;
// The same for a master whose connection has ended, and could not be made again.
constexpr int kLostPatience = 1;
// How long a new session waits for steps that its master ran before it was started again. They end
// when their threads next look, unless a kernel does not end.
constexpr absl::Duration kEarlierPatience = absl::Milliseconds(500);

// Adds the counts of all accumulators. `session` has the resources alone; 0: sessions share them.
void AddAccumulators(const ResourceManager& resources, uint64_t session,
                     proto::TaskStatusRecord* status) {
  for (const PlacedResource& placed : resources.AllOf(GradientAccumulator::kType)) {
    const auto* const accumulator = ResourceAs<GradientAccumulator>(placed.resource.get());
    const GradientCounts counts = accumulator->counts();
    proto::AccumulatorRecord* const record = status->add_accumulators();
    record->set_container(placed.container);
    record->set_name(placed.name);
    record->set_session(session);
    record->set_applied(counts.applied);
    record->set_dropped(counts.dropped);
  }
}

// Sets the options of a session in this task: what the session says, and else what the server was
// told.
Status SetOptions(const std::string& session, const std::string& server,
                  WorkerSessionArguments* arguments, bool* is_isolated) {
  MS_ASSIGN_OR_RETURN(const SessionOptions defaults, c_api::MakeSessionOptions(server));
  MS_ASSIGN_OR_RETURN(SessionOptions options, c_api::MakeSessionOptions(session));
  if (defaults.intra_op_threads > 0) options.intra_op_threads = defaults.intra_op_threads;
  if (defaults.inter_op_threads > 0) options.inter_op_threads = defaults.inter_op_threads;
  for (const auto& [type, count] : defaults.device_count) {
    options.device_count.try_emplace(type, count);
  }
  MS_ASSIGN_OR_RETURN(const MessagePtr message, ParseBinary("ConfigProto", session));
  const auto& fields = static_cast<const proto::ConfigProto&>(*message);
  *is_isolated = fields.isolate_session_state();
  arguments->shortens_floats = fields.graph_options().enable_bfloat16_sendrecv();
  arguments->options = std::move(options);
  return absl::OkStatus();
}

// Variables on a device that is lost have no value any more. A session that has begun since may
// have assigned another one.
void DropLost(const ResourceManager& resources) {
  for (const ResourceRef<Variable>& variable : resources.Variables()) {
    const StatusOr<Tensor> value = variable->Read();
    if (!value.ok() || !value->is_on_device()) continue;
    if (!MemoryOf(*value)->LostError().ok()) variable->DropIf(*value);
  }
}

// Variables may be on the devices, which live as long.
std::shared_ptr<ResourceManager> MakeResources(std::shared_ptr<SharedDevices> devices) {
  const auto destroy = [devices = std::move(devices)](ResourceManager* resources) {
    delete resources;
  };
  return std::shared_ptr<ResourceManager>(new ResourceManager, destroy);
}

// The response to RecvTensor. `shortens`: see TensorWriter::AddSent.
StatusOr<Payload> EncodeAnswer(const OutgoingTensors::Answer& answer, bool shortens) {
  proto::RecvTensorResponse response;
  TensorWriter writer;
  response.set_dead(answer.parcel.dead);
  response.set_came_before(answer.came_before);
  MS_RETURN_IF_ERROR(writer.AddSent(answer.parcel.tensor, shortens, response.mutable_tensor()));
  for (const OutgoingTensors::Named& one : answer.more) {
    proto::FurtherTensor* const further = response.add_more();
    further->set_key(one.key);
    further->set_dead(one.parcel.dead);
    MS_RETURN_IF_ERROR(writer.AddSent(one.parcel.tensor, shortens, further->mutable_tensor()));
  }
  return writer.Finish(response);
}

// A step that another task asked for, until it has ended.
struct RemoteRun {
  std::shared_ptr<WorkerSession> session;
  TaskGraph graph;
  std::shared_ptr<WorkerStep> step;
  std::vector<Tensor> feeds;
  std::vector<Tensor> fetches;
  RunOptions options;
  std::unique_ptr<StepReport> report;  // null: nothing was asked
};

void RunPart(std::shared_ptr<RemoteRun> run) {
  const std::shared_ptr<WorkerStep> step = run->step;
  const Status ran = run->session->Run(run->graph.executable.get(), step.get(), run->feeds,
                                       absl::MakeSpan(run->fetches), run->options);
  const std::vector<Tensor> fetches = std::move(run->fetches);
  if (run->report != nullptr) step->replies()->SetReport(*run->report);
  // Who has the answer may close the session, after which nothing may hold its variables.
  run.reset();
  step->replies()->End(ran, fetches);
}

}  // namespace

Worker::Worker(std::string task, std::string config, std::shared_ptr<Peers> peers)
    : task_(std::move(task)),
      config_(std::move(config)),
      peers_(std::move(peers)),
      devices_(std::make_shared<SharedDevices>(task_)),
      resources_(MakeResources(devices_)),
      begin_(SteadyNow()),
      counters_(std::make_shared<StepCounters>()),
      collectives_(MakeResource<ClusterCollectives>(task_, peers_)),
      leases_(kPatience),
      master_watch_(std::make_shared<MasterWatch>(task_, peers_)) {
  resources_->KeepFirst("", Collectives::kName, collectives_);
}

Worker::~Worker() {
  master_watch_->Stop();
  collectives_->Stop();
  devices_->Close();
}

StatusOr<std::shared_ptr<WorkerSession>> Worker::CreateSession(uint64_t handle,
                                                               const std::string& config,
                                                               const std::string& master) {
  WorkerSessionArguments arguments;
  bool is_isolated = false;
  MS_RETURN_IF_ERROR(SetOptions(config, config_, &arguments, &is_isolated));
  arguments.counters = counters_;
  arguments.handle = handle;
  arguments.task = task_;
  arguments.master = master;
  arguments.peers = peers_;
  arguments.devices = devices_;
  arguments.resources = resources_;
  if (is_isolated) {
    arguments.resources = MakeResources(devices_);
    arguments.resources->KeepFirst("", Collectives::kName,
                                   MakeResource<IsolatedCollectives>(collectives_, handle));
  }
  MS_ASSIGN_OR_RETURN(std::shared_ptr<WorkerSession> session,
                      WorkerSession::Create(std::move(arguments)));
  // Now that the session has those that it uses again.
  if (devices_->HasLost()) DropLost(*resources_);
  if (!sessions_.Add(handle, session)) {
    return errors::AlreadyExists("the session ", handle, " exists in ", task_);
  }
  return session;
}

StatusOr<std::shared_ptr<WorkerSession>> Worker::Find(uint64_t handle) {
  std::shared_ptr<WorkerSession> session = sessions_.Find(handle);
  if (session != nullptr) return session;
  return absl::AbortedError(absl::StrCat("Session handle is not found: the task ", task_,
                                         " does not know the session. It was closed, "
                                         "or the task was started again"));
}

void Worker::Stop() {
  is_stopping_ = true;
  CloseAll();
  sessions_.AwaitClosed();
  master_watch_->Stop();
  collectives_->Close(kFarewell);
}

void Worker::EndAbandoned() {
  devices_->LetGo();
  for (const Leases::Ended& ended : leases_.Beat()) {
    NoteEnding(sessions_.Find(ended.session));
    if (!sessions_.CloseApart(ended.session, shared_from_this())) continue;
    HostLog(MS_LOG_WARNING, absl::StrCat("the task ", task_, " has ended a session of the master ",
                                         ended.holder, ", which is gone"));
  }
  StopSteps(leases_.Silent(kStepPatience), "does not answer");
  for (const LeaseHolder& lost : master_watch_->Lost()) {
    StopSteps(leases_.SessionsOf(lost, kLostPatience), "is lost: the connection to it has ended");
  }
}

void Worker::LoseMaster(const LeaseHolder& master, const Status& error) {
  StopSteps(leases_.SessionsOf(master),
            absl::StrCat("is lost: the connection to it has ended (", error.message(), ")"));
}

void Worker::EndMaster(const LeaseHolder& master) {
  StopSteps(leases_.SessionsOf(master), "was started again");
  leases_.End(master);
}

void Worker::StopSteps(const std::vector<uint64_t>& sessions, absl::string_view cause) {
  for (const uint64_t handle : sessions) {
    const std::shared_ptr<WorkerSession> session = sessions_.Find(handle);
    if (session == nullptr) continue;
    session->StopSteps(
        absl::UnavailableError(absl::StrCat("the master ", session->master(), " ", cause)));
  }
}

bool Worker::WatchesMasterOf(uint64_t session) const {
  for (const LeaseHolder& master : leases_.Holders()) {
    const std::vector<uint64_t> sessions = leases_.SessionsOf(master);
    if (absl::c_linear_search(sessions, session)) return master_watch_->IsWatched(master);
  }
  return false;
}

void Worker::AbandonEarlier(const std::string& master) {
  const std::vector<std::shared_ptr<WorkerSession>> sessions = EarlierSessions(master);
  for (const std::shared_ptr<WorkerSession>& session : sessions) {
    session->Abandon(
        absl::UnavailableError(absl::StrCat("the master ", master, " was started again")));
  }
  const absl::Time end = SteadyNow() + kEarlierPatience;
  for (const std::shared_ptr<WorkerSession>& session : sessions) session->AwaitSteps(end);
}

std::vector<std::shared_ptr<WorkerSession>> Worker::EarlierSessions(const std::string& master) {
  std::vector<std::shared_ptr<WorkerSession>> sessions;
  for (const uint64_t earlier : leases_.Over(master)) {
    std::shared_ptr<WorkerSession> session = sessions_.Find(earlier);
    if (session != nullptr) sessions.push_back(std::move(session));
  }
  std::vector<std::shared_ptr<WorkerSession>> ending;  // perhaps destroyed here, without the lock
  {
    absl::MutexLock lock(&mutex_);
    for (const std::weak_ptr<WorkerSession>& one : ending_) ending.push_back(one.lock());
  }
  for (std::shared_ptr<WorkerSession>& session : ending) {
    if (session == nullptr || session->master() != master) continue;
    sessions.push_back(std::move(session));
  }
  return sessions;
}

void Worker::NoteEnding(const std::shared_ptr<WorkerSession>& session) {
  absl::MutexLock lock(&mutex_);
  const auto has_ended = [](const std::weak_ptr<WorkerSession>& one) { return one.expired(); };
  ending_.erase(std::remove_if(ending_.begin(), ending_.end(), has_ended), ending_.end());
  ending_.push_back(session);
}

bool Worker::Handle(absl::string_view method, PayloadReader request, Reply reply) {
  if (collectives_->Handle(method, &request, reply)) return true;
  if (is_stopping_) {
    reply.Give(absl::UnavailableError(absl::StrCat("the task ", task_, " has stopped")));
    return true;
  }
  using Handler = void (Worker::*)(PayloadReader*, const Reply&);
  struct Method {
    const char* name;
    Handler handler;
    bool blocks;
  };
  static constexpr Method kMethods[] = {
      {"RecvTensor", &Worker::OnRecvTensor, false},
      {"RunGraph", &Worker::OnRunGraph, false},
      {"ContinueStep", &Worker::OnContinueStep, false},
      {"AbortStep", &Worker::OnAbortStep, false},
      {"ReadClock", &Worker::OnReadClock, false},
      {"Heartbeat", &Worker::OnHeartbeat, false},
      {"RegisterGraph", &Worker::OnRegisterGraph, true},
      {"ReleaseGraph", &Worker::OnReleaseGraph, true},
      {"CreateWorkerSession", &Worker::OnCreateSession, true},
      {"CloseWorkerSession", &Worker::OnCloseSession, true},
      {"ResetWorker", &Worker::OnReset, true},
  };
  for (const Method& one : kMethods) {
    if (method != one.name) continue;
    if (!one.blocks) {
      (this->*one.handler)(&request, reply);
      return true;
    }
    auto kept = std::make_shared<PayloadReader>(std::move(request));
    ThreadCache::Global()->Run([self = shared_from_this(), kept, reply, handler = one.handler] {
      (self.get()->*handler)(kept.get(), reply);
    });
    return true;
  }
  return false;
}

void Worker::OnCreateSession(PayloadReader* request, const Reply& reply) {
  proto::CreateWorkerSessionRequest message;
  Status status = DecodeMessage(request, &message);
  if (status.ok()) {
    const std::string master = absl::StrCat("the master ", message.master());
    status = CheckMessageVersion(message.version(), task_, master);
  }
  if (status.ok() && message.task() != task_) {
    status = absl::UnavailableError(absl::StrCat(
        "the task ", task_, ", perhaps of another cluster, is at the address of ", message.task()));
  }
  if (!status.ok()) return reply.Give(status);
  const StatusOr<std::shared_ptr<WorkerSession>> session =
      CreateSession(message.session(), message.config(), message.master());
  if (!session.ok()) return reply.Give(session.status());
  leases_.Add(message.session(), message.master(), message.incarnation());
  master_watch_->Watch({message.master(), message.incarnation()}, weak_from_this());
  // Before the answer: what the old steps wait for, such as an element of a queue, may come for the
  // new session.
  AbandonEarlier(message.master());
  proto::CreateWorkerSessionResponse response;
  EncodeDevices((*session)->devices(), response.mutable_devices());
  for (std::string& type : KernelRegistry::Global()->DeviceTypes()) {
    response.add_kernel_types(std::move(type));
  }
  reply.Give(EncodeMessage(response));
}

void Worker::OnRegisterGraph(PayloadReader* request, const Reply& reply) {
  const auto add = [&]() -> StatusOr<uint64_t> {
    proto::RegisterGraphRequest message;
    MS_RETURN_IF_ERROR(DecodeMessage(request, &message));
    MS_ASSIGN_OR_RETURN(const std::shared_ptr<WorkerSession> session, Find(message.session()));
    if (message.devices_size() > 0) {
      MS_ASSIGN_OR_RETURN(const DeviceSet devices, DecodeDevices(message.devices()));
      MS_RETURN_IF_ERROR(session->SetCluster(devices));
    }
    MS_RETURN_IF_ERROR(session->Extend(message.chunk()));
    const std::vector<int> placement(message.placement().begin(), message.placement().end());
    StatusOr<uint64_t> registered =
        session->Register(message.graph(), message.signature(), placement);
    if (!registered.ok()) return WithGraphTaken(registered.status());
    return registered;
  };
  const StatusOr<uint64_t> fingerprint = add();
  if (!fingerprint.ok()) return reply.Give(fingerprint.status());
  proto::RegisterGraphResponse response;
  response.set_fingerprint(*fingerprint);
  reply.Give(EncodeMessage(response));
}

void Worker::OnReleaseGraph(PayloadReader* request, const Reply& reply) {
  proto::ReleaseGraphRequest message;
  const Status status = DecodeMessage(request, &message);
  if (!status.ok()) return reply.Give(status);
  const StatusOr<std::shared_ptr<WorkerSession>> session = Find(message.session());
  if (session.ok()) (*session)->Unregister(message.graph());
  reply.Give(session.status());
}

// Counts a request of another task and the response to it.
Reply Worker::Counted(const Reply& reply, absl::string_view peer, size_t request_size) {
  const std::shared_ptr<Traffic> traffic = peers_->TrafficWith(peer);
  traffic->AddReceived(request_size);
  return reply.Counted(traffic);
}

void Worker::OnRunGraph(PayloadReader* request, const Reply& reply) {
  const size_t size = request->left();
  auto run = std::make_shared<RemoteRun>();
  const auto read = [&]() -> Status {
    proto::RunGraphRequest message;
    MS_RETURN_IF_ERROR(DecodeMessage(request, &message));
    MS_ASSIGN_OR_RETURN(run->session, Find(message.session()));
    leases_.Hear(message.session());
    run->session->BeginStep(message.step(), std::vector<uint64_t>(message.running_steps().begin(),
                                                                  message.running_steps().end()));
    MS_ASSIGN_OR_RETURN(run->graph, run->session->Find(message.graph()));
    MS_ASSIGN_OR_RETURN(run->step, run->session->Step(message.step()));
    // AbortStep may have come before.
    MS_RETURN_IF_ERROR(run->step->aborted());
    run->options.timeout_ms = message.timeout_ms();
    if (message.want_trace() || message.want_partition_graphs()) {
      run->report = std::make_unique<StepReport>();
      run->report->want_trace = message.want_trace();
      run->report->want_partition_graphs = message.want_partition_graphs();
      run->options.report = run->report.get();
    }
    for (const proto::TensorHeader& header : message.feeds()) {
      MS_ASSIGN_OR_RETURN(Tensor feed, DecodeTensor(header, request));
      run->feeds.push_back(std::move(feed));
    }
    MS_ASSIGN_OR_RETURN(std::vector<CarriedParcel> carried,
                        DecodeCarried(message.carried(), request));
    MS_RETURN_IF_ERROR(run->step->Deliver(std::move(carried)));
    run->fetches.resize(run->graph.executable->builder().signature().fetches.size());
    return absl::OkStatus();
  };
  const Status status = read();
  if (!status.ok()) {
    if (run->step != nullptr) run->step->Stop(status);
    return reply.Give(WithTask(status, task_));
  }
  StepReplies* const replies = run->step->replies();
  replies->Add(0, Counted(reply, run->session->master(), size));
  replies->Begin(run->graph.exchange, run->session->shortens_floats());
  run->step->SetCarrier(replies);
  if (run->graph.exchange->is_short || HandlerThread::Keep()) return RunPart(std::move(run));
  ThreadCache::Global()->Run([run = std::move(run)]() mutable { RunPart(std::move(run)); });
}

void Worker::OnContinueStep(PayloadReader* request, const Reply& reply) {
  const size_t size = request->left();
  proto::ContinueStepRequest message;
  Status status = DecodeMessage(request, &message);
  if (!status.ok()) return reply.Give(status);
  const StatusOr<std::shared_ptr<WorkerSession>> session = Find(message.session());
  if (!session.ok()) return reply.Give(WithTask(session.status(), task_));
  StatusOr<std::vector<CarriedParcel>> carried = DecodeCarried(message.carried(), request);
  if (!carried.ok()) return reply.Give(WithTask(carried.status(), task_));
  const StatusOr<std::shared_ptr<WorkerStep>> step = (*session)->Step(message.step());
  if (!step.ok()) return reply.Give(WithTask(step.status(), task_));
  (*step)->replies()->Add(message.round(), Counted(reply, (*session)->master(), size));
  status = (*step)->Deliver(*std::move(carried));
  if (!status.ok()) (*step)->Stop(status);
}

void Worker::OnRecvTensor(PayloadReader* request, const Reply& reply) {
  const size_t size = request->left();
  proto::RecvTensorRequest message;
  Status status = DecodeMessage(request, &message);
  if (!status.ok()) return reply.Give(status);
  const StatusOr<std::shared_ptr<WorkerSession>> session = Find(message.session());
  if (!session.ok()) return reply.Give(session.status());
  // The step lives as long as somebody waits for its tensors.
  StatusOr<std::shared_ptr<WorkerStep>> found = (*session)->Step(message.step());
  if (!found.ok()) return reply.Give(found.status());
  const std::shared_ptr<WorkerStep> step = *std::move(found);
  const StatusOr<RendezvousName> name = RendezvousName::Parse(message.key());
  if (!name.ok()) return reply.Give(name.status());
  const Reply counted = Counted(reply, TaskOf(name->destination), size);
  const bool shortens = (*session)->shortens_floats();
  step->outgoing()->Ask(
      message.key(), message.takes_more(),
      [counted, step, shortens](const Status& status, OutgoingTensors::Answer answer) {
        if (!status.ok()) return counted.Give(status);
        StatusOr<Payload> response = EncodeAnswer(answer, shortens);
        if (!response.ok()) return counted.Give(response.status());
        counted.Give(*std::move(response));
      });
}

void Worker::OnReadClock(PayloadReader* request, const Reply& reply) {
  proto::ReadClockResponse response;
  response.set_nanos(ReadOwnClock());
  reply.Give(EncodeMessage(response));
}

void Worker::AddStatus(proto::TaskStatusRecord* status) {
  status->set_task(task_);
  status->set_up_nanos(absl::ToInt64Nanoseconds(SteadyNow() - begin_));
  status->set_steps(counters_->ended.load(std::memory_order_relaxed));
  status->set_failed_steps(counters_->failed.load(std::memory_order_relaxed));
  status->set_led_steps(led_.ended.load(std::memory_order_relaxed));
  status->set_failed_led_steps(led_.failed.load(std::memory_order_relaxed));
  AddAccumulators(*resources_, 0, status);
  for (const std::shared_ptr<WorkerSession>& session : sessions_.All()) {
    status->set_sessions(status->sessions() + 1);
    session->AddStatus(status);
    const bool is_isolated = &session->resources() != resources_.get();
    if (is_isolated) AddAccumulators(session->resources(), session->handle(), status);
  }
  for (const auto& [peer, traffic] : peers_->AllTraffic()) {
    proto::TrafficRecord* const record = status->add_traffic();
    record->set_peer(peer);
    record->set_sent_bytes(traffic->sent());
    record->set_received_bytes(traffic->received());
  }
}

void Worker::OnAbortStep(PayloadReader* request, const Reply& reply) {
  proto::AbortStepRequest message;
  Status status = DecodeMessage(request, &message);
  if (!status.ok()) return reply.Give(status);
  const StatusOr<std::shared_ptr<WorkerSession>> session = Find(message.session());
  if (!session.ok()) return reply.Give(session.status());
  const Status error = DecodeStatus(message.error());
  const StatusOr<std::shared_ptr<WorkerStep>> step = (*session)->Step(message.step());
  if (!step.ok()) return reply.Give(step.status());
  (*step)->replies()->Add(StepReplies::kAbort, reply);
  (*step)->Stop(error.ok() ? errors::Cancelled("aborted") : error);
}

void Worker::OnCloseSession(PayloadReader* request, const Reply& reply) {
  proto::SessionRequest message;
  const Status status = DecodeMessage(request, &message);
  if (status.ok()) CloseSession(message.session());
  reply.Give(status);
}

void Worker::OnHeartbeat(PayloadReader* request, const Reply& reply) {
  proto::HeartbeatRequest message;
  const Status status = DecodeMessage(request, &message);
  if (!status.ok()) return reply.Give(status);
  const std::vector<uint64_t> sessions(message.sessions().begin(), message.sessions().end());
  proto::HeartbeatResponse response;
  for (const uint64_t unknown : leases_.Renew(message.master(), message.incarnation(), sessions)) {
    response.add_unknown(unknown);
  }
  reply.Give(EncodeMessage(response));
}

void Worker::OnReset(PayloadReader* request, const Reply& reply) {
  proto::ResetRequest message;
  const Status status = DecodeMessage(request, &message);
  if (status.ok()) {
    Reset(std::vector<std::string>(message.containers().begin(), message.containers().end()));
  }
  reply.Give(status);
}

}  // namespace millstream
