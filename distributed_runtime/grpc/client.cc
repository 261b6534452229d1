#include "distributed_runtime/grpc/client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/channel_arguments.h>

#include <atomic>
#include <chrono>
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
// On the other line a ping waits behind tensors, which may take long.
constexpr int kPingPeriodMs = 2000;
constexpr int kPingPatienceMs = 2000;
constexpr int kPingPatienceBehindTensorsMs = 60000;
// How long a broken connection waits before it is tried again.
constexpr int kFirstBackoffMs = 50;
constexpr int kLastBackoffMs = 1000;

struct ClientCall;

// One connection, and its calls that have not ended.
struct Line {
  std::unique_ptr<grpc::GenericStub> stub;
  std::mutex mutex;
  std::set<ClientCall*> calls;  // guarded by mutex
  bool is_lost = false;         // guarded by mutex
};

// Two lines to a peer. What is urgent would wait behind tensors on the same one.
class ClientChannel {
 public:
  explicit ClientChannel(const char* address) : address_(address) {
    Credentials credentials;
    // Without valid credentials, every call fails.
    credentials_ = credentials.Read() ? credentials.ForChannel() : nullptr;
    if (credentials_ != nullptr) authorization_ = credentials.AuthorizationFor(address);
    urgent_ = NewLine(kPingPatienceMs);
    usual_ = NewLine(kPingPatienceBehindTensorsMs);
  }
  const std::string& authorization() const { return authorization_; }  // of each request; may be ""
  std::shared_ptr<Line> LineFor(bool is_urgent);
  // The peer cannot be reached: ends all calls, and connects anew for later ones.
  void LosePeer();

 private:
  std::shared_ptr<Line> NewLine(int ping_patience_ms) const;

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
  ClientChannelRef watched;  // the channel that loses its peer if this call cannot be made; or null
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
  if (call->watched != nullptr && call->status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    call->watched->LosePeer();
  }
  if (!call->status.ok()) {
    call->done(call->user, call->status.error_code(), call->status.error_message().c_str(), nullptr,
               0);
    return;
  }
  std::vector<millstream_slice> slices = ToSlices(call->response);
  call->done(call->user, 0, "", slices.data(), slices.size());
}

// The queue of all calls of the process, with its threads. Never destroyed.
grpc::CompletionQueue* Queue() {
  static grpc::CompletionQueue* const queue = [] {
    auto* const made = new grpc::CompletionQueue;
    for (int i = 0; i < kThreads; ++i) {
      std::thread([made] {
        void* tag = nullptr;
        bool ok = false;
        while (made->Next(&tag, &ok)) {
          const std::unique_ptr<ClientCallRef> call(static_cast<ClientCallRef*>(tag));
          End(call->get());
        }
      }).detach();
    }
    return made;
  }();
  return queue;
}

std::shared_ptr<Line> ClientChannel::LineFor(bool is_urgent) {
  if (is_urgent) return urgent_;
  const std::lock_guard<std::mutex> lock(mutex_);
  return usual_;
}

std::shared_ptr<Line> ClientChannel::NewLine(int ping_patience_ms) const {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstBackoffMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kFirstBackoffMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLastBackoffMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingPeriodMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ping_patience_ms);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  const auto line = std::make_shared<Line>();
  line->stub = std::make_unique<grpc::GenericStub>(
      grpc::CreateCustomChannel(address_, credentials_, arguments));
  return line;
}

void ClientChannel::LosePeer() {
  std::shared_ptr<Line> lost;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    {
      const std::lock_guard<std::mutex> calls(usual_->mutex);
      if (usual_->calls.empty()) return;  // it connects anew by itself
    }
    lost = std::exchange(usual_, NewLine(kPingPatienceBehindTensorsMs));
  }
  const std::lock_guard<std::mutex> lock(lost->mutex);
  lost->is_lost = true;
  for (ClientCall* const call : lost->calls) Lose(call);
}

}  // namespace

void* Connect(const char* address) {
  return new ClientChannelRef(std::make_shared<ClientChannel>(address));
}

void Disconnect(void* channel) { delete static_cast<ClientChannelRef*>(channel); }

void* StartCall(void* channel, const char* method, int32_t is_urgent, millstream_slice* slices,
                size_t n, int64_t deadline_ns, millstream_call_done done, void* user) {
  const auto& to = *static_cast<ClientChannelRef*>(channel);
  const auto call = std::make_shared<ClientCall>();
  call->done = done;
  call->user = user;
  call->line = to->LineFor(is_urgent != 0);
  if (is_urgent != 0) call->watched = to;
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
  call->reader->Finish(&call->response, &call->status, new ClientCallRef(call));
  return handle;
}

void CancelCall(void* call) { (*static_cast<ClientCallRef*>(call))->context.TryCancel(); }

void FreeCall(void* call) { delete static_cast<ClientCallRef*>(call); }

}  // namespace millstream::network
