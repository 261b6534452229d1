// HostConnection: the threads that read, and what they do with the messages.
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "distributed_runtime/handler_thread.h"
#include "distributed_runtime/host_connection.h"
#include "distributed_runtime/thread_cache.h"
#include "framework/buffer.h"
#include "framework/plugin/host_interfaces.h"

namespace millstream {
namespace {

// How long a thread reads in place of the others before it waits for them. What cancels its wait
// does not wake it meanwhile.
constexpr std::chrono::milliseconds kHelpPatience{1};
// Threads that read the ring: one that reads, and one that was kept and has come back.
constexpr int kMostRingReaders = 2;
// Of what refused peers did wrong: some of it is in words of theirs.
constexpr size_t kMostKinds = 32;

// True once for each kind. Any process of this user can make many connections.
bool IsNewKind(absl::string_view kind) {
  ABSL_CONST_INIT static absl::Mutex mutex(absl::kConstInit);
  static auto* const kinds = new absl::flat_hash_set<std::string>;
  absl::MutexLock lock(&mutex);
  return kinds->size() < kMostKinds && kinds->emplace(kind).second;
}

}  // namespace

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

// One turn of a thread that reads the ring.
class HostConnection::RingThread final : public HandlerThread::Owner {
 public:
  explicit RingThread(HostConnection* connection) : connection_(*connection) {}
  void HandOver() override {
    is_kept_ = true;
    connection_.LeaveWithTurn();
  }
  void Help(absl::FunctionRef<bool()> is_done) override { connection_.Help(is_done); }
  void AnswerAndHelp(absl::FunctionRef<void()> answer, absl::FunctionRef<bool()> is_done) override {
    connection_.AnswerAndHelp(answer, is_done);
  }
  bool is_kept() const { return is_kept_; }

 private:
  HostConnection& connection_;
  bool is_kept_ = false;
};

// ---- The turn ----

bool HostConnection::TryTakeTurn() {
  absl::MutexLock lock(&turn_mutex_);
  if (is_taken_) return false;
  is_taken_ = true;
  return true;
}

void HostConnection::TakeTurn() {
  absl::MutexLock lock(&turn_mutex_);
  turn_mutex_.Await(absl::Condition(this, &HostConnection::IsFree));
  is_taken_ = true;
}

void HostConnection::GiveTurn() {
  absl::MutexLock lock(&turn_mutex_);
  is_taken_ = false;
}

// A reader that was woken while the turn was taken sleeps again. So what has come meanwhile is
// looked for when the turn is free.
void HostConnection::GiveTurnToReader() {
  Ring* const ring = ring_.load(std::memory_order_acquire);
  if (ring != nullptr) ring->in.SetSleeper(RingSleeper::kReader);
  GiveTurn();
  if (ring != nullptr && !ring->in.IsEmpty()) ring->in.Nudge();
}

// ---- Threads ----

void HostConnection::Begin(std::function<void()> on_end) {
  on_end_ = std::move(on_end);
  {
    absl::MutexLock lock(&turn_mutex_);
    ++readers_;
  }
  if (handler_ == nullptr) OfferRing();
  ThreadCache::Global()->Run([self = shared_from_this()] { self->ReadSocket(); });
}

// Without memory for it, all goes through the socket.
void HostConnection::OfferRing() {
  const std::shared_ptr<SharedRegion> memory = SharedRegion::Create(2 * kRingSize);
  if (memory == nullptr) return;
  Frame frame;
  frame.head.kind = FrameHead::kRing;
  frame.head.region_size = memory->size();
  frame.head.has_descriptor = 1;
  frame.descriptor = memory->descriptor();
  Send(std::move(frame), memory);
  owned_ring_ = std::make_unique<Ring>(memory, /*is_first=*/true);
  ring_.store(owned_ring_.get(), std::memory_order_seq_cst);
  StartRingReader();
}

void HostConnection::StartRingReader() {
  {
    absl::MutexLock lock(&turn_mutex_);
    ++readers_;
    ++ring_readers_;
  }
  ThreadCache::Global()->Run([self = shared_from_this()] { self->ReadRing(); });
}

void HostConnection::LeaveWithTurn() {
  bool is_last = false;
  {
    absl::MutexLock lock(&turn_mutex_);
    is_last = ring_readers_ == 1;
    if (!is_last) {
      --readers_;
      --ring_readers_;
    }
  }
  // Another thread takes the place of the last one.
  if (is_last) ThreadCache::Global()->Run([self = shared_from_this()] { self->ReadRing(); });
  GiveTurnToReader();
}

// Whoever reads the socket is there until the connection has ended.
bool HostConnection::TryReturn() {
  absl::MutexLock lock(&turn_mutex_);
  if (has_ended() || ring_readers_ == kMostRingReaders) return false;
  ++readers_;
  ++ring_readers_;
  return true;
}

void HostConnection::LeaveReaders() {
  {
    absl::MutexLock lock(&turn_mutex_);
    if (--readers_ > 0) return;
  }
  flow_.Close();
  Ring* const ring = ring_.load(std::memory_order_acquire);
  if (handler_ == nullptr && ring != nullptr) {
    // Answers that came before the end.
    TakeTurn();
    TakeAll(ring, nullptr).IgnoreError();
    GiveTurn();
  }
  EndCalls();
  if (on_end_ != nullptr) on_end_();
}

void HostConnection::ReadSocket() {
  while (true) {
    StatusOr<Frame> frame = reader_.Read();
    Status status = frame.status();
    if (status.ok()) {
      TakeTurn();
      const BusyThread busy;
      const HandlerThread::Scope nobody(nullptr);
      Ring* const ring = ring_.load(std::memory_order_acquire);
      if (ring != nullptr) status = TakeAll(ring, nullptr);  // what was sent before it
      if (status.ok()) {
        status = Take(*std::move(frame));
      } else if (frame->descriptor >= 0) {
        close(frame->descriptor);
      }
      GiveTurnToReader();
    }
    if (status.ok()) continue;
    Refuse(status);
    return LeaveReaders();
  }
}

void HostConnection::ReadRing() {
  RingReader& in = ring_.load(std::memory_order_acquire)->in;
  while (true) {
    uint32_t number = in.sleeper();
    if (has_ended()) return LeaveReaders();
    if (TryTakeTurn()) {
      RingThread thread(this);
      const Status status = ReadTurn(owned_ring_.get(), &thread);
      if (thread.is_kept()) {
        if (!TryReturn()) return;
        continue;
      }
      number = in.SetSleeper(RingSleeper::kReader);
      const bool is_empty = in.IsEmpty();
      GiveTurn();
      if (!status.ok()) Refuse(status);
      if (!is_empty || has_ended()) continue;
    }
    in.Sleep(RingSleeper::kReader, number, absl::InfiniteDuration());
  }
}

void HostConnection::Help(absl::FunctionRef<bool()> is_done) {
  Ring* const ring = ring_.load(std::memory_order_acquire);
  if (ring != nullptr && TryTakeTurn()) HelpInTurn(ring, is_done);
}

// The peer may send its next message before this thread is back from the answer, by which the
// system may let the peer run in its place. It wakes nobody, as the turn is taken.
void HostConnection::AnswerAndHelp(absl::FunctionRef<void()> answer,
                                   absl::FunctionRef<bool()> is_done) {
  Ring* const ring = ring_.load(std::memory_order_acquire);
  if (ring == nullptr || !TryTakeTurn()) {
    answer();
    return Help(is_done);
  }
  ring->in.SetSleeper(RingSleeper::kNobody);
  answer();
  HelpInTurn(ring, is_done);
}

void HostConnection::HelpInTurn(Ring* ring, absl::FunctionRef<bool()> is_done) {
  const BusyThread busy;
  const HandlerThread::Scope nobody(nullptr);
  const auto end = std::chrono::steady_clock::now() + kHelpPatience;
  Status status;
  while (true) {
    status = TakeAll(ring, nullptr);
    if (!status.ok() || is_done() || has_ended()) break;
    if (look_.Look([ring] { return !ring->in.IsEmpty(); })) continue;
    const auto left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) break;
    const uint32_t number = ring->in.SetSleeper(RingSleeper::kHelper);
    if (!ring->in.IsEmpty() || has_ended()) continue;
    ring->in.Sleep(RingSleeper::kHelper, number, absl::FromChrono(left));
  }
  GiveTurnToReader();
  if (!status.ok()) Refuse(status);
}

void HostConnection::Refuse(const Status& status) {
  if (!absl::IsUnavailable(status) && IsNewKind(status.message())) {
    HostLog(MS_LOG_WARNING, absl::StrCat("a connection of ", peer_, " on this host is refused: ",
                                         status.message(), " (logged once)"));
  }
  Shut();
}

// ---- Messages ----

// A task waits for the next request of a step here. Answers are looked for by who waits for them.
Status HostConnection::ReadTurn(Ring* ring, RingThread* thread) {
  const BusyThread busy;
  const HandlerThread::Scope scope(thread);
  do {
    MS_RETURN_IF_ERROR(TakeAll(ring, thread));
    if (thread->is_kept() || handler_ == nullptr) break;
  } while (look_.Look([this, ring] { return !ring->in.IsEmpty() || has_ended(); }) && !has_ended());
  return absl::OkStatus();
}

Status HostConnection::TakeAll(Ring* ring, const RingThread* thread) {
  ring->in.SetSleeper(RingSleeper::kNobody);
  std::string bytes;
  while (true) {
    // A server that was stopped handles nothing any more.
    if (has_ended() && handler_ != nullptr) return absl::OkStatus();
    MS_ASSIGN_OR_RETURN(const bool has_taken, ring->in.Take(&bytes));
    if (!has_taken) return absl::OkStatus();
    MS_ASSIGN_OR_RETURN(Frame frame, Frame::Decode(bytes));
    MS_RETURN_IF_ERROR(Take(std::move(frame)));
    if (thread != nullptr && thread->is_kept()) return absl::OkStatus();
  }
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
    case FrameHead::kTaken: SendWaiting(flow_.Arrive(frame.head.region)); return absl::OkStatus();
    case FrameHead::kPing: SendOf(FrameHead::kPong, 0); return absl::OkStatus();
    case FrameHead::kPong: TakePong(); return absl::OkStatus();
    case FrameHead::kRing: return TakeRing(std::move(frame));
    default: return errors::InvalidArgument("a frame is of kind ", frame.head.kind);
  }
}

Status HostConnection::TakeRing(Frame frame) {
  std::shared_ptr<SharedRegion> memory;
  if (frame.descriptor >= 0) {
    memory = SharedRegion::Map(frame.descriptor, frame.head.region_size);
  }
  if (handler_ == nullptr || owned_ring_ != nullptr || memory == nullptr ||
      memory->size() < 2 * kRingSize) {
    return errors::InvalidArgument("the shared memory for messages cannot be used");
  }
  owned_ring_ = std::make_unique<Ring>(std::move(memory), /*is_first=*/false);
  ring_.store(owned_ring_.get(), std::memory_order_seq_cst);
  StartRingReader();
  return absl::OkStatus();
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
    SendOf(FrameHead::kTaken, frame->head.region);
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

}  // namespace millstream
