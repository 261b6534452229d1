#include "distributed_runtime/grpc/stream.h"

#include <grpc/support/alloc.h>

#include <algorithm>
#include <array>
#include <utility>

namespace millstream::network {
namespace {

// Of a line. A task seldom waits for more answers of another one at the same time.
constexpr size_t kMostIdle = 16;

grpc_op Operation(grpc_op_type type) {
  grpc_op operation{};
  operation.op = type;
  return operation;
}

gpr_timespec Deadline(int64_t deadline_ns) {
  if (deadline_ns < 0) return gpr_inf_future(GPR_CLOCK_REALTIME);
  return gpr_time_from_nanos(deadline_ns, GPR_CLOCK_REALTIME);
}

std::string TextOf(const grpc_slice& slice) {
  const auto* const begin = reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice));
  return std::string(begin, GRPC_SLICE_LENGTH(slice));
}

void EndWithError(const ClientCall& call, grpc_status_code code, const std::string& message) {
  call.done(call.user, code, message.c_str(), nullptr, 0);
}

}  // namespace

// A call of gRPC. Two events come from the queue: the end of the batch with the messages of a call,
// and, once, the end of the stream. It destroys itself when neither is to come any more. Its fields
// are guarded by the line, but those of gRPC's operations, which belong to these while they run.
class Stream {
 public:
  // REQUIRES: the line's mutex is held.
  Stream(std::shared_ptr<Line> line, const char* method, bool is_kept, int64_t deadline_ns);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // REQUIRES: the stream is new or idle, and the line's mutex is held.
  void Assign(const ClientCallRef& call) {
    call_ = call;
    call->stream = this;
    has_messages_ = true;
  }
  // Begins the stream without a call. REQUIRES: the mutex is not held.
  void Open();
  // Sends the request of the call that was assigned. REQUIRES: the mutex is not held.
  void Send(Bytes request);
  // From now on the peer is to blame. REQUIRES: the mutex is held.
  void Lose() {
    has_lost_peer_ = true;
    Cancel();
  }
  // The stream carries no further call. REQUIRES: the mutex is held.
  void Cancel() {
    is_cancelled_ = true;
    grpc_call_cancel(core_, nullptr);
  }

 private:
  // Passes an event to a function of the stream.
  template <void (Stream::*Function)(bool)>
  class Event final : public Completion {
   public:
    explicit Event(Stream* stream) : stream_(*stream) {}
    void Complete(bool ok) override { (stream_.*Function)(ok); }

   private:
    Stream& stream_;
  };

  ~Stream();
  // Sends what is in front of the first message. False: the end is not to come.
  bool Begin();
  void OnMessages(bool ok);
  void OnEnd(bool ok);
  // Ends the call by the status with which the stream has ended.
  void EndByStatus(const ClientCall& call);
  // Whether the stream was on a connection.
  bool HadConnection() const;
  // REQUIRES: the line's mutex is held.
  ClientCallRef TakeCall() {
    call_->stream = nullptr;
    call_->awaited.reset();
    return std::exchange(call_, nullptr);
  }

  const std::shared_ptr<Line> line_;
  const bool is_kept_;
  Event<&Stream::OnMessages> messages_{this};
  Event<&Stream::OnEnd> end_{this};
  ClientCallRef call_;  // null: it is idle, or has ended
  bool has_messages_ = false;
  bool has_ended_ = false;
  bool is_cancelled_ = false;
  bool has_lost_peer_ = false;
  // Of gRPC's operations.
  grpc_call* core_ = nullptr;
  bool has_begun_ = false;
  grpc_metadata authorization_{};
  grpc_metadata_array first_metadata_;
  grpc_metadata_array last_metadata_;
  Bytes request_;
  grpc_byte_buffer* response_ = nullptr;
  grpc_status_code code_ = GRPC_STATUS_UNKNOWN;
  grpc_slice message_ = grpc_empty_slice();
};

Stream::Stream(std::shared_ptr<Line> line, const char* method, bool is_kept, int64_t deadline_ns)
    : line_(std::move(line)), is_kept_(is_kept) {
  grpc_metadata_array_init(&first_metadata_);
  grpc_metadata_array_init(&last_metadata_);
  authorization_.key = grpc_slice_from_static_string("authorization");
  authorization_.value = grpc_slice_from_copied_string(line_->authorization().c_str());
  const std::string path = is_kept ? kManyCalls : std::string(kManyCalls) + method;
  const grpc_slice name = grpc_slice_from_copied_string(path.c_str());
  core_ = grpc_channel_create_call(line_->channel(), nullptr, 0, Queue(), name, nullptr,
                                   Deadline(deadline_ns), nullptr);
  grpc_slice_unref(name);
  line_->streams_.insert(this);
}

Stream::~Stream() {
  grpc_call_unref(core_);
  grpc_metadata_array_destroy(&first_metadata_);
  grpc_metadata_array_destroy(&last_metadata_);
  grpc_slice_unref(authorization_.value);
  grpc_slice_unref(message_);
}

void Stream::Send(Bytes request) {
  const bool is_first = !std::exchange(has_begun_, true);
  if (IsLarge(request.get())) LetOthersRead();
  request_ = std::move(request);
  response_ = nullptr;
  if (is_first && !Begin()) {
    code_ = GRPC_STATUS_INTERNAL;
    OnEnd(false);
    return OnMessages(false);
  }
  std::array<grpc_op, 4> operations{};
  size_t n = 0;
  operations[n] = Operation(GRPC_OP_SEND_MESSAGE);
  operations[n++].data.send_message.send_message = request_.get();
  operations[n] = Operation(GRPC_OP_RECV_MESSAGE);
  operations[n++].data.recv_message.recv_message = &response_;
  if (is_first) {
    operations[n] = Operation(GRPC_OP_RECV_INITIAL_METADATA);
    operations[n++].data.recv_initial_metadata.recv_initial_metadata = &first_metadata_;
    if (!is_kept_) operations[n++] = Operation(GRPC_OP_SEND_CLOSE_FROM_CLIENT);
  }
  Completion* const end = &messages_;
  if (grpc_call_start_batch(core_, operations.data(), n, end, nullptr) == GRPC_CALL_OK) return;
  {
    const std::lock_guard<std::mutex> lock(line_->mutex_);
    Cancel();
  }
  OnMessages(false);
}

// The end may come at once, and destroy the stream.
void Stream::Open() {
  const std::shared_ptr<Line> line = line_;
  bool has_begun = false;
  {
    const std::lock_guard<std::mutex> lock(line->mutex_);
    has_begun = Begin();
  }
  if (!has_begun) OnEnd(false);
}

// Before the messages, and not at the same time as those of the next call. The end is awaited with
// the beginning: a channel that cannot be used says why only to who sends something to it.
bool Stream::Begin() {
  std::array<grpc_op, 2> operations{Operation(GRPC_OP_SEND_INITIAL_METADATA),
                                    Operation(GRPC_OP_RECV_STATUS_ON_CLIENT)};
  operations[0].data.send_initial_metadata.count = line_->authorization().empty() ? 0 : 1;
  operations[0].data.send_initial_metadata.metadata = &authorization_;
  operations[1].data.recv_status_on_client.trailing_metadata = &last_metadata_;
  operations[1].data.recv_status_on_client.status = &code_;
  operations[1].data.recv_status_on_client.status_details = &message_;
  Completion* const end = &end_;
  return grpc_call_start_batch(core_, operations.data(), operations.size(), end, nullptr) ==
         GRPC_CALL_OK;
}

void Stream::OnMessages(bool ok) {
  const std::shared_ptr<Line> line = line_;  // the lock's: another event may destroy the stream
  Bytes request;
  Bytes response;
  ClientCallRef call;
  bool is_answered = false;
  bool has_ended = false;
  {
    const std::lock_guard<std::mutex> lock(line->mutex_);
    request = std::move(request_);
    response.reset(std::exchange(response_, nullptr));
    has_messages_ = false;
    has_ended = has_ended_;
    is_answered = ok && response != nullptr && !has_lost_peer_;
    if (!is_answered && !has_ended) return;  // the end says why
    call = TakeCall();
    if (!has_ended && is_kept_ && !is_cancelled_) {
      if (line->is_closed_ || line->idle_.size() >= kMostIdle) {
        Cancel();
      } else {
        line->idle_.push_back(this);
      }
    }
  }
  // Another call may use the stream by now, unless it has ended.
  if (is_answered) {
    if (IsLarge(response.get())) LetOthersRead();
    std::vector<millstream_slice> slices = ToSlices(std::move(response));
    call->done(call->user, 0, "", slices.data(), slices.size());
  } else {
    EndByStatus(*call);
  }
  if (has_ended) delete this;
}

void Stream::OnEnd(bool ok) {
  const std::shared_ptr<Line> line = line_;  // as above
  ClientCallRef call;
  {
    const std::lock_guard<std::mutex> lock(line->mutex_);
    has_ended_ = true;
    line->streams_.erase(this);
    if (line->open_ == this) line->open_ = nullptr;
    line->idle_.erase(std::remove(line->idle_.begin(), line->idle_.end(), this), line->idle_.end());
    if (has_messages_) return;  // they end with it
    if (call_ != nullptr) call = TakeCall();
  }
  if (call != nullptr) EndByStatus(*call);
  delete this;
}

// gRPC names the other end of the connection; without one, what the channel was made for.
bool Stream::HadConnection() const {
  char* const peer = grpc_call_get_peer(core_);
  char* const target = grpc_channel_get_target(line_->channel());
  const bool had_connection = std::string(peer) != target;
  gpr_free(target);
  gpr_free(peer);
  return had_connection;
}

// The urgent line may be the later one to notice that the peer has gone.
void Stream::EndByStatus(const ClientCall& call) {
  if (has_lost_peer_ || (code_ == GRPC_STATUS_UNAVAILABLE && HadConnection())) {
    return EndWithError(call, GRPC_STATUS_UNAVAILABLE, MILLSTREAM_NETWORK_PEER_LOST);
  }
  if (code_ == GRPC_STATUS_OK) {
    return EndWithError(call, GRPC_STATUS_UNAVAILABLE, "the peer has ended the stream");
  }
  EndWithError(call, code_, TextOf(message_));
}

void Line::Start(const ClientCallRef& call, const char* method, const millstream_slice* slices,
                 size_t n, int64_t deadline_ns) {
  const bool is_kept = deadline_ns < 0;
  Bytes request = ToBytes(is_kept ? FrontFor(method) : "", slices, n);
  if (request == nullptr) return EndWithError(*call, GRPC_STATUS_RESOURCE_EXHAUSTED, kTooLarge);
  Stream* stream = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_kept && !idle_.empty()) {
      stream = idle_.back();
      idle_.pop_back();
    } else {
      stream = new Stream(shared_from_this(), method, is_kept, deadline_ns);
    }
    stream->Assign(call);
    if (is_lost_) stream->Lose();
  }
  stream->Send(std::move(request));
}

void Line::Cancel(ClientCall* call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (call->stream != nullptr) call->stream->Cancel();
}

void Line::Lose() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_lost_ = true;
  for (Stream* const stream : streams_) stream->Lose();
}

void Line::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_closed_ = true;
  for (Stream* const stream : idle_) stream->Cancel();
  if (open_ != nullptr) open_->Cancel();
}

void Line::KeepOpen() {
  Stream* stream = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_lost_ || is_closed_ || open_ != nullptr) return;
    stream = new Stream(shared_from_this(), "", /*is_kept=*/true, /*deadline_ns=*/-1);
    open_ = stream;
  }
  stream->Open();
}

}  // namespace millstream::network
