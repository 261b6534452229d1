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
  SilentServer() { server_ = Serve("127.0.0.1:0", &Handle, this, &port_); }
  ~SilentServer() { StopServer(server_); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  int port() const { return port_; }
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

// A call on a line of its own, and how it has ended.
class LoneCall {
 public:
  explicit LoneCall(int port) {
    Queue();  // gRPC is initialized
    grpc_channel_credentials* const credentials = grpc_insecure_credentials_create();
    const std::string address = "127.0.0.1:" + std::to_string(port);
    line_ = std::make_shared<Line>(grpc_channel_create(address.c_str(), credentials, nullptr), "");
    grpc_channel_credentials_release(credentials);
    call_->done = &Done;
    call_->user = this;
    call_->line = line_;
    line_->Start(call_, "Wait", nullptr, 0, /*deadline_ns=*/-1);
  }
  LoneCall(const LoneCall&) = delete;
  LoneCall& operator=(const LoneCall&) = delete;

  int32_t AwaitCode() {
    has_ended_.Await();
    return code_;
  }
  const std::string& message() const { return message_; }

 private:
  static void Done(void* user, int32_t code, const char* message, millstream_slice* /*slices*/,
                   size_t /*n*/) {
    auto* const call = static_cast<LoneCall*>(user);
    call->code_ = code;
    call->message_ = message;
    call->has_ended_.Give();
  }

  std::shared_ptr<Line> line_;
  const ClientCallRef call_ = std::make_shared<ClientCall>();
  int32_t code_ = 0;     // by Done
  std::string message_;  // likewise
  Signal has_ended_;
};

TEST(LostPeerTest, ACallWhoseConnectionEndsSaysThatThePeerIsLost) {
  SilentServer server;
  Link link(server.port());
  LoneCall call(link.port());
  server.AwaitRequest();
  link.Cut();
  EXPECT_EQ(call.AwaitCode(), GRPC_STATUS_UNAVAILABLE);
  EXPECT_EQ(call.message(), MILLSTREAM_NETWORK_PEER_LOST);
}

TEST(LostPeerTest, ACallThatHasNotFoundThePeerSaysThatItCannotBeReached) {
  int port = 0;
  {
    const SilentServer server;
    port = server.port();
  }
  LoneCall call(port);
  EXPECT_EQ(call.AwaitCode(), GRPC_STATUS_UNAVAILABLE);
  EXPECT_NE(call.message(), MILLSTREAM_NETWORK_PEER_LOST);
}

}  // namespace
}  // namespace millstream::network
