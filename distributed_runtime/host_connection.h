// A connection between two processes of one host, for requests in one direction.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_HOST_CONNECTION_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_HOST_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "distributed_runtime/bounded_flow.h"
#include "distributed_runtime/brief_look.h"
#include "distributed_runtime/host_frame.h"
#include "distributed_runtime/message_ring.h"
#include "distributed_runtime/payload.h"
#include "distributed_runtime/region_pool.h"
#include "distributed_runtime/shared_region.h"
#include "distributed_runtime/transport.h"
#include "framework/status.h"

namespace millstream {

// Small messages go through a ring in shared memory for each direction. Large slices are copied
// once, into regions of shared memory, where the receiver uses them as they are. What brings a new
// region, or finds no room in the ring, goes through the socket, whose end also says that the other
// process has ended. Messages of the ring may overtake those of the socket, and never the reverse.
//
// One thread at a time reads: it has the turn. A thread reads the socket until the connection ends;
// one or two read the ring. A thread that waits for an answer takes the turn meanwhile (Help), so
// that nobody has to wake it. A thread that runs a handler may keep itself for that
// (HandlerThread): another one reads on.
//
// A thread with requests to several processes waits for one answer after the other. So that the
// answers that it does not wait for as yet wake no thread, each ring is quiet until it is helped
// (StartAwaited), unless there is another call, or a heartbeat comes first.
//
// No lock is held while another is taken or a callback runs. Thread-safe.
class HostConnection : public std::enable_shared_from_this<HostConnection> {
 public:
  // What is on its way to the other process in regions that it has not seen as yet.
  static constexpr size_t kMostOnItsWay = size_t{256} << 20;

  // Takes over a connected socket. `handler` answers the requests of the other side; null: this
  // side sends the requests. `peer` is a name for messages.
  HostConnection(int socket, std::string peer, std::shared_ptr<RequestHandler> handler,
                 size_t most_on_its_way = kMostOnItsWay);
  ~HostConnection();
  HostConnection(const HostConnection&) = delete;
  HostConnection& operator=(const HostConnection&) = delete;

  // Begins to read, which keeps the object alive. Called once. Calls `on_end` when the connection
  // has ended and no request is being passed to the handler, but for those that keep their threads.
  void Begin(std::function<void()> on_end) ABSL_LOCKS_EXCLUDED(turn_mutex_);
  // As Channel::Start, without a deadline.
  std::shared_ptr<Channel::Call> Start(absl::string_view method, Payload request, Respond respond);
  // As Channel::StartAwaited, without a deadline.
  std::shared_ptr<Channel::Call> StartAwaited(absl::string_view method, Payload request,
                                              Respond respond);
  // As Channel::Help.
  void Help(absl::FunctionRef<bool()> is_done) ABSL_LOCKS_EXCLUDED(turn_mutex_);
  // As HandlerThread::Owner::AnswerAndHelp. `answer` is always called.
  void AnswerAndHelp(absl::FunctionRef<void()> answer, absl::FunctionRef<bool()> is_done)
      ABSL_LOCKS_EXCLUDED(turn_mutex_);
  // Called with each heartbeat of the side that sends requests. Ends the connection if there are
  // calls and the other side has been silent for some heartbeats.
  void Beat() ABSL_LOCKS_EXCLUDED(calls_mutex_);
  // Ends the connection. Calls end with UNAVAILABLE, on the thread that reads.
  void Shut();
  bool has_ended() const { return has_ended_.load(std::memory_order_seq_cst); }
  // Bytes in regions that the other side has not seen as yet.
  size_t on_its_way() const { return flow_.on_its_way(); }

 private:
  class PendingCall;
  class RegionUse;
  class RingThread;
  struct Ring {
    Ring(std::shared_ptr<SharedRegion> region, bool is_first)
        : memory(std::move(region)),
          out(memory->data() + (is_first ? 0 : kRingSize)),
          in(memory->data() + (is_first ? kRingSize : 0)) {}
    const std::shared_ptr<SharedRegion> memory;
    RingWriter out;  // of the thread that has out_mutex_
    RingReader in;   // of the thread that has the turn
  };

  // ---- Calls ----
  // Takes a call in. Returns its number, 0 if the connection has ended.
  uint64_t AddCall(std::shared_ptr<PendingCall> call) ABSL_LOCKS_EXCLUDED(calls_mutex_);
  std::shared_ptr<Channel::Call> StartCall(absl::string_view method, Payload request,
                                           Respond respond, bool is_awaited);
  // Without those that are open for as long as somebody watches the other side.
  bool HasOneCall() const ABSL_LOCKS_EXCLUDED(calls_mutex_);
  // A message that comes while the ring is quiet wakes nobody. It is not quiet any more when a
  // thread has taken the turn.
  void BeginQuiet() ABSL_LOCKS_EXCLUDED(turn_mutex_, calls_mutex_);
  void EndQuiet();

  // ---- Out ----
  static size_t BytesInRegion(const Payload& payload);
  void SendMessage(FrameHead::Kind kind, uint64_t call, const Status& status,
                   absl::string_view text, const Payload& payload);
  void SendNow(FrameHead::Kind kind, uint64_t call, const Status& status, absl::string_view text,
               const Payload& payload);
  void SendOf(FrameHead::Kind kind, uint64_t region);
  void SendWaiting(std::vector<BoundedFlow::Send> ready);
  void Send(Frame frame, std::shared_ptr<SharedRegion> region) ABSL_LOCKS_EXCLUDED(out_mutex_);
  // True if the ring has taken the frame.
  bool TryRing(Ring* ring, absl::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(out_mutex_);
  struct Outgoing {
    std::string bytes;
    size_t sent = 0;
    int descriptor = -1;                   // to be sent with the first byte
    std::shared_ptr<SharedRegion> region;  // has the descriptor, until it was sent
  };
  // True if all has been sent; false if the socket takes no more at the moment.
  bool WriteSocket(Outgoing* outgoing);
  void DrainQueue() ABSL_LOCKS_EXCLUDED(out_mutex_);

  // ---- The turn ----
  bool TryTakeTurn() ABSL_LOCKS_EXCLUDED(turn_mutex_);
  void TakeTurn() ABSL_LOCKS_EXCLUDED(turn_mutex_);
  void GiveTurn() ABSL_LOCKS_EXCLUDED(turn_mutex_);
  // The same, and wakes a reader of the ring if there is something in it.
  void GiveTurnToReader() ABSL_LOCKS_EXCLUDED(turn_mutex_);
  bool IsFree() const ABSL_SHARED_LOCKS_REQUIRED(turn_mutex_) { return !is_taken_; }
  // Threads that read the ring. One that is kept leaves, with its turn, and may return.
  void StartRingReader() ABSL_LOCKS_EXCLUDED(turn_mutex_);
  void LeaveWithTurn() ABSL_LOCKS_EXCLUDED(turn_mutex_);
  bool TryReturn() ABSL_LOCKS_EXCLUDED(turn_mutex_);
  // Of threads that read the socket or the ring. The last one ends the calls.
  void LeaveReaders() ABSL_LOCKS_EXCLUDED(turn_mutex_);

  // ---- In ----
  void OfferRing();
  void ReadSocket();
  void ReadRing();
  // The other side has sent what it must not, or has ended. Logs the former, once for each kind.
  void Refuse(const Status& status);
  // These are for who has the turn. `thread` is null if the thread cannot be kept; else they return
  // when it is, without the turn.
  Status ReadTurn(Ring* ring, RingThread* thread);
  // Gives the turn back.
  void HelpInTurn(Ring* ring, absl::FunctionRef<bool()> is_done) ABSL_LOCKS_EXCLUDED(turn_mutex_);
  Status TakeAll(Ring* ring, const RingThread* thread);
  Status Take(Frame frame);
  Status TakeRing(Frame frame);
  Status TakeRequest(Frame frame);
  Status TakeResponse(Frame frame);
  StatusOr<Payload> PayloadOf(Frame* frame);
  std::shared_ptr<PendingCall> TakeCall(uint64_t number) ABSL_LOCKS_EXCLUDED(calls_mutex_);
  void TakePong() ABSL_LOCKS_EXCLUDED(calls_mutex_);
  void EndCalls() ABSL_LOCKS_EXCLUDED(calls_mutex_);

  const int socket_;
  const std::string peer_;
  const std::shared_ptr<RequestHandler> handler_;
  std::atomic<bool> has_ended_{false};
  RegionPool pool_;
  BoundedFlow flow_;
  std::function<void()> on_end_;
  FrameReader reader_;  // of the thread that reads the socket
  std::unique_ptr<Ring> owned_ring_;
  std::atomic<Ring*> ring_{nullptr};  // null: there is none as yet
  std::atomic<uint64_t> quiet_{0};    // kIsQuiet and the number for RingReader::Rouse; or 0
  // Of who has the turn.
  absl::flat_hash_map<uint64_t, std::shared_ptr<SharedRegion>> mapped_;
  BriefLook look_;

  absl::Mutex turn_mutex_;
  bool is_taken_ ABSL_GUARDED_BY(turn_mutex_) = false;
  int readers_ ABSL_GUARDED_BY(turn_mutex_) = 0;       // threads
  int ring_readers_ ABSL_GUARDED_BY(turn_mutex_) = 0;  // those of them that read the ring

  absl::Mutex out_mutex_;
  std::deque<Outgoing> queue_ ABSL_GUARDED_BY(out_mutex_);  // what the socket did not take as yet
  bool is_draining_ ABSL_GUARDED_BY(out_mutex_) = false;

  mutable absl::Mutex calls_mutex_;
  bool takes_calls_ ABSL_GUARDED_BY(calls_mutex_) = true;
  uint64_t next_call_ ABSL_GUARDED_BY(calls_mutex_) = 1;
  int silent_beats_ ABSL_GUARDED_BY(calls_mutex_) = 0;  // since the other side answered
  absl::flat_hash_map<uint64_t, std::shared_ptr<PendingCall>> calls_ ABSL_GUARDED_BY(calls_mutex_);
  size_t num_watches_ ABSL_GUARDED_BY(calls_mutex_) = 0;  // of these, see HasOneCall
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_HOST_CONNECTION_H_
