#include "distributed_runtime/host_connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/graph/fork_guard.h"
#include "distributed_runtime/thread_cache.h"
#include "framework/buffer.h"
#include "framework/plugin/host_interfaces.h"

namespace millstream {
namespace {

// Slices from this size on go through shared memory.
constexpr size_t kLarge = size_t{64} << 10;
// In heartbeats: how long a process that does not answer is not taken for stopped.
constexpr int kPatience = 3;
// Of slices in a region: tensors are used in place at such addresses.
constexpr size_t kAlignment = 64;

size_t Aligned(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

// Whichever of the response and Cancel comes first ends the call.
class HostConnection::PendingCall final : public Channel::Call {
 public:
  explicit PendingCall(Respond respond) : respond_(std::move(respond)) {}
  void Cancel() override { End(errors::Cancelled("the call was cancelled"), Payload()); }
  void End(const Status& status, Payload response) {
    if (has_ended_.exchange(true)) return;
    const Respond respond = std::move(respond_);
    respond(status, std::move(response));
  }

 private:
  std::atomic<bool> has_ended_{false};
  Respond respond_;
};

// What a received message has in a region. Tells the sender when nothing uses it any more.
class HostConnection::RegionUse {
 public:
  RegionUse(std::weak_ptr<HostConnection> connection, uint64_t number,
            std::shared_ptr<SharedRegion> region)
      : connection_(std::move(connection)), number_(number), region_(std::move(region)) {}
  ~RegionUse() {
    const std::shared_ptr<HostConnection> connection = connection_.lock();
    if (connection != nullptr) connection->SendOf(FrameHead::kRelease, number_);
  }
  char* data() const { return region_->data(); }

 private:
  const std::weak_ptr<HostConnection> connection_;
  const uint64_t number_;
  const std::shared_ptr<SharedRegion> region_;
};

HostConnection::HostConnection(int socket, std::string peer,
                               std::shared_ptr<RequestHandler> handler)
    : socket_(socket), peer_(std::move(peer)), handler_(std::move(handler)), reader_(socket) {}

HostConnection::~HostConnection() { close(socket_); }

void HostConnection::Begin(std::function<void()> on_end) {
  ThreadCache::Global()->Run(
      [self = shared_from_this(), on_end = std::move(on_end)] { self->ReadAll(on_end); });
}

void HostConnection::Shut() {
  has_ended_.store(true, std::memory_order_release);
  shutdown(socket_, SHUT_RDWR);
}

std::shared_ptr<Channel::Call> HostConnection::Start(absl::string_view method, Payload request,
                                                     Respond respond) {
  auto call = std::make_shared<PendingCall>(std::move(respond));
  uint64_t number = 0;
  {
    absl::MutexLock lock(&calls_mutex_);
    if (takes_calls_) {
      number = next_call_++;
      calls_[number] = call;
    }
  }
  if (number == 0) {
    call->End(absl::UnavailableError(absl::StrCat("the connection to ", peer_, " has ended")),
              Payload());
  } else {
    SendMessage(FrameHead::kRequest, number, absl::OkStatus(), method, request);
  }
  return call;
}

void HostConnection::Beat() {
  bool is_silent = false;
  {
    absl::MutexLock lock(&calls_mutex_);
    silent_beats_ = calls_.empty() ? 0 : silent_beats_ + 1;
    if (calls_.empty()) return;
    is_silent = silent_beats_ > kPatience;
  }
  if (is_silent) return Shut();
  SendOf(FrameHead::kPing, 0);
}

// ---- Out ----

void HostConnection::SendMessage(FrameHead::Kind kind, uint64_t call, const Status& status,
                                 absl::string_view text, const Payload& payload) {
  Frame frame;
  frame.head.kind = kind;
  frame.head.call = call;
  frame.head.code = static_cast<int32_t>(status.code());
  frame.text = std::string(text);
  size_t in_region = 0;
  for (const Slice& slice : payload.slices()) {
    if (slice.size >= kLarge) in_region += Aligned(slice.size);
  }
  RegionPool::Lent lent;
  if (in_region > 0) lent = pool_.Take(in_region);
  size_t offset = 0;
  for (const Slice& slice : payload.slices()) {
    if (lent.region != nullptr && slice.size >= kLarge) {
      std::memcpy(lent.region->data() + offset, slice.data, slice.size);
      frame.segments.push_back({slice.size, offset});
      offset += Aligned(slice.size);
      continue;
    }
    frame.bytes.append(slice.data, slice.size);
    if (frame.segments.empty() || frame.segments.back().offset != FrameSegment::kInline) {
      frame.segments.emplace_back();
    }
    frame.segments.back().size += slice.size;
  }
  if (lent.region != nullptr) {
    frame.head.region = lent.number;
    frame.head.region_size = lent.region->size();
    frame.head.has_descriptor = lent.is_new ? 1 : 0;
    if (lent.is_new) frame.descriptor = lent.region->descriptor();
  }
  Send(std::move(frame), std::move(lent.region));
}

void HostConnection::SendOf(FrameHead::Kind kind, uint64_t region) {
  Frame frame;
  frame.head.kind = kind;
  frame.head.region = region;
  Send(std::move(frame), nullptr);
}

void HostConnection::Send(Frame frame, std::shared_ptr<SharedRegion> region) {
  // A child shares the socket with its parent.
  if (ForkGuard::Forked()) return;
  Outgoing outgoing;
  outgoing.bytes = frame.Encode();
  outgoing.descriptor = frame.descriptor;
  outgoing.region = std::move(region);
  {
    absl::MutexLock lock(&out_mutex_);
    if (has_ended()) return;
    if (!is_draining_ && SendNow(&outgoing)) return;
    queue_.push_back(std::move(outgoing));
    if (is_draining_) return;
    is_draining_ = true;
  }
  ThreadCache::Global()->Run([self = shared_from_this()] { self->DrainQueue(); });
}

bool HostConnection::SendNow(Outgoing* outgoing) {
  while (outgoing->sent < outgoing->bytes.size()) {
    iovec part{outgoing->bytes.data() + outgoing->sent, outgoing->bytes.size() - outgoing->sent};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (outgoing->descriptor >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
      cmsghdr* const rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(rights), &outgoing->descriptor, sizeof(int));
    }
    const ssize_t sent = sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (sent < 0) {
      Shut();  // the thread that reads ends the calls
      return true;
    }
    outgoing->descriptor = -1;
    outgoing->sent += static_cast<size_t>(sent);
  }
  return true;
}

// Waits for the socket in place of those who send.
void HostConnection::DrainQueue() {
  while (true) {
    Outgoing outgoing;
    {
      absl::MutexLock lock(&out_mutex_);
      if (has_ended()) queue_.clear();
      is_draining_ = !queue_.empty();
      if (!is_draining_) return;
      outgoing = std::move(queue_.front());
      queue_.pop_front();
    }
    while (!SendNow(&outgoing) && !has_ended()) {
      pollfd wait{socket_, POLLOUT, 0};
      poll(&wait, 1, -1);
    }
  }
}

// ---- In ----

void HostConnection::ReadAll(const std::function<void()>& on_end) {
  Status status;
  while (status.ok()) {
    StatusOr<Frame> frame = reader_.Read();
    status = frame.status();
    if (status.ok()) status = Take(*std::move(frame));
  }
  if (!absl::IsUnavailable(status)) {
    HostLog(MS_LOG_WARNING, absl::StrCat("a connection of ", peer_,
                                         " on this host is refused: ", status.message()));
  }
  Shut();
  EndCalls();
  if (on_end != nullptr) on_end();
}

Status HostConnection::Take(Frame frame) {
  switch (frame.head.kind) {
    case FrameHead::kRequest: return TakeRequest(std::move(frame));
    case FrameHead::kResponse: return TakeResponse(std::move(frame));
    case FrameHead::kRelease:
      for (const uint64_t dropped : pool_.Return(frame.head.region)) {
        SendOf(FrameHead::kDrop, dropped);
      }
      return absl::OkStatus();
    case FrameHead::kDrop: mapped_.erase(frame.head.region); return absl::OkStatus();
    case FrameHead::kPing: SendOf(FrameHead::kPong, 0); return absl::OkStatus();
    case FrameHead::kPong: TakePong(); return absl::OkStatus();
    default: return errors::InvalidArgument("a frame is of kind ", frame.head.kind);
  }
}

Status HostConnection::TakeRequest(Frame frame) {
  MS_ASSIGN_OR_RETURN(Payload request, PayloadOf(&frame));
  if (handler_ == nullptr) return errors::InvalidArgument("a server sent a request");
  handler_->Handle(
      frame.text, std::move(request),
      [self = shared_from_this(), call = frame.head.call](const Status& status, Payload response) {
        self->SendMessage(FrameHead::kResponse, call, status, status.message(), response);
      });
  return absl::OkStatus();
}

Status HostConnection::TakeResponse(Frame frame) {
  MS_ASSIGN_OR_RETURN(Payload response, PayloadOf(&frame));
  const std::shared_ptr<PendingCall> call = TakeCall(frame.head.call);
  if (call == nullptr) return errors::InvalidArgument("a response answers no request");
  call->End(Status(static_cast<absl::StatusCode>(frame.head.code), frame.text),
            std::move(response));
  return absl::OkStatus();
}

StatusOr<Payload> HostConnection::PayloadOf(Frame* frame) {
  std::shared_ptr<RegionUse> use;
  if (frame->head.region_size > 0) {
    std::shared_ptr<SharedRegion>& region = mapped_[frame->head.region];
    if (frame->descriptor >= 0) {
      region = SharedRegion::Map(frame->descriptor, frame->head.region_size);
    }
    if (region == nullptr || region->size() != frame->head.region_size) {
      return errors::InvalidArgument("shared memory of a frame cannot be mapped");
    }
    use = std::make_shared<RegionUse>(weak_from_this(), frame->head.region, region);
  }
  const auto bytes = std::make_shared<std::string>(std::move(frame->bytes));
  size_t read = 0;
  Payload payload;
  for (const FrameSegment& segment : frame->segments) {
    Slice slice;
    slice.size = segment.size;
    if (segment.offset == FrameSegment::kInline) {
      slice.data = bytes->data() + read;
      slice.owner =
          BorrowBuffer(bytes->data() + read, segment.size, /*writable=*/false, [bytes] {});
      read += segment.size;
    } else {
      slice.data = use->data() + segment.offset;
      slice.owner =
          BorrowBuffer(use->data() + segment.offset, segment.size, /*writable=*/true, [use] {});
    }
    payload.Append(std::move(slice));
  }
  return payload;
}

std::shared_ptr<HostConnection::PendingCall> HostConnection::TakeCall(uint64_t number) {
  absl::MutexLock lock(&calls_mutex_);
  const auto found = calls_.find(number);
  if (found == calls_.end()) return nullptr;
  std::shared_ptr<PendingCall> call = std::move(found->second);
  calls_.erase(found);
  return call;
}

void HostConnection::TakePong() {
  absl::MutexLock lock(&calls_mutex_);
  silent_beats_ = 0;
}

void HostConnection::EndCalls() {
  absl::flat_hash_map<uint64_t, std::shared_ptr<PendingCall>> calls;
  {
    absl::MutexLock lock(&calls_mutex_);
    takes_calls_ = false;
    calls.swap(calls_);
  }
  const Status ended =
      absl::UnavailableError(absl::StrCat("no answer from ", peer_, ": the connection has ended"));
  for (const auto& [number, call] : calls) call->End(ended, Payload());
}

}  // namespace millstream
