// What a call says whose connection ends, where no other connection notices that.
#include <arpa/inet.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "distributed_runtime/grpc/client.h"
#include "distributed_runtime/grpc/queue.h"
#include "distributed_runtime/grpc/server.h"
#include "distributed_runtime/grpc/stream.h"
#include "gtest/gtest.h"

namespace millstream::network {
namespace {

// What one thread says and another waits for.
class Signal {
 public:
  void Give() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_given_ = true;
    changed_.notify_all();
  }
  void Await() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return is_given_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_given_ = false;
};

sockaddr_in LoopbackAddress(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// Passes the bytes of one connection on to a server, and back, until it is cut.
class Link {
 public:
  explicit Link(int to) : to_(to), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = LoopbackAddress(0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_EQ(pipe(cut_.data()), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Pass(); });
  }
  ~Link() { Cut(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  int port() const { return port_; }
  // Ends the connection, and takes no other one.
  void Cut() {
    if (!thread_.joinable()) return;
    close(cut_[1]);
    thread_.join();
    close(cut_[0]);
  }

 private:
  void Pass() {
    const int client = accept(listener_, nullptr, nullptr);
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = LoopbackAddress(to_);
    EXPECT_EQ(connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    while (true) {
      std::array<pollfd, 3> ready{pollfd{client, POLLIN, 0}, {server, POLLIN, 0}, {cut_[0], 0, 0}};
      poll(ready.data(), ready.size(), -1);
      if (ready[2].revents != 0) break;
      if (ready[0].revents != 0 && !PassSome(client, server)) break;
      if (ready[1].revents != 0 && !PassSome(server, client)) break;
    }
    close(client);
    close(server);
    close(listener_);
  }
  static bool PassSome(int from, int to) {
    std::array<char, 4096> bytes;
    const ssize_t size = read(from, bytes.data(), bytes.size());
    return size > 0 && write(to, bytes.data(), static_cast<size_t>(size)) == size;
  }

  const int to_;
  const int listener_;
  std::array<int, 2> cut_{-1, -1};  // the end of this pipe says that
  int port_ = 0;
  std::thread thread_;
};

// A server that does not answer.
class SilentServer {
 public:
  explicit SilentServer(const char* address = "127.0.0.1:0") {
    server_ = Serve(address, &Handle, this, &port_);
  }
  ~SilentServer() { Stop(); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  bool is_serving() const { return server_ != nullptr; }
  int port() const { return port_; }
  void Stop() {
    if (server_ != nullptr) StopServer(std::exchange(server_, nullptr));
  }
  void AwaitRequest() { has_request_.Await(); }

 private:
  static void Handle(void* user, void* /*call*/, const char* /*method*/, millstream_slice* slices,
                     size_t n) {
    for (size_t i = 0; i < n; ++i) slices[i].release(slices[i].owner);
    static_cast<SilentServer*>(user)->has_request_.Give();
  }

  void* server_ = nullptr;
  int32_t port_ = 0;
  Signal has_request_;
};

// How a call has ended.
class CallEnd {
 public:
  static void Done(void* user, int32_t code, const char* message, millstream_slice* /*slices*/,
                   size_t /*n*/) {
    auto* const end = static_cast<CallEnd*>(user);
    end->code_ = code;
    end->message_ = message;
    end->has_ended_.Give();
  }
  int32_t AwaitCode() {
    has_ended_.Await();
    return code_;
  }
  const std::string& message() const { return message_; }

 private:
  int32_t code_ = 0;     // by Done
  std::string message_;  // likewise
  Signal has_ended_;
};

// A call on a line of its own.
class LoneCall {
 public:
  explicit LoneCall(int port) {
    Queue();  // gRPC is initialized
    grpc_channel_credentials* const credentials = grpc_insecure_credentials_create();
    const std::string address = "127.0.0.1:" + std::to_string(port);
    line_ = std::make_shared<Line>(grpc_channel_create(address.c_str(), credentials, nullptr), "");
    grpc_channel_credentials_release(credentials);
    call_->done = &CallEnd::Done;
    call_->user = &end_;
    call_->line = line_;
    line_->Start(call_, "Wait", nullptr, 0, /*deadline_ns=*/-1);
  }
  LoneCall(const LoneCall&) = delete;
  LoneCall& operator=(const LoneCall&) = delete;

  CallEnd& end() { return end_; }

 private:
  CallEnd end_;
  std::shared_ptr<Line> line_;
  const ClientCallRef call_ = std::make_shared<ClientCall>();
};

TEST(LostPeerTest, ACallWhoseConnectionEndsSaysThatThePeerIsLost) {
  SilentServer server;
  Link link(server.port());
  LoneCall call(link.port());
  server.AwaitRequest();
  link.Cut();
  EXPECT_EQ(call.end().AwaitCode(), GRPC_STATUS_UNAVAILABLE);
  EXPECT_EQ(call.end().message(), MILLSTREAM_NETWORK_PEER_LOST);
}

// Here the end of the connection has another name than the address, too. Of an urgent call nothing
// but the call itself says it.
TEST(LostPeerTest, ACallThroughASocketInAFileSaysSoWhenTheServerStops) {
  ASSERT_EQ(chdir(testing::TempDir().c_str()), 0);
  // The name of a socket is short, and that of the folder may be long.
  const char* const address = "unix:/proc/self/cwd/lost_peer";
  SilentServer server(address);
  ASSERT_TRUE(server.is_serving());
  CallEnd end;
  void* const channel = Connect(address);
  void* const call = StartCall(channel, "Wait", /*is_urgent=*/1, nullptr, 0, /*deadline_ns=*/-1,
                               &CallEnd::Done, &end);
  server.AwaitRequest();
  server.Stop();
  EXPECT_EQ(end.AwaitCode(), GRPC_STATUS_UNAVAILABLE);
  EXPECT_EQ(end.message(), MILLSTREAM_NETWORK_PEER_LOST);
  FreeCall(call);
  Disconnect(channel);
}

TEST(LostPeerTest, ACallThatHasNotFoundThePeerSaysThatItCannotBeReached) {
  int port = 0;
  {
    const SilentServer server;
    port = server.port();
  }
  LoneCall call(port);
  EXPECT_EQ(call.end().AwaitCode(), GRPC_STATUS_UNAVAILABLE);
  EXPECT_NE(call.end().message(), MILLSTREAM_NETWORK_PEER_LOST);
}

}  // namespace
}  // namespace millstream::network
