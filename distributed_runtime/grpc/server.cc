#include "distributed_runtime/grpc/server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "distributed_runtime/grpc/bytes.h"
#include "distributed_runtime/grpc/credentials.h"
#include "distributed_runtime/grpc/log.h"

namespace millstream::network {
namespace {

constexpr int kThreads = 2;
constexpr int kLeastPingPeriodMs = 500;
// A peer that has not even said by then what it speaks is none of ours.
constexpr int kHandshakeMs = 20'000;
constexpr rlim_t kDescriptors = 65'536;
constexpr char kPrefix[] = "/millstream/";

// gRPC listens no more, for good, when the process has no descriptor for a connection that comes,
// and peers that say nothing keep theirs for the time of a handshake. Processes begin with a limit
// of 1024 in most places, which they may raise themselves.
void RaiseLimitOfDescriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t most = std::min(limit.rlim_max, kDescriptors);
  if (limit.rlim_cur >= most) return;
  limit.rlim_cur = most;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Takes as long for texts of one size whatever they differ in, so that nobody can guess a token
// byte by byte.
bool IsSame(const std::string& expected, grpc::string_ref got) {
  if (expected.size() != got.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < expected.size(); ++i) difference |= expected[i] ^ got.data()[i];
  return difference == 0;
}

// Calls hold it, because answers may come after the server has stopped.
struct ServerState {
  millstream_handle_request handle = nullptr;
  void* user = nullptr;
  std::string authorization;  // what requests must carry; "" if nothing
  grpc::AsyncGenericService service;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  std::vector<std::thread> threads;
  // Guards the queue against answers after it is shut.
  std::mutex mutex;
  bool is_shut = false;
};
using ServerRef = std::shared_ptr<ServerState>;

// One request, from its wait for a client to its answer.
class ServerCall {
 public:
  // Waits for a client.
  static void Await(const ServerRef& server) {
    auto* const call = new ServerCall(server);
    const std::lock_guard<std::mutex> lock(server->mutex);
    if (server->is_shut) {
      delete call;
      return;
    }
    server->service.RequestCall(&call->context_, &call->stream_, server->queue.get(),
                                server->queue.get(), call);
  }

  // The queue has completed what the call waited for.
  void Proceed(bool ok) {
    switch (stage_) {
      case Stage::kAwaits:
        if (!ok) return Delete();
        Await(server_);
        if (!IsAllowed()) {
          LogOnce("a request that has not the cluster's token was refused", __FILE__, __LINE__);
          return Refuse(grpc::StatusCode::UNAUTHENTICATED,
                        "the request has not the cluster's token");
        }
        stage_ = Stage::kReads;
        if (!Post([this] { stream_.Read(&request_, this); })) Delete();
        return;
      case Stage::kReads:
        stage_ = Stage::kHandles;
        if (!ok) return RefuseMethod();
        return Handle();
      case Stage::kHandles:
      case Stage::kEnds: return Delete();
    }
  }

  void Respond(const grpc::ByteBuffer& response) {
    stage_ = Stage::kEnds;
    const bool posted = Post([this, &response] {
      stream_.WriteAndFinish(response, grpc::WriteOptions(), grpc::Status::OK, this);
    });
    if (!posted) Delete();
  }

 private:
  enum class Stage { kAwaits, kReads, kHandles, kEnds };

  explicit ServerCall(ServerRef server) : server_(std::move(server)), stream_(&context_) {}
  void Delete() { delete this; }

  // False if the queue is shut.
  template <typename Operation>
  bool Post(Operation post) {
    const std::lock_guard<std::mutex> lock(server_->mutex);
    if (server_->is_shut) return false;
    post();
    return true;
  }

  bool IsAllowed() const {
    if (server_->authorization.empty()) return true;
    const auto& metadata = context_.client_metadata();
    const auto found = metadata.find("authorization");
    return found != metadata.end() && IsSame(server_->authorization, found->second);
  }

  void RefuseMethod() { Refuse(grpc::StatusCode::UNIMPLEMENTED, "no request of Millstream"); }

  void Refuse(grpc::StatusCode code, const char* message) {
    stage_ = Stage::kEnds;
    const grpc::Status status(code, message);
    if (!Post([&] { stream_.Finish(status, this); })) Delete();
  }

  void Handle() {
    const std::string& method = context_.method();
    if (method.rfind(kPrefix, 0) != 0) return RefuseMethod();
    std::vector<millstream_slice> slices = ToSlices(request_);
    request_.Clear();
    server_->handle(server_->user, this, method.c_str() + sizeof(kPrefix) - 1, slices.data(),
                    slices.size());
  }

  const ServerRef server_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_;
  grpc::ByteBuffer request_;
  Stage stage_ = Stage::kAwaits;
};

void RunQueue(grpc::ServerCompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<ServerCall*>(tag)->Proceed(ok);
}

}  // namespace

void* Serve(const char* address, millstream_handle_request handle, void* user, int32_t* port) {
  Credentials credentials;
  if (!credentials.Read() || !credentials.MayServe(address)) return nullptr;
  RaiseLimitOfDescriptors();
  const auto state = std::make_shared<ServerState>();
  state->authorization = credentials.Authorization();
  state->handle = handle;
  state->user = user;
  grpc::ServerBuilder builder;
  int chosen = 0;
  builder.AddListeningPort(address, credentials.ForServer(), &chosen);
  builder.RegisterAsyncGenericService(&state->service);
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kLeastPingPeriodMs);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  state->queue = builder.AddCompletionQueue();
  state->server = builder.BuildAndStart();
  if (state->server == nullptr || chosen == 0) {
    state->queue->Shutdown();
    RunQueue(state->queue.get());
    return nullptr;
  }
  *port = chosen;
  for (int i = 0; i < kThreads; ++i) {
    ServerCall::Await(state);
    state->threads.emplace_back([queue = state->queue.get()] { RunQueue(queue); });
  }
  return new ServerRef(state);
}

void RespondTo(void* call, millstream_slice* slices, size_t n) {
  static_cast<ServerCall*>(call)->Respond(ToBytes(slices, n));
}

void StopServer(void* server) {
  const std::unique_ptr<ServerRef> owned(static_cast<ServerRef*>(server));
  ServerState& state = **owned;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    state.is_shut = true;
  }
  state.server->Shutdown(std::chrono::system_clock::now());
  state.queue->Shutdown();
  for (std::thread& thread : state.threads) thread.join();
}

}  // namespace millstream::network
