#include "distributed_runtime/master_client.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "core/step/cancel_listeners.h"
#include "distributed_runtime/address.h"
#include "distributed_runtime/device_coding.h"
#include "distributed_runtime/peers.h"
#include "distributed_runtime/pulse.h"
#include "distributed_runtime/rpc.h"
#include "distributed_runtime/run_numbers.h"
#include "distributed_runtime/server.h"
#include "distributed_runtime/trace_coding.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

constexpr absl::Duration kAskingPeriod = absl::Milliseconds(20);
// In heartbeats: how long a master that does not answer is not taken for lost.
constexpr int kMasterPatience = 4;

// ---- A master in this process ----

class LocalStep final : public ClientStep {
 public:
  LocalStep(std::shared_ptr<MasterSession> session, std::shared_ptr<const MasterStep> step)
      : session_(std::move(session)), step_(std::move(step)) {}
  Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
             const RunOptions& options) override {
    return session_->Run(step_, feeds, fetches, options);
  }
  std::string placement_text() override { return session_->PlacementText(step_); }

 private:
  const std::shared_ptr<MasterSession> session_;
  const std::shared_ptr<const MasterStep> step_;
};

class LocalClient final : public MasterClient {
 public:
  LocalClient(std::shared_ptr<Master> master, std::shared_ptr<MasterSession> session)
      : master_(std::move(master)), session_(std::move(session)) {}
  const DeviceSet& devices() const override { return session_->devices(); }
  StatusOr<std::unique_ptr<ClientStep>> Prepare(const proto::GraphChunk& chunk,
                                                const proto::SignatureRecord& signature) override {
    MS_ASSIGN_OR_RETURN(std::shared_ptr<const MasterStep> step,
                        session_->Prepare(chunk, signature));
    return std::make_unique<LocalStep>(session_, std::move(step));
  }
  void Close() override { master_->CloseSession(session_->handle()); }

 private:
  const std::shared_ptr<Master> master_;
  const std::shared_ptr<MasterSession> session_;
};

// ---- A master in another process ----

Status IsSilent(absl::string_view target) {
  return absl::UnavailableError(absl::StrCat("the master at ", target, " does not answer"));
}

// The heartbeats of a session's client. They show the master that the client is there, and the
// client that the master is. Thread-safe.
class ClientHeart {
 public:
  ClientHeart(std::shared_ptr<Channel> channel, std::string target, uint64_t session)
      : pulse_(kHeartbeatPeriod,
               [beats = beats_, channel = std::move(channel), target = std::move(target), session] {
                 beats->unanswered.fetch_add(1);
                 if (beats->IsAlone()) beats->waits.Lose(target, IsSilent(target));
                 proto::SessionRequest request;
                 request.set_session(session);
                 StartRequest(channel.get(), "KeepSession", EncodeMessage(request),
                              SteadyNow() + absl::Seconds(10),
                              [beats](const Status& status, PayloadReader*) {
                                if (status.ok()) beats->unanswered.store(0);
                              });
               }) {}
  // True if the master has not answered for some seconds.
  bool IsAlone() const { return beats_->IsAlone(); }
  // Requests to the master, by its target, end with an error when it has not.
  RequestWaits* waits() const { return &beats_->waits; }

 private:
  struct Beats {
    bool IsAlone() const { return unanswered.load() > kMasterPatience; }
    std::atomic<int> unanswered{0};
    RequestWaits waits;
  };
  const std::shared_ptr<Beats> beats_ = std::make_shared<Beats>();
  const Pulse pulse_;
};

// A run whose response may come after the caller has given up.
class RemoteRun {
 public:
  void Take(const Status& status, PayloadReader* response) ABSL_LOCKS_EXCLUDED(mutex_) {
    proto::RunStepResponse message;
    Status read = status.ok() ? DecodeMessage(response, &message) : status;
    std::vector<Tensor> fetches;
    for (const proto::TensorHeader& header : message.fetches()) {
      StatusOr<Tensor> fetch = DecodeTensor(header, response);
      if (!fetch.ok()) read = fetch.status();
      fetches.push_back(fetch.ok() ? *std::move(fetch) : Tensor());
    }
    absl::MutexLock lock(&mutex_);
    status_ = read;
    fetches_ = std::move(fetches);
    report_.Swap(message.mutable_report());
    is_done_ = true;
    done_.SignalAll();
  }
  bool Await(absl::Time until) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto is_done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_done_; };
    return done_.Await(&mutex_, until, is_done);
  }
  bool IsOver() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return is_done_;
  }
  // `report` may be null.
  Status Give(absl::Span<Tensor> fetches, StepReport* report) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    MS_RETURN_IF_ERROR(status_);
    if (fetches_.size() != fetches.size()) {
      return errors::Internal("expected ", fetches.size(), " fetches, got ", fetches_.size());
    }
    std::move(fetches_.begin(), fetches_.end(), fetches.begin());
    return report == nullptr ? absl::OkStatus() : AddReport(report_, 0, report);
  }

 private:
  absl::Mutex mutex_;
  SteadyCondVar done_;
  Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<Tensor> fetches_ ABSL_GUARDED_BY(mutex_);
  proto::StepReportRecord report_ ABSL_GUARDED_BY(mutex_);  // times of the master's clock
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;
};

class RemoteStep final : public ClientStep {
 public:
  RemoteStep(std::shared_ptr<Channel> channel, std::shared_ptr<const ClientHeart> heart,
             std::shared_ptr<RunNumbers> numbers, std::string target, uint64_t session,
             int64_t step)
      : channel_(std::move(channel)),
        heart_(std::move(heart)),
        numbers_(std::move(numbers)),
        target_(std::move(target)),
        session_(session),
        step_(step) {}

  Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
             const RunOptions& options) override {
    const NumberedRun run = numbers_->Begin();
    const Status status = RunNumbered(run, feeds, fetches, options);
    numbers_->End(run.number);
    return status;
  }

  std::string placement_text() override {
    proto::SessionRequest request;
    request.set_session(session_);
    request.set_step(step_);
    proto::ExplainStepResponse response;
    const Status status = RequestMessage(channel_.get(), "ExplainStep", request,
                                         SteadyNow() + absl::Minutes(1), &response);
    return status.ok() ? response.placement() : absl::StrCat(status.message(), "\n");
  }

 private:
  Status RunNumbered(const NumberedRun& numbered, absl::Span<const Tensor> feeds,
                     absl::Span<Tensor> fetches, const RunOptions& options) {
    proto::RunStepRequest request;
    request.set_session(session_);
    request.set_step(step_);
    request.set_run(numbered.number);
    request.mutable_running_runs()->Add(numbered.running.begin(), numbered.running.end());
    request.set_timeout_ms(options.timeout_ms);
    if (options.report != nullptr) {
      request.set_want_trace(options.report->want_trace);
      request.set_want_partition_graphs(options.report->want_partition_graphs);
    }
    TensorWriter writer;
    for (const Tensor& feed : feeds) MS_RETURN_IF_ERROR(writer.Add(feed, request.add_feeds()));
    const auto run = std::make_shared<RemoteRun>();
    const auto call = StartRequest(
        channel_.get(), "RunStep", writer.Finish(request), absl::InfiniteFuture(),
        [run](const Status& status, PayloadReader* response) { run->Take(status, response); });
    channel_->Help([&run] { return run->IsOver(); });
    bool is_cancelled = false;
    while (!run->Await(SteadyNow() + kAskingPeriod)) {
      if (heart_->IsAlone()) {
        call->Cancel();
        return IsSilent(target_);
      }
      if (is_cancelled || !MustStop(options)) continue;
      is_cancelled = true;
      Cancel(request.run());
      // The master ends the run, and says why it ended; a master that hangs does not answer.
      if (!run->Await(SteadyNow() + absl::Seconds(2))) call->Cancel();
    }
    return run->Give(fetches, options.report);
  }

  static bool MustStop(const RunOptions& options) {
    if (options.cancellation != nullptr && options.cancellation->IsCancelled()) return true;
    if (options.closing != nullptr && options.closing->IsCancelled()) return true;
    return options.should_stop != nullptr && options.should_stop(options.should_stop_argument);
  }
  void Cancel(uint64_t run) {
    proto::CancelRunRequest request;
    request.set_session(session_);
    request.set_run(run);
    StartRequest(channel_.get(), "CancelRun", EncodeMessage(request),
                 SteadyNow() + absl::Seconds(10), [](const Status&, PayloadReader*) {});
  }

  const std::shared_ptr<Channel> channel_;
  const std::shared_ptr<const ClientHeart> heart_;
  const std::shared_ptr<RunNumbers> numbers_;  // of the session
  const std::string target_;                   // of the master
  const uint64_t session_;
  const int64_t step_;
};

class RemoteClient final : public MasterClient {
 public:
  RemoteClient(std::shared_ptr<Channel> channel, std::string target, uint64_t session,
               DeviceSet devices)
      : channel_(std::move(channel)),
        heart_(std::make_shared<const ClientHeart>(channel_, target, session)),
        target_(std::move(target)),
        session_(session),
        devices_(std::move(devices)) {}
  const DeviceSet& devices() const override { return devices_; }

  StatusOr<std::unique_ptr<ClientStep>> Prepare(const proto::GraphChunk& chunk,
                                                const proto::SignatureRecord& signature) override {
    proto::PrepareStepRequest request;
    request.set_session(session_);
    *request.mutable_chunk() = chunk;
    *request.mutable_signature() = signature;
    proto::PrepareStepResponse response;
    // Chunks of the graph count as known when they are sent.
    if (is_in_doubt_) return GraphInDoubt(absl::StrCat("the master at ", target_));
    StatusOr<Payload> payload = EncodeLargeMessage(request);
    is_in_doubt_ = !payload.ok();
    MS_RETURN_IF_ERROR(payload.status());
    Status status;
    const auto take = [&](size_t i, const Status& result, PayloadReader* answer) {
      status = result.ok() ? DecodeMessage(answer, &response) : result;
    };
    std::vector<TaskRequest> requests(1);
    requests[0] = {target_, channel_, *std::move(payload)};
    AskEach("PrepareStep", std::move(requests), absl::InfiniteFuture(), take, heart_->waits());
    // A master that does not know the session says so again.
    is_in_doubt_ = !status.ok() && !HasGraphTaken(status) && !absl::IsAborted(status);
    MS_RETURN_IF_ERROR(status);
    return std::make_unique<RemoteStep>(channel_, heart_, numbers_, target_, session_,
                                        response.step());
  }

  void Close() override {
    if (is_closed_.exchange(true)) return;
    proto::SessionRequest request;
    request.set_session(session_);
    proto::NothingResponse response;
    RequestMessage(channel_.get(), "CloseSession", request, SteadyNow() + absl::Seconds(5),
                   &response)
        .IgnoreError();
  }

 private:
  const std::shared_ptr<Channel> channel_;
  // Steps share them.
  const std::shared_ptr<const ClientHeart> heart_;
  const std::shared_ptr<RunNumbers> numbers_ = std::make_shared<RunNumbers>();
  const std::string target_;
  const uint64_t session_;
  const DeviceSet devices_;
  std::atomic<bool> is_closed_{false};
  std::atomic<bool> is_in_doubt_{false};  // whether the master knows the graph
};

StatusOr<std::string> AddressOf(absl::string_view target) {
  absl::string_view address = target;
  const bool has_scheme = absl::ConsumePrefix(&address, "grpc://");
  if (IsUnixAddress(address) || (has_scheme && absl::StrContains(address, ":"))) {
    MS_RETURN_IF_ERROR(CheckAddress(address));
    return std::string(address);
  }
  return errors::NotFound(
      "No session factory registered for the given session options: target: '", target,
      "', expected '', the engine of this process, or grpc://HOST:PORT or unix:PATH, a server's");
}

}  // namespace

StatusOr<std::unique_ptr<MasterClient>> MasterClient::Connect(absl::string_view target,
                                                              const std::string& config,
                                                              Transport* transport,
                                                              absl::Time deadline) {
  MS_ASSIGN_OR_RETURN(const std::string address, AddressOf(target));
  if (const std::shared_ptr<Master> master = FindLocalMaster(address)) {
    return Begin(master, config, deadline);
  }
  MS_ASSIGN_OR_RETURN(std::shared_ptr<Channel> channel, transport->Connect(address));
  proto::CreateSessionRequest request;
  request.set_config(config);
  request.set_version(kMessageVersion);
  proto::CreateSessionResponse response;
  const Status status =
      RequestMessage(channel.get(), "CreateSession", request, deadline, &response);
  if (absl::IsDeadlineExceeded(status)) {
    return absl::UnavailableError(absl::StrCat("no server answers at ", target));
  }
  MS_RETURN_IF_ERROR(status);
  MS_ASSIGN_OR_RETURN(DeviceSet devices, DecodeDevices(response.devices()));
  return std::make_unique<RemoteClient>(std::move(channel), std::string(target), response.session(),
                                        std::move(devices));
}

StatusOr<std::unique_ptr<MasterClient>> MasterClient::Begin(const std::shared_ptr<Master>& master,
                                                            const std::string& config,
                                                            absl::Time deadline) {
  MS_ASSIGN_OR_RETURN(std::shared_ptr<MasterSession> session,
                      master->CreateSession(config, deadline));
  return std::make_unique<LocalClient>(master, std::move(session));
}

StatusOr<proto::ClusterStatusRecord> AskForStatus(absl::string_view target, Transport* transport) {
  MS_ASSIGN_OR_RETURN(const std::string address, AddressOf(target));
  const absl::Time deadline = SteadyNow() + absl::Seconds(5);
  proto::ClusterStatusRecord status;
  if (const std::shared_ptr<Master> master = FindLocalMaster(address)) {
    master->AskAll(SteadyNow() + absl::Seconds(2), &status);
    return status;
  }
  MS_ASSIGN_OR_RETURN(const std::shared_ptr<Channel> channel, transport->Connect(address));
  const Status answered = RequestMessage(channel.get(), "GetClusterStatus",
                                         proto::NothingResponse(), deadline, &status);
  if (absl::IsDeadlineExceeded(answered)) {
    return absl::UnavailableError(absl::StrCat("no server answers at ", target));
  }
  MS_RETURN_IF_ERROR(answered);
  return status;
}

Status ResetMaster(absl::string_view target, absl::Span<const std::string> containers,
                   Transport* transport) {
  MS_ASSIGN_OR_RETURN(const std::string address, AddressOf(target));
  if (const std::shared_ptr<Master> master = FindLocalMaster(address)) {
    return master->Reset(containers);
  }
  MS_ASSIGN_OR_RETURN(const std::shared_ptr<Channel> channel, transport->Connect(address));
  proto::ResetRequest request;
  for (const std::string& container : containers) request.add_containers(container);
  proto::NothingResponse response;
  return RequestMessage(channel.get(), "Reset", request, SteadyNow() + absl::Seconds(15),
                        &response);
}

}  // namespace millstream
