#include "distributed_runtime/grpc/client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/channel_arguments.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "distributed_runtime/grpc/bytes.h"
#include "distributed_runtime/grpc/credentials.h"

namespace millstream::network {
namespace {

// Threads that take responses. A large one is copied by the thread that takes it.
constexpr int kThreads = 2;
// A peer that does not answer a ping of its urgent line is taken for lost: after 4 s at the latest.
// That line has pings also while it has no calls. On the other one a ping waits behind tensors,
// which may take long.
constexpr int kPingPeriodMs = 2000;
constexpr int kPingPatienceMs = 2000;
constexpr int kPingPatienceBehindTensorsMs = 60000;
// How long a broken connection waits before it is tried again.
constexpr int kFirstBackoffMs = 50;
constexpr int kLastBackoffMs = 1000;
// How long a peer has at least to take a connection, by the name GRPC_ARG_MIN_RECONNECT_BACKOFF_MS.
// Its machine may be busy, or far away.
constexpr int kConnectPatienceMs = 2000;

struct ClientCall;

// What the queue gives to its threads, which end it.
class Completion {
 public:
  virtual ~Completion() = default;
  virtual void End() = 0;
};

// One connection, and its calls that have not ended.
struct Line {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::GenericStub> stub;
  std::mutex mutex;
  std::set<ClientCall*> calls;  // guarded by mutex
  bool is_lost = false;         // guarded by mutex
};

// Two lines to a peer. What is urgent would wait behind tensors on the same one. When the urgent
// line breaks, the peer is lost. That it cannot be made says nothing: on a network that is far away
// or full, that takes several tries while the other line works.
class ClientChannel : public std::enable_shared_from_this<ClientChannel> {
 public:
  explicit ClientChannel(const char* address) : address_(address) {
    Credentials credentials;
    // Without valid credentials, every call fails.
    credentials_ = credentials.Read() ? credentials.ForChannel() : nullptr;
    if (credentials_ != nullptr) authorization_ = credentials.AuthorizationFor(address);
    urgent_ = NewLine(true);
    usual_ = NewLine(false);
  }
  const std::string& authorization() const { return authorization_; }  // of each request; may be ""
  // Connects the urgent line in any case.
  std::shared_ptr<Line> LineFor(bool is_urgent);
  // Notices from now on when the urgent line, which is in this state, breaks.
  void Watch(grpc_connectivity_state state);

 private:
  class StateChange;

  std::shared_ptr<Line> NewLine(bool is_urgent) const;
  // The peer cannot be reached: ends all usual calls, and connects anew for later ones.
  void LosePeer();

  const std::string address_;
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
  std::string authorization_;
  std::shared_ptr<Line> urgent_;
  std::mutex mutex_;
  std::shared_ptr<Line> usual_;  // guarded by mutex_
};
using ClientChannelRef = std::shared_ptr<ClientChannel>;

// Shared by the queue, which ends the call, and by the caller, who may cancel it.
struct ClientCall {
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  grpc::ByteBuffer response;
  grpc::Status status;
  millstream_call_done done = nullptr;
  void* user = nullptr;
  std::shared_ptr<Line> line;
  std::atomic<bool> has_lost_peer{false};
};
using ClientCallRef = std::shared_ptr<ClientCall>;

void Lose(ClientCall* call) {
  call->has_lost_peer = true;
  call->context.TryCancel();
}

void End(ClientCall* call) {
  {
    const std::lock_guard<std::mutex> lock(call->line->mutex);
    call->line->calls.erase(call);
  }
  if (call->has_lost_peer) call->status = {grpc::StatusCode::UNAVAILABLE, "the peer is lost"};
  if (!call->status.ok()) {
    call->done(call->user, call->status.error_code(), call->status.error_message().c_str(), nullptr,
               0);
    return;
  }
  std::vector<millstream_slice> slices = ToSlices(call->response);
  call->done(call->user, 0, "", slices.data(), slices.size());
}

class CallEnd final : public Completion {
 public:
  explicit CallEnd(ClientCallRef call) : call_(std::move(call)) {}
  void End() override { network::End(call_.get()); }

 private:
  const ClientCallRef call_;
};

// The queue of all calls of the process, with its threads. Never destroyed.
grpc::CompletionQueue* Queue() {
  static grpc::CompletionQueue* const queue = [] {
    auto* const made = new grpc::CompletionQueue;
    for (int i = 0; i < kThreads; ++i) {
      std::thread([made] {
        void* tag = nullptr;
        bool ok = false;
        while (made->Next(&tag, &ok)) {
          const std::unique_ptr<Completion> completion(static_cast<Completion*>(tag));
          completion->End();
        }
      }).detach();
    }
    return made;
  }();
  return queue;
}

// The urgent line was in that state, and is no longer.
class ClientChannel::StateChange final : public Completion {
 public:
  StateChange(std::weak_ptr<ClientChannel> channel, grpc_connectivity_state from)
      : channel_(std::move(channel)), from_(from) {}
  void End() override {
    const ClientChannelRef channel = channel_.lock();
    if (channel == nullptr) return;
    // By now it may be connected again.
    if (from_ == GRPC_CHANNEL_READY) channel->LosePeer();
    channel->Watch(channel->urgent_->channel->GetState(/*try_to_connect=*/false));
  }

 private:
  const std::weak_ptr<ClientChannel> channel_;
  const grpc_connectivity_state from_;
};

void ClientChannel::Watch(grpc_connectivity_state state) {
  urgent_->channel->NotifyOnStateChange(state, std::chrono::system_clock::time_point::max(),
                                        Queue(), new StateChange(weak_from_this(), state));
}

std::shared_ptr<Line> ClientChannel::LineFor(bool is_urgent) {
  if (is_urgent) return urgent_;
  urgent_->channel->GetState(/*try_to_connect=*/true);
  const std::lock_guard<std::mutex> lock(mutex_);
  return usual_;
}

std::shared_ptr<Line> ClientChannel::NewLine(bool is_urgent) const {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstBackoffMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectPatienceMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLastBackoffMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingPeriodMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                   is_urgent ? kPingPatienceMs : kPingPatienceBehindTensorsMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, is_urgent ? 1 : 0);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A line without calls stays connected: its end would be taken for the peer's.
  arguments.SetInt(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, INT_MAX);
  const auto line = std::make_shared<Line>();
  line->channel = grpc::CreateCustomChannel(address_, credentials_, arguments);
  line->stub = std::make_unique<grpc::GenericStub>(line->channel);
  return line;
}

void ClientChannel::LosePeer() {
  std::shared_ptr<Line> lost;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    lost = std::exchange(usual_, NewLine(false));
  }
  const std::lock_guard<std::mutex> lock(lost->mutex);
  lost->is_lost = true;
  for (ClientCall* const call : lost->calls) Lose(call);
}

}  // namespace

void* Connect(const char* address) {
  auto* const made = new ClientChannelRef(std::make_shared<ClientChannel>(address));
  (*made)->Watch(GRPC_CHANNEL_IDLE);
  return made;
}

void Disconnect(void* channel) { delete static_cast<ClientChannelRef*>(channel); }

void* StartCall(void* channel, const char* method, int32_t is_urgent, millstream_slice* slices,
                size_t n, int64_t deadline_ns, millstream_call_done done, void* user) {
  const auto& to = *static_cast<ClientChannelRef*>(channel);
  const auto call = std::make_shared<ClientCall>();
  call->done = done;
  call->user = user;
  call->line = to->LineFor(is_urgent != 0);
  if (deadline_ns >= 0) {
    call->context.set_deadline(std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(
            std::chrono::nanoseconds(deadline_ns))));
  }
  if (!to->authorization().empty()) {
    call->context.AddMetadata("authorization", to->authorization());
  }
  call->reader = call->line->stub->PrepareUnaryCall(
      &call->context, std::string("/millstream/") + method, ToBytes(slices, n), Queue());
  auto* const handle = new ClientCallRef(call);
  call->reader->StartCall();
  {
    const std::lock_guard<std::mutex> lock(call->line->mutex);
    call->line->calls.insert(call.get());
    if (call->line->is_lost) Lose(call.get());
  }
  call->reader->Finish(&call->response, &call->status, new CallEnd(call));
  return handle;
}

void CancelCall(void* call) { (*static_cast<ClientCallRef*>(call))->context.TryCancel(); }

void FreeCall(void* call) { delete static_cast<ClientCallRef*>(call); }

}  // namespace millstream::network
