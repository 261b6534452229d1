#include "distributed_runtime/host_transport.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "distributed_runtime/host_frame.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

std::string TextOf(const Payload& payload) {
  std::string text;
  for (const Slice& slice : payload.slices()) text.append(slice.data, slice.size);
  return text;
}

Payload PayloadWith(const std::vector<std::string>& slices) {
  Payload payload;
  for (const std::string& slice : slices) payload.Append(slice);
  return payload;
}

// Sends back what comes, but for "Keep", which it answers never, and "Refuse".
class Echo final : public RequestHandler {
 public:
  void Handle(absl::string_view method, Payload request, Respond respond) override {
    if (method == "Refuse") return respond(errors::NotFound("there is no cat"), Payload());
    if (method != "Keep") return respond(absl::OkStatus(), std::move(request));
    absl::MutexLock lock(&mutex_);
    kept_.push_back(std::move(respond));
  }
  void Forget() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    kept_.clear();
  }
  bool HasKept() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return !kept_.empty();
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<Respond> kept_ ABSL_GUARDED_BY(mutex_);
};

// The name of an address as the system takes it.
struct Name {
  explicit Name(const std::string& address) {
    const std::string text = absl::StrCat("millstream ", address);
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path + 1, text.data(), text.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }

  sockaddr_un name{};
  socklen_t size = 0;
};

struct Result {
  Status status;
  Payload payload;
};

class HostTransportTest : public ::testing::Test {
 protected:
  HostTransportTest() : address_(absl::StrCat("test", getpid(), ":1")) {
    StatusOr<std::unique_ptr<TransportServer>> server = ServeOnHost(address_, echo_);
    EXPECT_TRUE(server.ok()) << server.status();
    if (server.ok()) server_ = *std::move(server);
    connection_ = ConnectOnHost(address_);
  }
  ~HostTransportTest() override {
    if (connection_ != nullptr) connection_->Shut();
    echo_->Forget();
  }

  Result Call(absl::string_view method, Payload request) {
    const auto result = std::make_shared<Result>();
    const auto done = std::make_shared<absl::Notification>();
    connection_->Start(method, std::move(request),
                       [result, done](const Status& status, Payload response) {
                         *result = {status, std::move(response)};
                         done->Notify();
                       });
    EXPECT_TRUE(Eventually(*done));
    return std::move(*result);
  }

  const std::string address_;
  const std::shared_ptr<Echo> echo_ = std::make_shared<Echo>();
  std::unique_ptr<TransportServer> server_;
  std::shared_ptr<HostConnection> connection_;
};

std::string Large(char c) { return std::string(size_t{3} << 20, c); }

TEST_F(HostTransportTest, MessagesComeBack) {
  ASSERT_NE(connection_, nullptr);
  const std::vector<std::vector<std::string>> payloads = {
      {}, {"one"}, {"one", "two"}, {Large('a')}, {"one", Large('a'), "two", "three", Large('b')}};
  for (const std::vector<std::string>& slices : payloads) {
    const Result result = Call("Echo", PayloadWith(slices));
    EXPECT_EQ(result.status, absl::OkStatus());
    EXPECT_TRUE(TextOf(result.payload) == TextOf(PayloadWith(slices)));
  }
}

TEST_F(HostTransportTest, LargeSlicesCanBeUsedWhereTheyAre) {
  const Result result = Call("Echo", PayloadWith({"one", Large('a'), Large('b')}));
  ASSERT_EQ(result.payload.slices().size(), 3);
  for (const int i : {1, 2}) {
    const Slice& slice = result.payload.slices()[i];
    EXPECT_EQ(slice.size, Large('a').size());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(slice.data) % 64, 0);
    EXPECT_TRUE(slice.owner->writable());
  }
}

TEST_F(HostTransportTest, MemoryIsUsedAgainWhenTheReceiverHasReleasedIt) {
  const auto place_of_echo = [this] {
    return Call("Echo", PayloadWith({Large('a')})).payload.slices()[0].data;
  };
  const char* const first = place_of_echo();
  // The release is on its way to the server before the next request.
  EXPECT_EQ(place_of_echo(), first);
  const Result held = Call("Echo", PayloadWith({Large('a')}));
  EXPECT_EQ(held.payload.slices()[0].data, first);
  EXPECT_NE(place_of_echo(), first);
  EXPECT_TRUE(TextOf(held.payload) == Large('a'));
}

// How many descriptors of shared memory this process has.
int OpenRegions() {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the descriptor that reads the folder, or one closed meanwhile
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (absl::StrContains(target, "memfd:millstream")) ++found;
  }
  return found;
}

TEST_F(HostTransportTest, TensorsThatAreKeptKeepNoDescriptors) {
  std::vector<Result> kept;
  for (int i = 0; i < 5; ++i) kept.push_back(Call("Echo", PayloadWith({Large('a')})));
  // A sender closes them after a message has arrived.
  EXPECT_TRUE(Eventually([] { return OpenRegions() == 0; }));
  for (const Result& one : kept) EXPECT_TRUE(TextOf(one.payload) == Large('a'));
}

TEST_F(HostTransportTest, AnErrorOfTheTransportComesBack) {
  const Result result = Call("Refuse", Payload());
  EXPECT_EQ(result.status, errors::NotFound("there is no cat"));
}

TEST_F(HostTransportTest, ManyCallsAtOnceGetTheirAnswers) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 2000;
  absl::BlockingCounter answers(kThreads * kCalls);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        const std::string text = absl::StrCat(t, " ", i, std::string(1000, 'x'));
        connection_->Start("Echo", PayloadWith({text}),
                           [&answers, text](const Status& status, Payload response) {
                             EXPECT_EQ(status, absl::OkStatus());
                             EXPECT_EQ(TextOf(response), text);
                             answers.DecrementCount();
                           });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  answers.Wait();
}

TEST_F(HostTransportTest, ACancelledCallEnds) {
  Status status;
  const auto call = connection_->Start("Keep", Payload(),
                                       [&status](const Status& ended, Payload) { status = ended; });
  call->Cancel();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(Call("Echo", Payload()).status, absl::OkStatus());
}

TEST_F(HostTransportTest, CallsEndWithTheirServer) {
  std::thread stopper([this] {
    EXPECT_TRUE(Eventually([this] { return echo_->HasKept(); }));
    server_.reset();
  });
  EXPECT_EQ(Call("Keep", Payload()).status.code(), absl::StatusCode::kUnavailable);
  stopper.join();
  EXPECT_EQ(ConnectOnHost(address_), nullptr);
  EXPECT_EQ(Call("Echo", Payload()).status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(HostTransportTest, AServerStopsWhileDescriptorsAreExhausted) {
  EXPECT_EQ(Call("Echo", Payload()).status, absl::OkStatus());
  const int other = socket(AF_UNIX, SOCK_STREAM, 0);
  const int next = dup(other);  // that there would be
  close(next);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit exhausted = limit;
  exhausted.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &exhausted), 0);
  // The server takes its last one for this, and finds none for others.
  const Name name(address_);
  EXPECT_EQ(connect(other, name.get(), name.size), 0);
  server_.reset();
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  close(other);
}

TEST_F(HostTransportTest, ANameIsServedOnce) {
  EXPECT_EQ(ServeOnHost(address_, echo_).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ConnectOnHost("nobody:1"), nullptr);
}

TEST_F(HostTransportTest, ACallOfAProcessThatIsStoppedEnds) {
  const std::string address = absl::StrCat("test", getpid(), ":2");
  const int listening = socket(AF_UNIX, SOCK_STREAM, 0);
  const Name name(address);
  ASSERT_EQ(bind(listening, name.get(), name.size), 0);
  ASSERT_EQ(listen(listening, 1), 0);  // and nobody accepts
  const std::shared_ptr<HostConnection> connection = ConnectOnHost(address);
  ASSERT_NE(connection, nullptr);
  absl::Notification ended;
  connection->Start("Echo", Payload(), [&ended](const Status& status, Payload) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    ended.Notify();
  });
  for (int i = 0; i < 4; ++i) connection->Beat();
  EXPECT_TRUE(Eventually(ended));
  close(listening);
}

TEST_F(HostTransportTest, ACallOfAProcessThatAnswersGoesOn) {
  connection_->Start("Keep", Payload(), [](const Status&, Payload) {});
  for (int i = 0; i < 10; ++i) {
    connection_->Beat();
    EXPECT_EQ(Call("Echo", Payload()).status, absl::OkStatus());  // the pong comes before
  }
}

// Sends bytes to the server, and waits until it has closed the connection.
void SendGarbage(const std::string& address, const std::string& bytes) {
  const int other = socket(AF_UNIX, SOCK_STREAM, 0);
  const Name name(address);
  ASSERT_EQ(connect(other, name.get(), name.size), 0);
  EXPECT_EQ(send(other, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  char byte = 0;
  EXPECT_LE(recv(other, &byte, 1, 0), 0);  // closed
  close(other);
}

TEST_F(HostTransportTest, OtherBytesEndTheirConnectionAloneAndAreLoggedOnce) {
  const std::string http = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + std::string(100, 'x');
  Frame other_version;
  other_version.head.kind = FrameHead::kRequest;
  other_version.head.magic = FrameHead::kMagic + 1;
  Frame huge;
  huge.head.kind = FrameHead::kRequest;
  std::string huge_bytes = huge.Encode();
  const uint64_t size = ~uint64_t{0};
  std::memcpy(huge_bytes.data() + offsetof(FrameHead, inline_size), &size, sizeof(size));
  testing::internal::CaptureStderr();
  for (int i = 0; i < 20; ++i) {
    for (const std::string& bytes : {http, other_version.Encode(), huge_bytes}) {
      SendGarbage(address_, bytes);
    }
  }
  EXPECT_EQ(Call("Echo", Payload()).status, absl::OkStatus());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("is refused"), std::string::npos);
  EXPECT_EQ(log.find("is refused"), log.rfind("is refused")) << log;
}

}  // namespace
}  // namespace millstream
