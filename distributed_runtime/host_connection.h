// A connection between two processes of one host, for requests in one direction.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_HOST_CONNECTION_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_HOST_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "distributed_runtime/host_frame.h"
#include "distributed_runtime/payload.h"
#include "distributed_runtime/region_pool.h"
#include "distributed_runtime/shared_region.h"
#include "distributed_runtime/transport.h"
#include "framework/status.h"

namespace millstream {

// Small messages go through the socket. Large slices are copied once, into shared memory, where the
// receiver uses them as they are. A thread reads the socket until the connection ends.
//
// No lock is held while another is taken or a callback runs. Thread-safe.
class HostConnection : public std::enable_shared_from_this<HostConnection> {
 public:
  // Takes over a connected socket. `handler` answers the requests of the other side; null: this
  // side sends the requests. `peer` is a name for messages.
  HostConnection(int socket, std::string peer, std::shared_ptr<RequestHandler> handler);
  ~HostConnection();
  HostConnection(const HostConnection&) = delete;
  HostConnection& operator=(const HostConnection&) = delete;

  // Begins to read, which keeps the object alive. Called once. Calls `on_end` when the connection
  // has ended and no request is being passed to the handler.
  void Begin(std::function<void()> on_end);
  // As Channel::Start, without a deadline.
  std::shared_ptr<Channel::Call> Start(absl::string_view method, Payload request, Respond respond);
  // Called with each heartbeat of the side that sends requests. Ends the connection if there are
  // calls and the other side has been silent for some heartbeats.
  void Beat() ABSL_LOCKS_EXCLUDED(calls_mutex_);
  // Ends the connection. Calls end with UNAVAILABLE, on the thread that reads.
  void Shut();
  bool has_ended() const { return has_ended_.load(std::memory_order_acquire); }

 private:
  class PendingCall;
  class RegionUse;

  // ---- Out ----
  void SendMessage(FrameHead::Kind kind, uint64_t call, const Status& status,
                   absl::string_view text, const Payload& payload);
  void SendOf(FrameHead::Kind kind, uint64_t region);
  void Send(Frame frame, std::shared_ptr<SharedRegion> region) ABSL_LOCKS_EXCLUDED(out_mutex_);
  struct Outgoing {
    std::string bytes;
    size_t sent = 0;
    int descriptor = -1;                   // to be sent with the first byte
    std::shared_ptr<SharedRegion> region;  // keeps the descriptor open
  };
  // True if all has been sent; false if the socket takes no more at the moment.
  bool SendNow(Outgoing* outgoing);
  void DrainQueue() ABSL_LOCKS_EXCLUDED(out_mutex_);

  // ---- In ----
  void ReadAll(const std::function<void()>& on_end);
  Status Take(Frame frame);
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
  FrameReader reader_;                                                   // of the reading thread
  absl::flat_hash_map<uint64_t, std::shared_ptr<SharedRegion>> mapped_;  // of the reading thread

  absl::Mutex out_mutex_;
  std::deque<Outgoing> queue_ ABSL_GUARDED_BY(out_mutex_);  // what the socket did not take as yet
  bool is_draining_ ABSL_GUARDED_BY(out_mutex_) = false;

  absl::Mutex calls_mutex_;
  bool takes_calls_ ABSL_GUARDED_BY(calls_mutex_) = true;
  uint64_t next_call_ ABSL_GUARDED_BY(calls_mutex_) = 1;
  int silent_beats_ ABSL_GUARDED_BY(calls_mutex_) = 0;  // since the other side answered
  absl::flat_hash_map<uint64_t, std::shared_ptr<PendingCall>> calls_ ABSL_GUARDED_BY(calls_mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_HOST_CONNECTION_H_
