#include "distributed_runtime/master.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "distributed_runtime/device_coding.h"
#include "distributed_runtime/handler_thread.h"
#include "distributed_runtime/thread_cache.h"
#include "distributed_runtime/trace_coding.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

// How long a request for a session waits for tasks. Clients repeat it. They wait longer for the
// answer (three seconds, in the front end), so that they learn which task did not answer.
constexpr absl::Duration kBeginPatience = absl::Seconds(2);
// In heartbeats: how long a task that does not answer is not taken for lost.
constexpr int kTaskPatience = 4;
// In heartbeats: how long a session outlasts its client.
constexpr int kClientPatience = 30;
// How long tasks have to say how they are.
constexpr absl::Duration kStatusPatience = absl::Seconds(2);

// How long a new session waits for a task that was there before.
absl::Duration TaskPatience() {
  const char* const text = std::getenv("MILLSTREAM_CLUSTER_PATIENCE");
  double seconds = 0;
  const bool is_given = text != nullptr && absl::SimpleAtod(text, &seconds) && seconds >= 0;
  return absl::Seconds(is_given ? seconds : 5);
}

}  // namespace

Master::Master(std::shared_ptr<Worker> worker)
    : worker_(std::move(worker)),
      incarnation_(static_cast<uint64_t>(absl::ToUnixNanos(absl::Now()))),
      leases_(kClientPatience),
      watch_(worker_->peers()->tasks().size(), TaskPatience()),
      unanswered_(worker_->peers()->tasks().size()),
      is_lost_(worker_->peers()->tasks().size()) {}

StatusOr<std::shared_ptr<MasterSession>> Master::CreateSession(const std::string& config,
                                                               absl::Time deadline) {
  MS_ASSIGN_OR_RETURN(std::shared_ptr<MasterSession> session,
                      MasterSession::Create(worker_, incarnation_, config, deadline, &watch_));
  sessions_.Add(session->handle(), session);
  if (!is_stopping_) return session;
  // Stop may have closed the others before.
  sessions_.Close(session->handle());
  return absl::UnavailableError(absl::StrCat("the task ", worker_->task(), " has stopped"));
}

Status Master::Reset(absl::Span<const std::string> containers) {
  CloseAll();
  worker_->Reset(containers);
  proto::ResetRequest request;
  for (const std::string& container : containers) request.add_containers(container);
  std::vector<TaskRequest> requests;
  for (const ClusterTask& task : worker_->peers()->tasks()) {
    if (task.name == worker_->task()) continue;
    MS_ASSIGN_OR_RETURN(std::shared_ptr<Channel> channel, worker_->peers()->ChannelTo(task.name));
    requests.push_back({task.name, std::move(channel), EncodeMessage(request)});
  }
  const auto take = [](size_t i, PayloadReader* response) { return absl::OkStatus(); };
  return RequestAll("ResetWorker", std::move(requests), SteadyNow() + absl::Seconds(10), take);
}

void Master::Stop() {
  is_stopping_ = true;
  CloseAll();
  sessions_.AwaitClosed();
  std::map<std::string, Reply> watchers;
  {
    absl::MutexLock lock(&mutex_);
    watchers.swap(watchers_);
  }
  for (const auto& [task, watcher] : watchers) watcher.Give(absl::OkStatus());
}

void Master::Beat() {
  const std::vector<std::shared_ptr<MasterSession>> all = sessions_.All();
  for (size_t task = 0; task < worker_->peers()->tasks().size(); ++task) {
    std::vector<std::shared_ptr<MasterSession>> sessions;
    for (const std::shared_ptr<MasterSession>& session : all) {
      if (session->Uses(task)) sessions.push_back(session);
    }
    BeatTo(task, sessions);
  }
}

void Master::BeatTo(size_t task, const std::vector<std::shared_ptr<MasterSession>>& sessions) {
  bool is_silent = false;
  {
    absl::MutexLock lock(&mutex_);
    // Without sessions nobody is asked.
    unanswered_[task] = sessions.empty() ? 0 : unanswered_[task] + 1;
    is_silent = unanswered_[task] > kTaskPatience;
    NoteLoss(task, is_silent);
  }
  if (sessions.empty()) return;
  const StatusOr<std::shared_ptr<Channel>> channel =
      worker_->peers()->ChannelTo(worker_->peers()->tasks()[task].name);
  if (!channel.ok()) return;
  proto::HeartbeatRequest request;
  request.set_master(worker_->task());
  request.set_incarnation(incarnation_);
  for (const std::shared_ptr<MasterSession>& session : sessions) {
    request.add_sessions(session->handle());
    if (is_silent) session->LoseTask(task, absl::UnavailableError("the task does not answer"));
  }
  StartRequest(channel->get(), "Heartbeat", EncodeMessage(request), SteadyNow() + absl::Seconds(10),
               [self = shared_from_this(), task](const Status& status, PayloadReader* response) {
                 self->TakeAnswer(task, status, response);
               });
}

// A task that is silent counts once.
void Master::NoteLoss(size_t task, bool is_lost) {
  if (is_lost && !is_lost_[task]) ++losses_;
  is_lost_[task] = is_lost;
}

void Master::TakeAnswer(size_t task, const Status& status, PayloadReader* response) {
  proto::HeartbeatResponse message;
  if (!status.ok() || !DecodeMessage(response, &message).ok()) return;
  {
    absl::MutexLock lock(&mutex_);
    unanswered_[task] = 0;
    NoteLoss(task, false);
    if (message.unknown_size() > 0) ++losses_;
  }
  for (const uint64_t handle : message.unknown()) {
    const std::shared_ptr<MasterSession> session = sessions_.Find(handle);
    if (session == nullptr) continue;
    session->LoseTask(task, absl::AbortedError("the task does not know the session: it was "
                                               "started again, or took the master for lost"));
  }
}

void Master::EndAbandoned() {
  for (const Leases::Ended& ended : leases_.Beat()) {
    if (!sessions_.CloseApart(ended.session, shared_from_this())) continue;
    HostLog(MS_LOG_WARNING, absl::StrCat("the master ", worker_->task(),
                                         " has closed a session whose client is gone"));
  }
}

StatusOr<std::shared_ptr<MasterSession>> Master::Find(uint64_t handle) {
  std::shared_ptr<MasterSession> session = sessions_.Find(handle);
  if (session != nullptr) return session;
  return absl::AbortedError(absl::StrCat("Session handle is not found: the master ",
                                         worker_->task(),
                                         " has no such session. It was closed, "
                                         "or the task was started again"));
}

bool Master::Handle(absl::string_view method, PayloadReader request, Reply reply) {
  using Handler = void (Master::*)(PayloadReader*, const Reply&);
  struct Method {
    const char* name;
    Handler handler;
    bool is_of_clients = true;
  };
  static constexpr Method kMethods[] = {
      {"RunStep", &Master::OnRunStep},
      {"CancelRun", &Master::OnCancelRun},
      {"PrepareStep", &Master::OnPrepareStep},
      {"ExplainStep", &Master::OnExplainStep},
      {"CreateSession", &Master::OnCreateSession},
      {"CloseSession", &Master::OnCloseSession},
      {"Reset", &Master::OnReset},
      {"KeepSession", &Master::OnKeepSession},
      {"WatchMaster", &Master::OnWatch, false},
      {"GetTaskStatus", &Master::OnGetTaskStatus, false},
      {"GetClusterStatus", &Master::OnGetClusterStatus},
  };
  for (const Method& one : kMethods) {
    if (method != one.name) continue;
    if (one.is_of_clients) {
      const std::shared_ptr<Traffic> traffic = worker_->peers()->TrafficWith(kClients);
      traffic->AddReceived(request.left());
      reply = reply.Counted(traffic);
    }
    if (HandlerThread::Keep()) {
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

void Master::OnCreateSession(PayloadReader* request, const Reply& reply) {
  proto::CreateSessionRequest message;
  Status status = DecodeMessage(request, &message);
  if (status.ok()) {
    status = CheckMessageVersion(message.version(), worker_->task(), "the client");
  }
  if (!status.ok()) return reply.Give(status);
  const auto session = CreateSession(message.config(), SteadyNow() + kBeginPatience);
  if (!session.ok()) return reply.Give(session.status());
  leases_.Add((*session)->handle(), "", 0);
  proto::CreateSessionResponse response;
  response.set_session((*session)->handle());
  EncodeDevices((*session)->devices(), response.mutable_devices());
  reply.Give(EncodeMessage(response));
}

void Master::OnPrepareStep(PayloadReader* request, const Reply& reply) {
  const auto prepare = [&]() -> StatusOr<int64_t> {
    proto::PrepareStepRequest message;
    MS_RETURN_IF_ERROR(DecodeMessage(request, &message));
    MS_ASSIGN_OR_RETURN(const std::shared_ptr<MasterSession> session, Find(message.session()));
    MS_ASSIGN_OR_RETURN(const std::shared_ptr<const MasterStep> step,
                        session->Prepare(message.chunk(), message.signature()));
    return step->number;
  };
  const StatusOr<int64_t> number = prepare();
  if (!number.ok()) return reply.Give(number.status());
  proto::PrepareStepResponse response;
  response.set_step(*number);
  reply.Give(EncodeMessage(response));
}

void Master::OnRunStep(PayloadReader* request, const Reply& reply) {
  const auto run = [&]() -> StatusOr<Payload> {
    proto::RunStepRequest message;
    MS_RETURN_IF_ERROR(DecodeMessage(request, &message));
    MS_ASSIGN_OR_RETURN(const std::shared_ptr<MasterSession> session, Find(message.session()));
    MS_ASSIGN_OR_RETURN(const std::shared_ptr<const MasterStep> step,
                        session->Find(message.step()));
    std::vector<Tensor> feeds;
    for (const proto::TensorHeader& header : message.feeds()) {
      MS_ASSIGN_OR_RETURN(Tensor feed, DecodeTensor(header, request));
      feeds.push_back(std::move(feed));
    }
    std::vector<Tensor> fetches(step->here->builder().signature().fetches.size());
    const std::vector<uint64_t> running(message.running_runs().begin(),
                                        message.running_runs().end());
    MS_ASSIGN_OR_RETURN(const std::shared_ptr<Cancellation> cancellation,
                        session->client_runs()->Begin(message.run(), running));
    RunOptions options;
    options.timeout_ms = message.timeout_ms();
    options.cancellation = cancellation.get();
    StepReport report;
    report.want_trace = message.want_trace();
    report.want_partition_graphs = message.want_partition_graphs();
    if (report.want_trace || report.want_partition_graphs) options.report = &report;
    Status status = session->Run(step, feeds, absl::MakeSpan(fetches), options);
    session->client_runs()->End(message.run());
    // The client did not close it, and begins another one after this error.
    if (absl::IsCancelled(status) && session->IsClosed() && !cancellation->IsCancelled()) {
      status = absl::AbortedError(absl::StrCat("the master ", worker_->task(),
                                               " closed the session while the step ran: the task "
                                               "stops, or took the client for lost"));
    }
    MS_RETURN_IF_ERROR(status);
    proto::RunStepResponse response;
    TensorWriter writer;
    for (const Tensor& fetch : fetches) {
      MS_RETURN_IF_ERROR(writer.Add(fetch, response.add_fetches()));
    }
    if (options.report != nullptr) EncodeReport(report, response.mutable_report());
    return writer.FinishLarge(response);  // a report may have graphs
  };
  StatusOr<Payload> response = run();
  if (!response.ok()) return reply.Give(response.status());
  reply.Give(*std::move(response));
}

void Master::OnCancelRun(PayloadReader* request, const Reply& reply) {
  proto::CancelRunRequest message;
  const Status status = DecodeMessage(request, &message);
  if (!status.ok()) return reply.Give(status);
  const std::shared_ptr<MasterSession> session = sessions_.Find(message.session());
  if (session != nullptr) session->client_runs()->Cancel(message.run());
  reply.Give(absl::OkStatus());
}

void Master::OnExplainStep(PayloadReader* request, const Reply& reply) {
  const auto explain = [&]() -> StatusOr<std::string> {
    proto::SessionRequest message;
    MS_RETURN_IF_ERROR(DecodeMessage(request, &message));
    MS_ASSIGN_OR_RETURN(const std::shared_ptr<MasterSession> session, Find(message.session()));
    MS_ASSIGN_OR_RETURN(const std::shared_ptr<const MasterStep> step,
                        session->Find(message.step()));
    return session->PlacementText(step);
  };
  const StatusOr<std::string> text = explain();
  if (!text.ok()) return reply.Give(text.status());
  proto::ExplainStepResponse response;
  response.set_placement(*text);
  reply.Give(EncodeMessage(response));
}

void Master::OnCloseSession(PayloadReader* request, const Reply& reply) {
  proto::SessionRequest message;
  const Status status = DecodeMessage(request, &message);
  if (status.ok()) CloseSession(message.session());
  reply.Give(status);
}

void Master::OnReset(PayloadReader* request, const Reply& reply) {
  proto::ResetRequest message;
  const Status status = DecodeMessage(request, &message);
  if (!status.ok()) return reply.Give(status);
  reply.Give(
      Reset(std::vector<std::string>(message.containers().begin(), message.containers().end())));
}

void Master::OnKeepSession(PayloadReader* request, const Reply& reply) {
  proto::SessionRequest message;
  const Status status = DecodeMessage(request, &message);
  if (status.ok()) leases_.Renew("", 0, {message.session()});
  reply.Give(status);
}

// One answer is kept for each task: the one before it is of a watch that is over.
void Master::OnWatch(PayloadReader* request, const Reply& reply) {
  proto::WatchMasterRequest message;
  Status status = DecodeMessage(request, &message);
  const std::vector<ClusterTask>& tasks = worker_->peers()->tasks();
  const bool is_known = std::any_of(tasks.begin(), tasks.end(), [&](const ClusterTask& task) {
    return task.name == message.task();
  });
  if (status.ok() && !is_known) {
    status = errors::InvalidArgument("the cluster of ", worker_->task(), " has no task ",
                                     message.task());
  }
  if (status.ok() && message.incarnation() != incarnation_) {
    status = absl::AbortedError(absl::StrCat("the master ", worker_->task(), " was started again"));
  }
  if (!status.ok() || !message.is_held()) return reply.Give(status);
  std::vector<Reply> over;
  {
    absl::MutexLock lock(&mutex_);
    const auto before = watchers_.find(message.task());
    if (before != watchers_.end()) {
      over.push_back(before->second);
      watchers_.erase(before);
    }
    if (is_stopping_) {
      over.push_back(reply);
    } else {
      watchers_.emplace(message.task(), reply);
    }
  }
  for (const Reply& one : over) one.Give(absl::OkStatus());
}

void Master::AddStatus(proto::TaskStatusRecord* status) {
  worker_->AddStatus(status);
  status->set_incarnation(incarnation_);
  for (const std::shared_ptr<MasterSession>& session : sessions_.All()) session->AddStatus(status);
  absl::MutexLock lock(&mutex_);
  status->set_losses(losses_);
  for (size_t task = 0; task < is_lost_.size(); ++task) {
    if (is_lost_[task]) status->add_lost(worker_->peers()->tasks()[task].name);
  }
}

void Master::AskAll(absl::Time deadline, proto::ClusterStatusRecord* status) {
  status->set_asked(worker_->task());
  std::vector<TaskRequest> requests;
  std::vector<proto::ClusterTaskRecord*> asked;  // by request
  for (const ClusterTask& task : worker_->peers()->tasks()) {
    proto::ClusterTaskRecord* const record = status->add_tasks();
    record->set_task(task.name);
    record->set_address(task.address);
    if (task.name == worker_->task()) {
      AddStatus(record->mutable_status());
      continue;
    }
    StatusOr<std::shared_ptr<Channel>> channel = worker_->peers()->ChannelTo(task.name);
    if (!channel.ok()) {
      EncodeStatus(channel.status(), record->mutable_error());
      continue;
    }
    requests.push_back({task.name, *std::move(channel), EncodeMessage(proto::NothingResponse())});
    asked.push_back(record);
  }
  const auto take = [&asked](size_t i, const Status& answered, PayloadReader* response) {
    Status read = answered;
    if (read.ok()) read = DecodeMessage(response, asked[i]->mutable_status());
    if (read.ok()) return;
    asked[i]->clear_status();
    EncodeStatus(read, asked[i]->mutable_error());
  };
  AskEach("GetTaskStatus", std::move(requests), deadline, take);
}

void Master::OnGetTaskStatus(PayloadReader* request, const Reply& reply) {
  proto::TaskStatusRecord status;
  AddStatus(&status);
  reply.Give(EncodeMessage(status));
}

void Master::OnGetClusterStatus(PayloadReader* request, const Reply& reply) {
  proto::ClusterStatusRecord status;
  AskAll(SteadyNow() + kStatusPatience, &status);
  reply.Give(EncodeMessage(status));
}

}  // namespace millstream
