#include "distributed_runtime/master.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "distributed_runtime/device_coding.h"
#include "distributed_runtime/thread_cache.h"

namespace millstream {
namespace {

// How long a request for a session waits for tasks. Clients repeat it.
constexpr absl::Duration kBeginPatience = absl::Seconds(2);

}  // namespace

StatusOr<std::shared_ptr<MasterSession>> Master::CreateSession(const std::string& config,
                                                               absl::Time deadline) {
  MS_ASSIGN_OR_RETURN(std::shared_ptr<MasterSession> session,
                      MasterSession::Create(worker_, config, deadline));
  sessions_.Add(session->handle(), session);
  return session;
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
  return RequestAll("ResetWorker", std::move(requests), absl::Now() + absl::Seconds(10), take);
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
  };
  static constexpr Method kMethods[] = {
      {"RunStep", &Master::OnRunStep},
      {"CancelRun", &Master::OnCancelRun},
      {"PrepareStep", &Master::OnPrepareStep},
      {"ExplainStep", &Master::OnExplainStep},
      {"CreateSession", &Master::OnCreateSession},
      {"CloseSession", &Master::OnCloseSession},
      {"Reset", &Master::OnReset},
  };
  for (const Method& one : kMethods) {
    if (method != one.name) continue;
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
  const Status status = DecodeMessage(request, &message);
  if (!status.ok()) return reply.Give(status);
  const auto session = CreateSession(message.config(), absl::Now() + kBeginPatience);
  if (!session.ok()) return reply.Give(session.status());
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
    const std::pair<uint64_t, uint64_t> key(message.session(), message.run());
    std::shared_ptr<Cancellation> cancellation;
    {
      absl::MutexLock lock(&mutex_);
      std::shared_ptr<Cancellation>& kept = runs_[key];
      if (kept == nullptr) kept = std::make_shared<Cancellation>();
      cancellation = kept;
    }
    RunOptions options;
    options.timeout_ms = message.timeout_ms();
    options.cancellation = cancellation.get();
    const Status status = session->Run(step, feeds, absl::MakeSpan(fetches), options);
    {
      absl::MutexLock lock(&mutex_);
      runs_.erase(key);
    }
    MS_RETURN_IF_ERROR(status);
    proto::RunStepResponse response;
    TensorWriter writer;
    for (const Tensor& fetch : fetches) {
      MS_RETURN_IF_ERROR(writer.Add(fetch, response.add_fetches()));
    }
    return writer.Finish(response);
  };
  StatusOr<Payload> response = run();
  if (!response.ok()) return reply.Give(response.status());
  reply.Give(*std::move(response));
}

void Master::OnCancelRun(PayloadReader* request, const Reply& reply) {
  proto::CancelRunRequest message;
  const Status status = DecodeMessage(request, &message);
  if (!status.ok()) return reply.Give(status);
  std::shared_ptr<Cancellation> cancellation;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = runs_.find({message.session(), message.run()});
    if (found != runs_.end()) cancellation = found->second;
  }
  if (cancellation != nullptr) cancellation->Cancel();
  reply.Give(absl::OkStatus());
}

void Master::OnExplainStep(PayloadReader* request, const Reply& reply) {
  const auto explain = [&]() -> StatusOr<std::string> {
    proto::SessionRequest message;
    MS_RETURN_IF_ERROR(DecodeMessage(request, &message));
    MS_ASSIGN_OR_RETURN(const std::shared_ptr<MasterSession> session, Find(message.session()));
    MS_ASSIGN_OR_RETURN(const std::shared_ptr<const MasterStep> step,
                        session->Find(message.step()));
    return step->here->placement_text();
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

}  // namespace millstream
