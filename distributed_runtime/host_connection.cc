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
// Above the number of a ring's sleeper.
constexpr uint64_t kIsQuiet = uint64_t{1} << 32;

// Such a call is answered when something ends, for which nobody awaits the answer.
bool IsWatch(absl::string_view method) {
  return method == "WatchMaster" || method == "WatchCollectives";
}

size_t Aligned(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

// Whichever of the response and Cancel comes first ends the call.
class HostConnection::PendingCall final : public Channel::Call {
 public:
  PendingCall(Respond respond, bool is_watch) : is_watch_(is_watch), respond_(std::move(respond)) {}
  bool is_watch() const { return is_watch_; }
  void Cancel() override { End(errors::Cancelled("the call was cancelled"), Payload()); }
  void End(const Status& status, Payload response) {
    if (has_ended_.exchange(true)) return;
    const Respond respond = std::move(respond_);
    respond(status, std::move(response));
  }

 private:
  const bool is_watch_;
  std::atomic<bool> has_ended_{false};
  Respond respond_;
};

HostConnection::HostConnection(int socket, std::string peer,
                               std::shared_ptr<RequestHandler> handler, size_t most_on_its_way)
    : socket_(socket),
      peer_(std::move(peer)),
      handler_(std::move(handler)),
      flow_(most_on_its_way),
      reader_(socket) {}

HostConnection::~HostConnection() { close(socket_); }

// A reader of the ring checks `has_ended_` after it has loaded the number of its sleep, which
// WakeAll changes. All of these are sequentially consistent.
void HostConnection::Shut() {
  has_ended_.store(true, std::memory_order_seq_cst);
  shutdown(socket_, SHUT_RDWR);
  Ring* const ring = ring_.load(std::memory_order_seq_cst);
  if (ring != nullptr) ring->in.WakeAll();
}

// ---- Calls ----

std::shared_ptr<Channel::Call> HostConnection::Start(absl::string_view method, Payload request,
                                                     Respond respond) {
  return StartCall(method, std::move(request), std::move(respond), /*is_awaited=*/false);
}

std::shared_ptr<Channel::Call> HostConnection::StartAwaited(absl::string_view method,
                                                            Payload request, Respond respond) {
  return StartCall(method, std::move(request), std::move(respond), /*is_awaited=*/true);
}

// A call that is not awaited is added, and then ends the quiet. Who begins the quiet then looks for
// other calls. So one of both sees the other.
std::shared_ptr<Channel::Call> HostConnection::StartCall(absl::string_view method, Payload request,
                                                         Respond respond, bool is_awaited) {
  auto call = std::make_shared<PendingCall>(std::move(respond), IsWatch(method));
  const uint64_t number = AddCall(call);
  if (number == 0) {
    call->End(PeerLost(absl::StrCat("the connection to ", peer_, " has ended")), Payload());
    return call;
  }
  if (is_awaited && HasOneCall()) {
    BeginQuiet();
  } else {
    EndQuiet();
  }
  SendMessage(FrameHead::kRequest, number, absl::OkStatus(), method, request);
  return call;
}

uint64_t HostConnection::AddCall(std::shared_ptr<PendingCall> call) {
  absl::MutexLock lock(&calls_mutex_);
  if (!takes_calls_) return 0;
  const uint64_t number = next_call_++;
  if (call->is_watch()) ++num_watches_;
  calls_[number] = std::move(call);
  return number;
}

bool HostConnection::HasOneCall() const {
  absl::MutexLock lock(&calls_mutex_);
  return calls_.size() == num_watches_ + 1;
}

void HostConnection::BeginQuiet() {
  Ring* const ring = ring_.load(std::memory_order_acquire);
  if (ring == nullptr || !TryTakeTurn()) return;
  const uint32_t number = ring->in.SetSleeper(RingSleeper::kNobody);
  quiet_.store(kIsQuiet | number, std::memory_order_seq_cst);
  if (!ring->in.IsEmpty() || !HasOneCall()) return GiveTurnToReader();
  GiveTurn();
  // The quiet may have ended meanwhile. Then a message may have woken a reader that found the turn
  // taken, and sleeps again.
  if (quiet_.load(std::memory_order_seq_cst) == 0 && !ring->in.IsEmpty()) ring->in.Nudge();
}

void HostConnection::EndQuiet() {
  if (quiet_.load(std::memory_order_seq_cst) == 0) return;
  const uint64_t quiet = quiet_.exchange(0, std::memory_order_seq_cst);
  Ring* const ring = ring_.load(std::memory_order_acquire);
  if (quiet != 0) ring->in.Rouse(static_cast<uint32_t>(quiet));
}

// Who awaits an answer may be busy with something else for long.
void HostConnection::Beat() {
  EndQuiet();
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

size_t HostConnection::BytesInRegion(const Payload& payload) {
  size_t bytes = 0;
  for (const Slice& slice : payload.slices()) {
    if (slice.size >= kLarge) bytes += Aligned(slice.size);
  }
  return bytes;
}

void HostConnection::SendMessage(FrameHead::Kind kind, uint64_t call, const Status& status,
                                 absl::string_view text, const Payload& payload) {
  const size_t in_region = BytesInRegion(payload);
  if (in_region > 0 && !flow_.Begin(in_region, [self = shared_from_this(), kind, call, status,
                                                text = std::string(text), payload] {
        self->SendNow(kind, call, status, text, payload);
      })) {
    return;
  }
  SendNow(kind, call, status, text, payload);
}

void HostConnection::SendNow(FrameHead::Kind kind, uint64_t call, const Status& status,
                             absl::string_view text, const Payload& payload) {
  Frame frame;
  frame.head.kind = kind;
  frame.head.call = call;
  frame.head.code = static_cast<int32_t>(status.code());
  frame.text = std::string(text);
  const size_t in_region = BytesInRegion(payload);
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
    flow_.SetNumber(lent.number, in_region);
  } else if (in_region > 0) {
    SendWaiting(flow_.GiveUp(in_region));  // the system has no memory for it
  }
  Send(std::move(frame), std::move(lent.region));
}

// Copies take their time, and the thread may have others to serve.
void HostConnection::SendWaiting(std::vector<BoundedFlow::Send> ready) {
  for (BoundedFlow::Send& send : ready) ThreadCache::Global()->Run(std::move(send));
}

void HostConnection::SendOf(FrameHead::Kind kind, uint64_t region) {
  Frame frame;
  frame.head.kind = kind;
  frame.head.region = region;
  Send(std::move(frame), nullptr);
}

void HostConnection::Send(Frame frame, std::shared_ptr<SharedRegion> region) {
  // A child shares the socket and the memory with its parent.
  if (ForkGuard::Forked()) return;
  Outgoing outgoing;
  outgoing.bytes = frame.Encode();
  outgoing.descriptor = frame.descriptor;
  outgoing.region = std::move(region);
  Ring* const ring = ring_.load(std::memory_order_acquire);
  bool is_in_ring = false;
  {
    absl::MutexLock lock(&out_mutex_);
    if (has_ended()) return;
    is_in_ring = ring != nullptr && outgoing.descriptor < 0 && TryRing(ring, outgoing.bytes);
    if (!is_in_ring) {
      if (!is_draining_ && WriteSocket(&outgoing)) return;
      queue_.push_back(std::move(outgoing));
      if (is_draining_) return;
      is_draining_ = true;
    }
  }
  if (!is_in_ring) {
    return ThreadCache::Global()->Run([self = shared_from_this()] { self->DrainQueue(); });
  }
  // Nobody waits for a release: it is read with the next message.
  if (frame.head.kind != FrameHead::kRelease) ring->out.Wake();
}

bool HostConnection::TryRing(Ring* ring, absl::string_view bytes) {
  const RingWriter::Result result = ring->out.Write(bytes);
  if (result == RingWriter::Result::kBroken) Shut();  // the thread that reads ends the calls
  return result == RingWriter::Result::kWritten;
}

bool HostConnection::WriteSocket(Outgoing* outgoing) {
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
    if (outgoing->descriptor >= 0) outgoing->region->CloseDescriptor();
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
    while (!WriteSocket(&outgoing) && !has_ended()) {
      pollfd wait{socket_, POLLOUT, 0};
      poll(&wait, 1, -1);
    }
  }
}

// ---- Answers ----

Status HostConnection::TakeResponse(Frame frame) {
  MS_ASSIGN_OR_RETURN(Payload response, PayloadOf(&frame));
  const std::shared_ptr<PendingCall> call = TakeCall(frame.head.call);
  if (call == nullptr) return errors::InvalidArgument("a response answers no request");
  call->End(Status(static_cast<absl::StatusCode>(frame.head.code), frame.text),
            std::move(response));
  return absl::OkStatus();
}

std::shared_ptr<HostConnection::PendingCall> HostConnection::TakeCall(uint64_t number) {
  absl::MutexLock lock(&calls_mutex_);
  const auto found = calls_.find(number);
  if (found == calls_.end()) return nullptr;
  std::shared_ptr<PendingCall> call = std::move(found->second);
  calls_.erase(found);
  if (call->is_watch()) --num_watches_;
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
    num_watches_ = 0;
  }
  const Status ended =
      PeerLost(absl::StrCat("no answer from ", peer_, ": the connection has ended"));
  for (const auto& [number, call] : calls) call->End(ended, Payload());
}

}  // namespace millstream
