// The transport of this process's servers and sessions.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_CLUSTER_TRANSPORT_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_CLUSTER_TRANSPORT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "distributed_runtime/transport.h"
#include "framework/status.h"

namespace millstream {

// Makes the transport that goes through a network, or says why there is none.
using MakeNetwork = std::function<StatusOr<std::unique_ptr<Transport>>()>;
// Whether who talks to a server of this process must show credentials, which the network checks.
using AsksForCredentials = std::function<bool()>;
// How other processes reach the servers of this one.
enum class OtherProcesses { kOfThisHostDirectly, kThroughNetwork };

// Requests to servers of this process go to them directly, those to servers of this host and user
// through sockets and shared memory, others through a network. The network is made when it is first
// needed. Thread-safe.
class ClusterTransport final : public Transport {
 public:
  explicit ClusterTransport(
      MakeNetwork make_network, AsksForCredentials asks = [] { return false; },
      OtherProcesses others = OtherProcesses::kOfThisHostDirectly)
      : make_network_(std::move(make_network)), asks_(std::move(asks)), others_(others) {}

  // The server also answers requests from other processes if there is a network; without one, those
  // from this host, if the address is "localhost:PORT" with a port or "unix:PATH". A server that
  // asks for credentials is not found on its host: the socket there knows of users alone. Nor is
  // one that all other processes are to reach through the network.
  StatusOr<std::unique_ptr<TransportServer>> Serve(
      const std::string& address, std::shared_ptr<RequestHandler> handler) override;
  StatusOr<std::shared_ptr<Channel>> Connect(const std::string& address) override;
  // Whether servers of this process ask for credentials.
  bool asks() const { return asks_(); }
  // The network; errors of `make_network`.
  StatusOr<Transport*> Network() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Whether servers may be found on this host by other processes.
  bool IsFoundOnHost() const { return others_ == OtherProcesses::kOfThisHostDirectly && !asks_(); }
  std::unique_ptr<TransportServer> TryServeOnHost(const std::string& address,
                                                  std::shared_ptr<RequestHandler> handler);

  const MakeNetwork make_network_;
  const AsksForCredentials asks_;
  const OtherProcesses others_;
  absl::Mutex mutex_;
  std::unique_ptr<Transport> network_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_CLUSTER_TRANSPORT_H_
