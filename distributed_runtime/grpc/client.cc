#include "distributed_runtime/grpc/client.h"

#include <grpc/grpc.h>

#include <climits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "distributed_runtime/grpc/arguments.h"
#include "distributed_runtime/grpc/credentials.h"
#include "distributed_runtime/grpc/queue.h"
#include "distributed_runtime/grpc/stream.h"

namespace millstream::network {
namespace {

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

// What a line to the address is made for. gRPC names the other end of a connection "unix:/a/path",
// and a line's target must be another text (Stream::HadConnection).
std::string TargetOf(const std::string& address) {
  const std::string scheme = "unix:";
  if (address.rfind(scheme + "/", 0) != 0 || address.rfind(scheme + "//", 0) == 0) return address;
  return scheme + "//" + address.substr(scheme.size());
}

// Two lines to a peer. What is urgent would wait behind tensors on the same one. When the urgent
// line breaks, the peer is lost. That it cannot be made says nothing: on a network that is far away
// or full, that takes several tries while the other line works.
class ClientChannel : public std::enable_shared_from_this<ClientChannel> {
 public:
  explicit ClientChannel(const char* address) : address_(address) {
    Queue();  // gRPC is initialized
    Credentials credentials;
    if (credentials.Read()) {
      credentials_ = credentials.ForChannel();
      authorization_ = credentials.AuthorizationFor(address);
    }
    urgent_ = NewLine(true);
    usual_ = NewLine(false);
  }
  ~ClientChannel() {
    urgent_->Close();
    usual_->Close();
  }
  ClientChannel(const ClientChannel&) = delete;
  ClientChannel& operator=(const ClientChannel&) = delete;

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
  ChannelCredentials credentials_;  // null: they are not valid, and every call fails
  std::string authorization_;       // of each stream; may be ""
  std::shared_ptr<Line> urgent_;
  std::mutex mutex_;
  std::shared_ptr<Line> usual_;  // guarded by mutex_
};
using ClientChannelRef = std::shared_ptr<ClientChannel>;

// The urgent line was in that state, and is no longer.
class ClientChannel::StateChange final : public Completion {
 public:
  StateChange(std::weak_ptr<ClientChannel> channel, grpc_connectivity_state from)
      : channel_(std::move(channel)), from_(from) {}
  void Complete(bool ok) override {
    const std::unique_ptr<StateChange> owned(this);
    const ClientChannelRef channel = channel_.lock();
    if (channel == nullptr) return;
    // By now it may be connected again.
    if (from_ == GRPC_CHANNEL_READY) channel->LosePeer();
    channel->Watch(grpc_channel_check_connectivity_state(channel->urgent_->channel(),
                                                         /*try_to_connect=*/0));
  }

 private:
  const std::weak_ptr<ClientChannel> channel_;
  const grpc_connectivity_state from_;
};

void ClientChannel::Watch(grpc_connectivity_state state) {
  if (state == GRPC_CHANNEL_READY) urgent_->KeepOpen();
  grpc_channel_watch_connectivity_state(
      urgent_->channel(), state, gpr_inf_future(GPR_CLOCK_REALTIME), Queue(),
      static_cast<Completion*>(new StateChange(weak_from_this(), state)));
}

std::shared_ptr<Line> ClientChannel::LineFor(bool is_urgent) {
  if (is_urgent) return urgent_;
  grpc_channel_check_connectivity_state(urgent_->channel(), /*try_to_connect=*/1);
  const std::lock_guard<std::mutex> lock(mutex_);
  return usual_;
}

std::shared_ptr<Line> ClientChannel::NewLine(bool is_urgent) const {
  Arguments arguments;
  arguments.Set(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.Set(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.Set(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.Set(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstBackoffMs);
  arguments.Set(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectPatienceMs);
  arguments.Set(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLastBackoffMs);
  arguments.Set(GRPC_ARG_KEEPALIVE_TIME_MS, kPingPeriodMs);
  arguments.Set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                is_urgent ? kPingPatienceMs : kPingPatienceBehindTensorsMs);
  arguments.Set(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, is_urgent ? 1 : 0);
  arguments.Set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A line without calls stays connected: its end would be taken for the peer's. So the urgent one
  // has a stream (KeepOpen), for servers end connections without any.
  arguments.Set(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, INT_MAX);
  const grpc_channel_args list = arguments.Get();
  grpc_channel* const channel =
      credentials_ == nullptr
          ? grpc_lame_client_channel_create(address_.c_str(), GRPC_STATUS_INVALID_ARGUMENT,
                                            "the credentials of the cluster cannot be used")
          : grpc_channel_create(TargetOf(address_).c_str(), credentials_.get(), &list);
  return std::make_shared<Line>(channel, authorization_);
}

void ClientChannel::LosePeer() {
  std::shared_ptr<Line> lost;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    lost = std::exchange(usual_, NewLine(false));
  }
  lost->Lose();
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
  const auto call = std::make_shared<ClientCall>();
  call->done = done;
  call->user = user;
  call->line = (*static_cast<ClientChannelRef*>(channel))->LineFor(is_urgent != 0);
  if (is_urgent == 0) call->awaited.emplace();
  auto* const handle = new ClientCallRef(call);
  call->line->Start(call, method, slices, n, deadline_ns);
  return handle;
}

void CancelCall(void* call) {
  const ClientCallRef& cancelled = *static_cast<ClientCallRef*>(call);
  cancelled->line->Cancel(cancelled.get());
}

void FreeCall(void* call) { delete static_cast<ClientCallRef*>(call); }

}  // namespace millstream::network
