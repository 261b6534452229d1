#include "distributed_runtime/cluster_transport.h"

#include <atomic>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "distributed_runtime/host_connection.h"
#include "distributed_runtime/host_transport.h"
#include "distributed_runtime/loopback_transport.h"

namespace millstream {
namespace {

// Whether an address means this machine wherever it is used.
bool IsOfThisHost(const std::string& address) {
  return absl::StartsWith(NormalAddress(address), "localhost:") ||
         absl::StartsWith(address, "unix:");
}

// A server that is called in several ways. The first two may be null.
class SeveralServers final : public TransportServer {
 public:
  SeveralServers(std::unique_ptr<TransportServer> network, std::unique_ptr<TransportServer> host,
                 std::unique_ptr<TransportServer> local)
      : network_(std::move(network)), host_(std::move(host)), local_(std::move(local)) {}
  const std::string& address() const override {
    return network_ == nullptr ? local_->address() : network_->address();
  }

 private:
  // The destructor stops the last one first.
  const std::unique_ptr<TransportServer> network_;
  const std::unique_ptr<TransportServer> host_;
  const std::unique_ptr<TransportServer> local_;
};

// A server may come to life in this process, or on this host, after the channel to it.
class ClusterChannel final : public Channel {
 public:
  ClusterChannel(ClusterTransport* transport, std::string address, std::shared_ptr<Channel> local)
      : transport_(*transport), address_(std::move(address)), local_(std::move(local)) {}
  ~ClusterChannel() override {
    absl::MutexLock lock(&mutex_);
    if (host_ != nullptr) host_->Shut();
  }

  std::shared_ptr<Call> Start(absl::string_view method, Payload request, absl::Time deadline,
                              Respond respond) override {
    return StartCall(method, std::move(request), deadline, std::move(respond),
                     /*is_awaited=*/false);
  }
  std::shared_ptr<Call> StartAwaited(absl::string_view method, Payload request, absl::Time deadline,
                                     Respond respond) override {
    return StartCall(method, std::move(request), deadline, std::move(respond),
                     /*is_awaited=*/true);
  }

  void Help(absl::FunctionRef<bool()> is_done) override ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<HostConnection> host;
    std::shared_ptr<Channel> network;
    {
      absl::MutexLock lock(&mutex_);
      host = host_;
      network = network_;
    }
    if (host != nullptr) return host->Help(is_done);
    if (network != nullptr) network->Help(is_done);
  }

 private:
  class EndedCall final : public Call {
   public:
    void Cancel() override {}
  };

  std::shared_ptr<Call> StartCall(absl::string_view method, Payload request, absl::Time deadline,
                                  Respond respond, bool is_awaited) {
    if (LoopbackTransport::Global()->Find(address_) != nullptr) {
      return local_->Start(method, std::move(request), deadline, std::move(respond));
    }
    // Those who wait for an answer until a deadline watch it themselves.
    if (const std::shared_ptr<HostConnection> host = OnHost()) {
      return is_awaited ? host->StartAwaited(method, std::move(request), std::move(respond))
                        : host->Start(method, std::move(request), std::move(respond));
    }
    const StatusOr<std::shared_ptr<Channel>> network = Network();
    if (network.ok()) {
      return (*network)->Start(
          method, std::move(request), deadline,
          [is_far = is_far_, respond = std::move(respond)](const Status& status, Payload response) {
            is_far->store(status.ok(), std::memory_order_relaxed);
            respond(status, std::move(response));
          });
    }
    Status status = network.status();
    // A server that asks for credentials is never found on this host: there is nothing to wait for.
    if (absl::IsUnimplemented(status) && IsOfThisHost(address_) && !transport_.asks()) {
      status = absl::UnavailableError(absl::StrCat("no server of this host is at ", address_));
    }
    respond(status, Payload());
    return std::make_shared<EndedCall>();
  }

  // Null: the server is not on this host, or not there.
  std::shared_ptr<HostConnection> OnHost() ABSL_LOCKS_EXCLUDED(mutex_) {
    if (is_far_->load(std::memory_order_relaxed)) return nullptr;
    absl::MutexLock lock(&mutex_);
    if (host_ == nullptr || host_->has_ended()) host_ = ConnectOnHost(address_);
    return host_;
  }
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
  // The network has reached the server, so that it is not looked for on this host.
  const std::shared_ptr<std::atomic<bool>> is_far_ = std::make_shared<std::atomic<bool>>(false);
  absl::Mutex mutex_;
  std::shared_ptr<HostConnection> host_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Channel> network_ ABSL_GUARDED_BY(mutex_);  // null: it was not needed as yet
};

// Processes of this host reach it by an address that means this host and has a port.
StatusOr<std::unique_ptr<TransportServer>> ServeWithoutNetwork(
    const std::string& address, std::shared_ptr<RequestHandler> handler, bool is_found_on_host) {
  std::unique_ptr<TransportServer> host;
  if (IsOfThisHost(address) && !absl::EndsWith(address, ":0") && is_found_on_host) {
    MS_ASSIGN_OR_RETURN(host, ServeOnHost(address, handler));
  }
  MS_ASSIGN_OR_RETURN(std::unique_ptr<TransportServer> local,
                      LoopbackTransport::Global()->Serve(address, std::move(handler)));
  return std::make_unique<SeveralServers>(nullptr, std::move(host), std::move(local));
}

}  // namespace

// Null for an address whose port is not known as yet, and if the name is taken: then tasks of this
// host come through the network.
std::unique_ptr<TransportServer> ClusterTransport::TryServeOnHost(
    const std::string& address, std::shared_ptr<RequestHandler> handler) {
  if (absl::EndsWith(address, ":0") || !IsFoundOnHost()) return nullptr;
  StatusOr<std::unique_ptr<TransportServer>> server = ServeOnHost(address, std::move(handler));
  return server.ok() ? *std::move(server) : nullptr;
}

StatusOr<Transport*> ClusterTransport::Network() {
  absl::MutexLock lock(&mutex_);
  if (network_ == nullptr) {
    MS_ASSIGN_OR_RETURN(network_, make_network_());
  }
  return network_.get();
}

StatusOr<std::unique_ptr<TransportServer>> ClusterTransport::Serve(
    const std::string& address, std::shared_ptr<RequestHandler> handler) {
  const StatusOr<Transport*> network = Network();
  if (absl::IsUnimplemented(network.status())) {
    return ServeWithoutNetwork(address, std::move(handler), IsFoundOnHost());
  }
  MS_RETURN_IF_ERROR(network.status());
  // Before the network, so that who finds the server there would have found it on this host.
  std::unique_ptr<TransportServer> host = TryServeOnHost(address, handler);
  MS_ASSIGN_OR_RETURN(std::unique_ptr<TransportServer> far, (*network)->Serve(address, handler));
  if (host == nullptr) host = TryServeOnHost(far->address(), handler);
  MS_ASSIGN_OR_RETURN(std::unique_ptr<TransportServer> near,
                      LoopbackTransport::Global()->Serve(far->address(), std::move(handler)));
  return std::make_unique<SeveralServers>(std::move(far), std::move(host), std::move(near));
}

StatusOr<std::shared_ptr<Channel>> ClusterTransport::Connect(const std::string& address) {
  MS_ASSIGN_OR_RETURN(std::shared_ptr<Channel> local,
                      LoopbackTransport::Global()->Connect(address));
  return std::make_shared<ClusterChannel>(this, address, std::move(local));
}

}  // namespace millstream
