// A transport for tests that loses messages, and counts them.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_FAULTY_TRANSPORT_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_FAULTY_TRANSPORT_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "distributed_runtime/transport.h"
#include "framework/status.h"

namespace millstream {

// What becomes of the requests that leave through a transport, and of their responses.
enum class Fault {
  kNone,
  kRefused,  // requests fail with UNAVAILABLE
  kBroken,   // the same, because the connection breaks that there is (PeerLost)
  kLost,     // neither requests arrive nor responses to earlier ones, and nobody is told
};

// The transport of one task over another transport. Thread-safe.
class FaultyTransport final : public Transport {
 public:
  // REQUIRES: `inner` outlives this object.
  explicit FaultyTransport(Transport* inner);

  StatusOr<std::unique_ptr<TransportServer>> Serve(
      const std::string& address, std::shared_ptr<RequestHandler> handler) override;
  StatusOr<std::shared_ptr<Channel>> Connect(const std::string& address) override;

  void Set(Fault fault);
  // Messages are lost from the next request of a method on, which is the first of them.
  void LoseFrom(absl::string_view method);
  // Responses to requests of the method are held from now on, until ReleaseResponses.
  void HoldResponses(absl::string_view method);
  void ReleaseResponses();
  int num_held() const;
  // Requests of the method are held from now on, until ReleaseRequests. Nobody can cancel them.
  void HoldRequests(absl::string_view method);
  void ReleaseRequests();
  // The connections break, for the requests of the method that have no response as yet: these end
  // (PeerLost). Later ones arrive, unless Set says otherwise.
  void Break(absl::string_view method);
  // The requests of a method since the last call of ForgetCounts.
  int Count(absl::string_view method) const;
  void ForgetCounts();

  // What channels share.
  class State;

 private:
  Transport& inner_;
  const std::shared_ptr<State> state_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_TESTING_FAULTY_TRANSPORT_H_
