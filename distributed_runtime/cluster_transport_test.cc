#include "distributed_runtime/cluster_transport.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "distributed_runtime/host_transport.h"
#include "distributed_runtime/loopback_transport.h"
#include "distributed_runtime/testing/faulty_transport.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// Answers with nothing.
class Answering final : public RequestHandler {
 public:
  void Handle(absl::string_view method, Payload request, Respond respond) override {
    respond(absl::OkStatus(), Payload());
  }
};

// Names of this host: no port is opened. Other processes have other names.
std::string Address(int number) { return absl::StrCat("localhost:", getpid(), "0", number); }

StatusOr<std::unique_ptr<Transport>> NoNetwork() { return errors::Unimplemented("no network"); }

Status Ask(Transport* transport, const std::string& address) {
  const StatusOr<std::shared_ptr<Channel>> channel = transport->Connect(address);
  if (!channel.ok()) return channel.status();
  return CallAndWait(channel->get(), "Ask", Payload(), absl::InfiniteFuture()).status();
}

// A network that has the servers of this process at other addresses.
class Network final : public Transport {
 public:
  explicit Network(FaultyTransport* faulty) : faulty_(*faulty) {}
  StatusOr<std::unique_ptr<TransportServer>> Serve(
      const std::string& address, std::shared_ptr<RequestHandler> handler) override {
    MS_ASSIGN_OR_RETURN(std::unique_ptr<TransportServer> server,
                        faulty_.Serve(absl::StrCat("network-", address), std::move(handler)));
    return std::make_unique<Named>(address, std::move(server));
  }
  StatusOr<std::shared_ptr<Channel>> Connect(const std::string& address) override {
    return faulty_.Connect(absl::StrCat("network-", address));
  }

 private:
  class Named final : public TransportServer {
   public:
    Named(std::string address, std::unique_ptr<TransportServer> server)
        : address_(std::move(address)), server_(std::move(server)) {}
    const std::string& address() const override { return address_; }

   private:
    const std::string address_;
    const std::unique_ptr<TransportServer> server_;
  };

  FaultyTransport& faulty_;
};

TEST(ClusterTransportTest, WithoutANetworkServersOfThisHostAreReached) {
  ClusterTransport transport(&NoNetwork);
  EXPECT_EQ(Ask(&transport, Address(1)).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Ask(&transport, "far:1").code(), absl::StatusCode::kUnimplemented);
  // As a server of another process, which this one does not know.
  const auto other = ServeOnHost(Address(1), std::make_shared<Answering>());
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(Ask(&transport, Address(1)), absl::OkStatus());
  EXPECT_EQ(transport.Serve(Address(1), std::make_shared<Answering>()).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(ClusterTransportTest, WithoutANetworkAServerIsReachedByThisHostIfItsAddressIsOfThisHost) {
  ClusterTransport transport(&NoNetwork);
  const auto here = transport.Serve(Address(2), std::make_shared<Answering>());
  ASSERT_TRUE(here.ok()) << here.status();
  EXPECT_NE(ConnectOnHost(Address(2)), nullptr);
  const auto any_port = transport.Serve("localhost:0", std::make_shared<Answering>());
  ASSERT_TRUE(any_port.ok()) << any_port.status();
  EXPECT_EQ(ConnectOnHost((*any_port)->address()), nullptr);
  EXPECT_EQ(Ask(&transport, (*any_port)->address()), absl::OkStatus());
}

TEST(ClusterTransportTest, AServerThatAsksForCredentialsIsNotFoundOnItsHost) {
  ClusterTransport transport(&NoNetwork, [] { return true; });
  const auto server = transport.Serve(Address(5), std::make_shared<Answering>());
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(ConnectOnHost(Address(5)), nullptr);
  // Who asks for one waits for no server of this host: the network that it needs is not there.
  EXPECT_EQ(Ask(&transport, Address(6)).code(), absl::StatusCode::kUnimplemented);
}

TEST(ClusterTransportTest, AServerMayBeReachedThroughTheNetworkAlone) {
  FaultyTransport counted(LoopbackTransport::Global());
  const auto make = [&counted]() -> StatusOr<std::unique_ptr<Transport>> {
    return std::make_unique<Network>(&counted);
  };
  const auto never = [] { return false; };
  for (const OtherProcesses others :
       {OtherProcesses::kOfThisHostDirectly, OtherProcesses::kThroughNetwork}) {
    ClusterTransport transport(make, never, others);
    const auto server = transport.Serve(Address(7), std::make_shared<Answering>());
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_EQ(ConnectOnHost(Address(7)) != nullptr, others == OtherProcesses::kOfThisHostDirectly);
  }
}

TEST(ClusterTransportTest, TheNetworkIsForServersThatAreNotOnThisHost) {
  FaultyTransport counted(LoopbackTransport::Global());
  ClusterTransport transport([&counted]() -> StatusOr<std::unique_ptr<Transport>> {
    return std::make_unique<Network>(&counted);
  });
  Network network(&counted);
  const auto far = network.Serve(Address(3), std::make_shared<Answering>());
  ASSERT_TRUE(far.ok()) << far.status();
  EXPECT_EQ(Ask(&transport, Address(3)), absl::OkStatus());
  EXPECT_EQ(counted.Count("Ask"), 1);
  const auto near = ServeOnHost(Address(3), std::make_shared<Answering>());
  ASSERT_TRUE(near.ok()) << near.status();
  EXPECT_EQ(Ask(&transport, Address(3)), absl::OkStatus());
  EXPECT_EQ(counted.Count("Ask"), 1);
}

TEST(ClusterTransportTest, AChannelFollowsItsServer) {
  FaultyTransport network(LoopbackTransport::Global());
  network.Set(Fault::kRefused);
  ClusterTransport transport([&network]() -> StatusOr<std::unique_ptr<Transport>> {
    return std::make_unique<FaultyTransport>(&network);
  });
  const StatusOr<std::shared_ptr<Channel>> channel = transport.Connect(Address(4));
  ASSERT_TRUE(channel.ok()) << channel.status();
  const auto ask = [&channel] {
    return CallAndWait(channel->get(), "Ask", Payload(), absl::InfiniteFuture()).status().code();
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ask(), absl::StatusCode::kUnavailable);
    const auto server = ServeOnHost(Address(4), std::make_shared<Answering>());
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_EQ(ask(), absl::StatusCode::kOk);
  }
}

}  // namespace
}  // namespace millstream
