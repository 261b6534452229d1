#include "distributed_runtime/grpc/server.h"

#include <grpc/grpc.h>
#include <grpc/support/sync.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "distributed_runtime/grpc/arguments.h"
#include "distributed_runtime/grpc/bytes.h"
#include "distributed_runtime/grpc/credentials.h"
#include "distributed_runtime/grpc/log.h"
#include "distributed_runtime/grpc/queue.h"

namespace millstream::network {
namespace {

// How many streams may begin at the same time without a wait.
constexpr int kAwaited = 2;
constexpr int kLeastPingPeriodMs = 500;
// A peer that has not even said by then what it speaks is none of ours.
constexpr int kHandshakeMs = 20'000;
// One that has said what it speaks, and then asks for nothing, has no use of its connection. A peer
// of ours has a stream on its urgent line, which needs the token, and connects its other one again
// when it has something to ask.
constexpr int kIdleMs = 60'000;
// A peer whose host or network has ended closes nothing. Pings wait behind tensors.
constexpr int kPingPeriodMs = 60'000;
constexpr int kPingPatienceMs = 60'000;
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
bool IsSame(const std::string& expected, const grpc_slice& got) {
  if (expected.size() != GRPC_SLICE_LENGTH(got)) return false;
  const uint8_t* const bytes = GRPC_SLICE_START_PTR(got);
  uint8_t difference = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference |= static_cast<uint8_t>(expected[i]) ^ bytes[i];
  }
  return difference == 0;
}

// Holds a mutex of gRPC's. They serve here because the wait of std::condition_variable needs a
// newer standard library than the wheel may.
class Lock {
 public:
  explicit Lock(gpr_mu* mutex) : mutex_(mutex) { gpr_mu_lock(mutex_); }
  ~Lock() { gpr_mu_unlock(mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  gpr_mu* const mutex_;
};

// Calls hold it, because answers may come after the server has stopped.
struct ServerState {
  ServerState() {
    gpr_mu_init(&mutex);
    gpr_cv_init(&at_rest);
  }
  ~ServerState() {
    if (server != nullptr) grpc_server_destroy(server);
    gpr_cv_destroy(&at_rest);
    gpr_mu_destroy(&mutex);
  }
  ServerState(const ServerState&) = delete;
  ServerState& operator=(const ServerState&) = delete;

  millstream_handle_request handle = nullptr;
  void* user = nullptr;
  std::string authorization;  // what streams must carry; "" if nothing
  grpc_server* server = nullptr;
  gpr_mu mutex;
  gpr_cv at_rest;
  size_t pending = 0;    // events that the queue has still to give, or that it gives now
  bool is_shut = false;  // nothing begins any more

  // Before an operation. False if the server has stopped.
  bool Begin() {
    const Lock lock(&mutex);
    if (is_shut) return false;
    ++pending;
    return true;
  }
  // The event of the operation has been handled.
  void End() {
    const Lock lock(&mutex);
    if (--pending == 0) gpr_cv_broadcast(&at_rest);
  }
};
using ServerRef = std::shared_ptr<ServerState>;

// A stream of a client, from the wait for it to its end: of one request, or of many, each of which
// follows the answer to the one before. One event is pending at a time, or else the runtime has
// still to answer.
class ServerCall final : public Completion {
 public:
  // Waits for a client.
  static void Await(const ServerRef& server) {
    if (!server->Begin()) return;
    auto* const call = new ServerCall(server);
    Completion* const end = call;
    const grpc_call_error error = grpc_server_request_call(
        server->server, &call->core_, &call->details_, &call->metadata_, Queue(), Queue(), end);
    if (error == GRPC_CALL_OK) return;
    delete call;
    server->End();
  }

  void Complete(bool ok) override {
    const ServerRef server = server_;
    Proceed(ok);
    server->End();
  }

  // Answers a request, and waits for the next one if there may be one. Null: it is too large.
  void Respond(Bytes response) {
    if (response == nullptr) return Refuse(GRPC_STATUS_RESOURCE_EXHAUSTED, kTooLarge);
    if (IsLarge(response.get())) LetOthersRead();
    response_ = std::move(response);
    std::array<grpc_op, 4> operations{};
    size_t n = AddFirstMetadata(operations.data());
    operations[n].op = GRPC_OP_SEND_MESSAGE;
    operations[n++].data.send_message.send_message = response_.get();
    if (!has_many_) {
      stage_ = Stage::kEnds;
      n += AddStatus(GRPC_STATUS_OK, nullptr, &operations[n]);
    } else if (KeepsMemory(response_.get())) {
      // gRPC frees it only when all operations of the batch have ended.
      stage_ = Stage::kSends;
    } else {
      stage_ = Stage::kReads;
      operations[n++] = ReadOperation();
    }
    Start(operations.data(), n);
  }

 private:
  enum class Stage { kAwaits, kReads, kHandles, kSends, kEnds };

  explicit ServerCall(ServerRef server) : server_(std::move(server)) {
    grpc_call_details_init(&details_);
    grpc_metadata_array_init(&metadata_);
  }
  ~ServerCall() {
    if (request_ != nullptr) grpc_byte_buffer_destroy(request_);
    if (core_ != nullptr) grpc_call_unref(core_);
    grpc_call_details_destroy(&details_);
    grpc_metadata_array_destroy(&metadata_);
  }

  void Delete() { delete this; }

  // What the call waited for has ended.
  void Proceed(bool ok) {
    response_.reset();
    switch (stage_) {
      case Stage::kAwaits:
        if (!ok) return Delete();
        return Begin();
      case Stage::kReads: return Handle();
      case Stage::kSends: return Read();
      case Stage::kHandles:
      case Stage::kEnds: return Delete();
    }
  }

  // A client is there.
  void Begin() {
    Await(server_);
    if (!IsAllowed()) {
      LogOnce("a request that has not the cluster's token was refused", __FILE__, __LINE__);
      return Refuse(GRPC_STATUS_UNAUTHENTICATED, "the request has not the cluster's token");
    }
    const auto* const name = reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(details_.method));
    method_.assign(name, GRPC_SLICE_LENGTH(details_.method));
    if (method_.rfind(kPrefix, 0) != 0) return RefuseMethod();
    method_.erase(0, sizeof(kPrefix) - 1);
    has_many_ = method_.empty();
    Read();
  }

  grpc_op ReadOperation() {
    grpc_op operation{};
    operation.op = GRPC_OP_RECV_MESSAGE;
    operation.data.recv_message.recv_message = &request_;
    return operation;
  }
  void Read() {
    stage_ = Stage::kReads;
    const grpc_op operation = ReadOperation();
    Start(&operation, 1);
  }

  void Handle() {
    Bytes request(std::exchange(request_, nullptr));
    if (request == nullptr) {
      // A client that has no further request has closed its stream, or has gone.
      return has_many_ ? Refuse(GRPC_STATUS_OK, "") : RefuseMethod();
    }
    if (IsLarge(request.get())) LetOthersRead();
    std::vector<millstream_slice> slices = ToSlices(std::move(request));
    if (has_many_ && !TakeMethod(&slices, &method_)) {
      Release(slices);
      return RefuseMethod();
    }
    stage_ = Stage::kHandles;
    // The answer may come, and another request with it, before the handler has returned.
    const ServerRef server = server_;
    const std::string method = method_;
    server->handle(server->user, this, method.c_str(), slices.data(), slices.size());
  }

  void RefuseMethod() { Refuse(GRPC_STATUS_UNIMPLEMENTED, "no request of Millstream"); }

  // Ends the stream without an answer.
  void Refuse(grpc_status_code code, const char* message) {
    stage_ = Stage::kEnds;
    grpc_slice text = grpc_slice_from_static_string(message);
    std::array<grpc_op, 3> operations{};
    const size_t n = AddFirstMetadata(operations.data());
    Start(operations.data(), n + AddStatus(code, &text, &operations[n]));
  }

  // Adds an operation, if it has not run as yet. Returns how many.
  size_t AddFirstMetadata(grpc_op* operations) {
    if (std::exchange(has_metadata_, true)) return 0;
    operations->op = GRPC_OP_SEND_INITIAL_METADATA;
    return 1;
  }

  // The last operations of a stream.
  size_t AddStatus(grpc_status_code code, grpc_slice* message, grpc_op* operations) {
    operations[0].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    operations[0].data.send_status_from_server.status = code;
    operations[0].data.send_status_from_server.status_details = message;
    operations[1].op = GRPC_OP_RECV_CLOSE_ON_SERVER;
    operations[1].data.recv_close_on_server.cancelled = &is_cancelled_;
    return 2;
  }

  // Another event may destroy the call before this returns.
  void Start(const grpc_op* operations, size_t n) {
    const ServerRef server = server_;
    if (!server->Begin()) return Delete();
    Completion* const end = this;
    if (grpc_call_start_batch(core_, operations, n, end, nullptr) == GRPC_CALL_OK) return;
    Delete();
    server->End();
  }

  bool IsAllowed() const {
    if (server_->authorization.empty()) return true;
    for (size_t i = 0; i < metadata_.count; ++i) {
      const grpc_metadata& one = metadata_.metadata[i];
      if (grpc_slice_str_cmp(one.key, "authorization") != 0) continue;
      return IsSame(server_->authorization, one.value);
    }
    return false;
  }

  const ServerRef server_;
  grpc_call* core_ = nullptr;
  grpc_call_details details_;
  grpc_metadata_array metadata_;
  std::string method_;
  bool has_many_ = false;  // requests, and not one
  bool has_metadata_ = false;
  int is_cancelled_ = 0;
  grpc_byte_buffer* request_ = nullptr;
  Bytes response_;
  Stage stage_ = Stage::kAwaits;
};

// Nothing of the server may be left for the queue to give.
class Shutdown final : public Completion {
 public:
  explicit Shutdown(ServerRef server) : server_(std::move(server)) {}
  void Complete(bool ok) override {
    const ServerRef server = server_;  // who waits then destroys the object
    server->End();
  }

 private:
  const ServerRef server_;
};

// Ends all streams, and waits until no event of theirs is pending.
void Stop(const ServerRef& server) {
  Shutdown shutdown(server);
  {
    const Lock lock(&server->mutex);
    server->is_shut = true;
    ++server->pending;
  }
  Completion* const end = &shutdown;
  grpc_server_shutdown_and_notify(server->server, Queue(), end);
  grpc_server_cancel_all_calls(server->server);
  const Lock lock(&server->mutex);
  while (server->pending != 0) {
    gpr_cv_wait(&server->at_rest, &server->mutex, gpr_inf_future(GPR_CLOCK_MONOTONIC));
  }
}

}  // namespace

void* Serve(const char* address, millstream_handle_request handle, void* user, int32_t* port) {
  return ServeWithin(kIdleMs, address, handle, user, port);
}

void* ServeWithin(int idle_ms, const char* address, millstream_handle_request handle, void* user,
                  int32_t* port) {
  grpc_completion_queue* const queue = Queue();  // gRPC is initialized
  Credentials credentials;
  if (!credentials.Read() || !credentials.MayServe(address)) return nullptr;
  RaiseLimitOfDescriptors();
  Arguments arguments;
  arguments.Set(GRPC_ARG_ALLOW_REUSEPORT, 0);
  arguments.Set(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.Set(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  arguments.Set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingPeriodMs);
  arguments.Set(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  arguments.Set(GRPC_ARG_MAX_CONNECTION_IDLE_MS, idle_ms);
  arguments.Set(GRPC_ARG_KEEPALIVE_TIME_MS, kPingPeriodMs);
  arguments.Set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingPatienceMs);
  const grpc_channel_args list = arguments.Get();
  const auto state = std::make_shared<ServerState>();
  state->authorization = credentials.Authorization();
  state->handle = handle;
  state->user = user;
  state->server = grpc_server_create(&list, nullptr);
  grpc_server_register_completion_queue(state->server, queue, nullptr);
  const ServerCredentials own = credentials.ForServer();
  *port = own == nullptr ? 0 : grpc_server_add_http2_port(state->server, address, own.get());
  if (*port == 0) {
    Stop(state);
    return nullptr;
  }
  grpc_server_start(state->server);
  for (int i = 0; i < kAwaited; ++i) ServerCall::Await(state);
  return new ServerRef(state);
}

void RespondTo(void* call, millstream_slice* slices, size_t n) {
  static_cast<ServerCall*>(call)->Respond(ToBytes("", slices, n));
}

void StopServer(void* server) {
  const std::unique_ptr<ServerRef> owned(static_cast<ServerRef*>(server));
  Stop(*owned);
}

}  // namespace millstream::network
