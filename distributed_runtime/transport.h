// How the tasks of a cluster exchange bytes. The rest of the distributed runtime knows only these
// classes.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_TRANSPORT_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_TRANSPORT_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "distributed_runtime/payload.h"
#include "framework/status.h"

namespace millstream {

// Takes the response of one call. Called once, on any thread. It must not block.
using Respond = std::function<void(const Status& status, Payload response)>;

// Handles the requests to a server. Thread-safe.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  // Calls `respond` once, perhaps before it returns, perhaps later on another thread. Does not
  // block. Errors of the runtime are in the response; a status is an error of the transport.
  virtual void Handle(absl::string_view method, Payload request, Respond respond) = 0;
};

// Receives requests at an address. Its destructor refuses further requests. Thread-safe.
class TransportServer {
 public:
  virtual ~TransportServer() = default;
  // "localhost:2222", with the port that it has; or "unix:/a/path".
  virtual const std::string& address() const = 0;
};

// Sends requests to one address. Thread-safe.
class Channel {
 public:
  // A call that may be in progress.
  class Call {
   public:
    virtual ~Call() = default;
    // Ends the call with CANCELLED, unless it has ended.
    virtual void Cancel() = 0;
  };

  virtual ~Channel() = default;
  // Sends a request. The call goes on if the result is dropped. UNAVAILABLE if nobody is at the
  // address or the connection breaks, DEADLINE_EXCEEDED after `deadline` (SteadyNow). REQUIRES: the
  // caller holds no lock that `respond` takes.
  virtual std::shared_ptr<Call> Start(absl::string_view method, Payload request,
                                      absl::Time deadline, Respond respond) = 0;
  // The same for a caller that takes the answer by Help: a channel may wake no other thread for it
  // until then, or until there is another call or a heartbeat. So an answer may wait for a second
  // if the caller does something else before. REQUIRES: the caller calls Help, also if it needs the
  // answer no more.
  virtual std::shared_ptr<Call> StartAwaited(absl::string_view method, Payload request,
                                             absl::Time deadline, Respond respond) {
    return Start(method, std::move(request), deadline, std::move(respond));
  }
  // For a thread that is about to wait for an answer: takes messages on it, so that no other thread
  // is woken to take them. Returns when `is_done` does, or after a moment: the caller then waits as
  // it would have. Many channels do nothing. REQUIRES: the caller holds no lock that `respond` of a
  // call takes.
  virtual void Help(absl::FunctionRef<bool()> is_done) {}
};

// Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;
  // Begins to receive requests at "HOST:PORT", where port 0 is any free port, or at a socket in a
  // file, "unix:PATH". UNAVAILABLE if the port is in use. The server keeps the handler.
  virtual StatusOr<std::unique_ptr<TransportServer>> Serve(
      const std::string& address, std::shared_ptr<RequestHandler> handler) = 0;
  // A channel to the address, where nobody needs to listen as yet.
  virtual StatusOr<std::shared_ptr<Channel>> Connect(const std::string& address) = 0;
};

// UNAVAILABLE, where somebody was at the address: there was a connection, and it has ended.
Status PeerLost(absl::string_view text);
// Whether an error says that.
bool IsPeerLost(const Status& status);

// Sends a request and waits for the response.
StatusOr<Payload> CallAndWait(Channel* channel, absl::string_view method, Payload request,
                              absl::Time deadline);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_TRANSPORT_H_
