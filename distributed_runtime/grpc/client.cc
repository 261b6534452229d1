#include "distributed_runtime/grpc/client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "distributed_runtime/grpc/bytes.h"
#include "distributed_runtime/grpc/credentials.h"

namespace millstream::network {
namespace {

// Threads that take responses. A large one is copied by the thread that takes it.
constexpr int kThreads = 2;
// A peer that does not answer a ping is taken for lost: after 4 s at the latest.
constexpr int kPingPeriodMs = 2000;
constexpr int kPingPatienceMs = 2000;
// How long a broken connection waits before it is tried again.
constexpr int kFirstBackoffMs = 50;
constexpr int kLastBackoffMs = 1000;

struct ClientChannel {
  std::string authorization;  // what each request carries; "" if nothing
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::GenericStub> stub;
};

// Shared by the queue, which ends the call, and by the caller, who may cancel it.
struct ClientCall {
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  grpc::ByteBuffer response;
  grpc::Status status;
  millstream_call_done done = nullptr;
  void* user = nullptr;
};
using ClientCallRef = std::shared_ptr<ClientCall>;

void End(ClientCall* call) {
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

}  // namespace

void* Connect(const char* address) {
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
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingPatienceMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  auto* const made = new ClientChannel;
  Credentials credentials;
  // Without valid credentials, every call fails.
  const auto of_channel = credentials.Read() ? credentials.ForChannel() : nullptr;
  if (of_channel != nullptr) made->authorization = credentials.AuthorizationFor(address);
  made->channel = grpc::CreateCustomChannel(address, of_channel, arguments);
  made->stub = std::make_unique<grpc::GenericStub>(made->channel);
  return made;
}

void Disconnect(void* channel) { delete static_cast<ClientChannel*>(channel); }

void* StartCall(void* channel, const char* method, millstream_slice* slices, size_t n,
                int64_t deadline_ns, millstream_call_done done, void* user) {
  const auto call = std::make_shared<ClientCall>();
  call->done = done;
  call->user = user;
  if (deadline_ns >= 0) {
    call->context.set_deadline(std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(
            std::chrono::nanoseconds(deadline_ns))));
  }
  const auto& to = *static_cast<ClientChannel*>(channel);
  if (!to.authorization.empty()) call->context.AddMetadata("authorization", to.authorization);
  call->reader = to.stub->PrepareUnaryCall(&call->context, std::string("/millstream/") + method,
                                           ToBytes(slices, n), Queue());
  auto* const handle = new ClientCallRef(call);
  call->reader->StartCall();
  call->reader->Finish(&call->response, &call->status, new ClientCallRef(call));
  return handle;
}

void CancelCall(void* call) { (*static_cast<ClientCallRef*>(call))->context.TryCancel(); }

void FreeCall(void* call) { delete static_cast<ClientCallRef*>(call); }

}  // namespace millstream::network
