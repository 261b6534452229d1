#include "distributed_runtime/cluster_transport.h"

#include <utility>

#include "distributed_runtime/loopback_transport.h"

namespace millstream {
namespace {

// A server with a network and without.
class BothServers final : public TransportServer {
 public:
  BothServers(std::unique_ptr<TransportServer> network, std::unique_ptr<TransportServer> local)
      : network_(std::move(network)), local_(std::move(local)) {}
  const std::string& address() const override { return network_->address(); }

 private:
  // The destructor stops the local one first.
  const std::unique_ptr<TransportServer> network_;
  const std::unique_ptr<TransportServer> local_;
};

// A server may come to life in this process after the channel to it.
class ClusterChannel final : public Channel {
 public:
  ClusterChannel(ClusterTransport* transport, std::string address, std::shared_ptr<Channel> local)
      : transport_(*transport), address_(std::move(address)), local_(std::move(local)) {}

  std::shared_ptr<Call> Start(absl::string_view method, Payload request, absl::Time deadline,
                              Respond respond) override {
    if (LoopbackTransport::Global()->Find(address_) != nullptr) {
      return local_->Start(method, std::move(request), deadline, std::move(respond));
    }
    const StatusOr<std::shared_ptr<Channel>> network = Network();
    if (network.ok()) {
      return (*network)->Start(method, std::move(request), deadline, std::move(respond));
    }
    respond(network.status(), Payload());
    return std::make_shared<EndedCall>();
  }

 private:
  class EndedCall final : public Call {
   public:
    void Cancel() override {}
  };

  StatusOr<std::shared_ptr<Channel>> Network() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (network_ == nullptr) {
      MS_ASSIGN_OR_RETURN(Transport* const transport, transport_.Network());
      MS_ASSIGN_OR_RETURN(network_, transport->Connect(address_));
    }
    return network_;
  }

  ClusterTransport& transport_;
  const std::string address_;
  const std::shared_ptr<Channel> local_;
  absl::Mutex mutex_;
  std::shared_ptr<Channel> network_ ABSL_GUARDED_BY(mutex_);  // null: it was not needed as yet
};

}  // namespace

StatusOr<Transport*> ClusterTransport::Network() {
  absl::MutexLock lock(&mutex_);
  if (network_ == nullptr) {
    MS_ASSIGN_OR_RETURN(network_, make_network_());
  }
  return network_.get();
}

StatusOr<std::unique_ptr<TransportServer>> ClusterTransport::Serve(
    const std::string& address, std::shared_ptr<RequestHandler> handler) {
  LoopbackTransport* const local = LoopbackTransport::Global();
  const StatusOr<Transport*> network = Network();
  if (absl::IsUnimplemented(network.status())) return local->Serve(address, std::move(handler));
  MS_RETURN_IF_ERROR(network.status());
  MS_ASSIGN_OR_RETURN(std::unique_ptr<TransportServer> far, (*network)->Serve(address, handler));
  MS_ASSIGN_OR_RETURN(std::unique_ptr<TransportServer> near,
                      local->Serve(far->address(), std::move(handler)));
  return std::make_unique<BothServers>(std::move(far), std::move(near));
}

StatusOr<std::shared_ptr<Channel>> ClusterTransport::Connect(const std::string& address) {
  MS_ASSIGN_OR_RETURN(std::shared_ptr<Channel> local,
                      LoopbackTransport::Global()->Connect(address));
  return std::make_shared<ClusterChannel>(this, address, std::move(local));
}

}  // namespace millstream
