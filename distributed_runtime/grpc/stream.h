// Calls as a client makes them, on streams that are used again.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_STREAM_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_STREAM_H_

#include <grpc/grpc.h>

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "distributed_runtime/grpc/bytes.h"
#include "distributed_runtime/grpc/queue.h"
#include "distributed_runtime/look_time.h"
#include "distributed_runtime/network_table.h"

namespace millstream::network {

// The method of streams that carry one call after the other. Each request there begins with the
// name of its method.
inline constexpr char kManyCalls[] = "/millstream/";

class Stream;
class Line;

// Shared by the stream, which ends the call, and by the caller, who may cancel it.
struct ClientCall {
  millstream_call_done done = nullptr;
  void* user = nullptr;
  std::shared_ptr<Line> line;
  Stream* stream = nullptr;  // guarded by the line; null: it has ended
  // The same. Null also of an urgent call, which may be open for as long as somebody watches.
  std::optional<AwaitedAnswer> awaited;
};
using ClientCallRef = std::shared_ptr<ClientCall>;

// One connection, with its streams. To begin a stream costs both ends several times as much as a
// message and its answer on one that is there. So a stream is kept when its call has been answered,
// and carries the next call: one at a time, so that no call waits for another one. Calls that end
// at a deadline have streams of their own, which gRPC ends. Thread-safe.
class Line : public std::enable_shared_from_this<Line> {
 public:
  // Takes over the channel. `authorization` is what each stream carries; may be "".
  Line(grpc_channel* channel, std::string authorization)
      : channel_(channel), authorization_(std::move(authorization)) {}
  ~Line() { grpc_channel_destroy(channel_); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  grpc_channel* channel() const { return channel_; }
  const std::string& authorization() const { return authorization_; }
  // Takes over the slices. `deadline_ns` is as in the table. Ends the call at once, as
  // RESOURCE_EXHAUSTED, if they are too large.
  void Start(const ClientCallRef& call, const char* method, const millstream_slice* slices,
             size_t n, int64_t deadline_ns);
  void Cancel(ClientCall* call);
  // The peer cannot be reached: ends all calls, and those to come, as UNAVAILABLE.
  void Lose();
  // No call comes any more: ends the streams that wait for one.
  void Close();
  // The line has connected: begins a stream that carries no call and lasts as long as the
  // connection, so that the peer does not take it for one of somebody who has nothing to say
  // (kIdleMs).
  void KeepOpen();

 private:
  friend class Stream;

  grpc_channel* const channel_;
  const std::string authorization_;
  std::mutex mutex_;
  std::set<Stream*> streams_;  // all that have not ended; guarded by mutex_
  std::vector<Stream*> idle_;  // those that wait for a call; guarded by mutex_
  Stream* open_ = nullptr;     // of KeepOpen; guarded by mutex_
  bool is_lost_ = false;       // guarded by mutex_
  bool is_closed_ = false;     // guarded by mutex_
};

}  // namespace millstream::network

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_STREAM_H_
