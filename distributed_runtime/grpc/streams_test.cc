// Calls through the table's functions, between a server and channels of one process.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "distributed_runtime/grpc/bytes.h"
#include "distributed_runtime/grpc/client.h"
#include "distributed_runtime/grpc/queue.h"
#include "distributed_runtime/grpc/server.h"
#include "gtest/gtest.h"

namespace millstream::network {
namespace {

constexpr int kCancelled = 1;
constexpr int kInvalidArgument = 3;
constexpr int kDeadlineExceeded = 4;
constexpr int kResourceExhausted = 8;

// A slice that says when it is released.
class Lent {
 public:
  explicit Lent(std::string text) : text_(std::move(text)) {}
  millstream_slice Lend() {
    const auto release = [](void* user) {
      auto* const lent = static_cast<Lent*>(user);
      const std::lock_guard<std::mutex> lock(lent->mutex_);
      lent->is_released_ = true;
      lent->released_.notify_all();
    };
    return {text_.data(), text_.size(), release, this};
  }
  void AwaitRelease() {
    std::unique_lock<std::mutex> lock(mutex_);
    released_.wait(lock, [this] { return is_released_; });
  }

 private:
  const std::string text_;
  std::mutex mutex_;
  std::condition_variable released_;
  bool is_released_ = false;
};

// A slice with bytes of its own.
millstream_slice Own(std::string text) {
  auto* const kept = new std::string(std::move(text));
  return {kept->data(), kept->size(), [](void* user) { delete static_cast<std::string*>(user); },
          kept};
}

// Together of more bytes than a message may have, all in the same memory.
class Huge {
 public:
  std::vector<millstream_slice> Lend() {
    const auto release = [](void* user) { ++static_cast<Huge*>(user)->released_; };
    const millstream_slice one{text_.data(), text_.size(), release, this};
    return std::vector<millstream_slice>(kMostBytes / text_.size() + 1, one);
  }
  int released() const { return released_; }

 private:
  const std::string text_ = std::string(size_t{1} << 24, 'a');
  std::atomic<int> released_{0};
};

// Takes over the slices.
std::string Join(const millstream_slice* slices, size_t n) {
  std::string all;
  for (size_t i = 0; i < n; ++i) {
    all.append(slices[i].data, slices[i].size);
    slices[i].release(slices[i].owner);
  }
  return all;
}

// Answers a request to "Echo" with its bytes, and keeps one to "Hold" until it is answered. Answers
// requests to "Meet" when as many have come as their bytes say: their handlers wait for each other.
// Those to "KeepAndMeet" keep their threads. Answers one to "HelpAndCount" with how often its help
// has looked for an end.
class EchoServer {
 public:
  EchoServer() : EchoServer(/*idle_ms=*/3'600'000) {}
  // Ends a connection that has been without a stream for so long.
  explicit EchoServer(int idle_ms) {
    server_ = ServeWithin(idle_ms, "127.0.0.1:0", &Handle, this, &port_);
    address_ = "127.0.0.1:" + std::to_string(port_);
  }
  ~EchoServer() { Stop(); }
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;

  const std::string& address() const { return address_; }
  int32_t port() const { return port_; }
  bool is_serving() const { return server_ != nullptr; }
  void Stop() {
    if (server_ != nullptr) StopServer(std::exchange(server_, nullptr));
  }
  // The stream of the next request to "Hold" whose bytes are these.
  void* AwaitHeld(const std::string& bytes) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return held_.count(bytes) > 0; });
    void* const call = held_.at(bytes);
    held_.erase(bytes);
    return call;
  }
  // Those that have carried a request to "Echo", in the order of the requests.
  std::vector<void*> streams() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return streams_;
  }

 private:
  static void Handle(void* user, void* call, const char* method, millstream_slice* slices,
                     size_t n) {
    auto* const server = static_cast<EchoServer*>(user);
    std::string bytes = Join(slices, n);
    if (std::string(method) == "HelpAndCount") {
      int looks = 0;
      Help(
          [](void* user) -> int32_t {
            ++*static_cast<int*>(user);
            return 0;
          },
          &looks);
      bytes = std::to_string(looks);
    }
    if (std::string(method) == "KeepAndMeet") KeepThread();
    if (std::string(method) == "KeepAndMeet" || std::string(method) == "Meet") {
      server->Meet(std::stoi(bytes));
    }
    {
      const std::lock_guard<std::mutex> lock(server->mutex_);
      if (std::string(method) == "Hold") {
        server->held_[bytes] = call;
        server->changed_.notify_all();
        return;
      }
      server->streams_.push_back(call);
    }
    const size_t half = bytes.size() / 2;
    std::vector<millstream_slice> answer{Own(bytes.substr(0, half)), Own(bytes.substr(half))};
    RespondTo(call, answer.data(), answer.size());
  }

  void Meet(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    ++met_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return met_ >= count; });
  }

  void* server_ = nullptr;
  int32_t port_ = 0;
  std::string address_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int met_ = 0;
  std::map<std::string, void*> held_;  // calls, by their bytes
  std::vector<void*> streams_;
};

// A call, which is expected to end once.
class Asked {
 public:
  Asked(void* channel, const char* method, std::string request, int64_t deadline_ns = -1,
        bool is_urgent = false) {
    millstream_slice slice = Own(std::move(request));
    call_ = StartCall(channel, method, is_urgent ? 1 : 0, &slice, 1, deadline_ns, &Done, this);
  }
  Asked(void* channel, const char* method, std::vector<millstream_slice> request) {
    call_ = StartCall(channel, method, 0, request.data(), request.size(), -1, &Done, this);
  }
  ~Asked() { FreeCall(call_); }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  void Cancel() { CancelCall(call_); }
  // Waits for the end. Returns the code.
  int Await() {
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait(lock, [this] { return ends_ > 0; });
    EXPECT_EQ(ends_, 1);
    return code_;
  }
  // The thread takes messages in the meantime. Returns which thread has taken the end.
  std::thread::id HelpAndAwait() {
    const millstream_is_done is_done = [](void* user) {
      auto* const asked = static_cast<Asked*>(user);
      const std::lock_guard<std::mutex> lock(asked->mutex_);
      return asked->ends_ > 0 ? 1 : 0;
    };
    Help(is_done, this);
    Await();
    return thread_;
  }
  const std::string& answer() const { return answer_; }    // after Await
  const std::string& message() const { return message_; }  // after Await

 private:
  static void Done(void* user, int32_t code, const char* message, millstream_slice* slices,
                   size_t n) {
    auto* const asked = static_cast<Asked*>(user);
    std::string answer = Join(slices, n);
    const std::lock_guard<std::mutex> lock(asked->mutex_);
    asked->code_ = code;
    asked->message_ = message;
    asked->answer_ = std::move(answer);
    asked->thread_ = std::this_thread::get_id();
    ++asked->ends_;
    asked->ended_.notify_all();
  }

  void* call_ = nullptr;
  std::mutex mutex_;
  std::condition_variable ended_;
  int ends_ = 0;
  int code_ = -1;
  std::string answer_;
  std::string message_;
  std::thread::id thread_;
};

class StreamsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.is_serving());
    channel_ = Connect(server_.address().c_str());
  }
  void TearDown() override {
    if (channel_ != nullptr) Disconnect(channel_);
  }

  EchoServer server_;
  void* channel_ = nullptr;
};

TEST_F(StreamsTest, AnswersOfAnySizeComeBack) {
  for (const size_t size :
       {size_t{0}, size_t{1}, kMostCopied - 1, kMostCopied, kMostCopied + 1, size_t{3} << 20}) {
    std::string request(size, 'a');
    if (size > 0) request.back() = 'z';
    Asked asked(channel_, "Echo", request);
    EXPECT_EQ(asked.Await(), 0) << size;
    EXPECT_TRUE(asked.answer() == request) << size;
  }
}

TEST_F(StreamsTest, CallsAfterEachOtherShareAStream) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Asked(channel_, "Echo", "x").Await(), 0);
  const std::vector<void*> streams = server_.streams();
  ASSERT_EQ(streams.size(), 3);
  EXPECT_EQ(streams[1], streams[0]);
  EXPECT_EQ(streams[2], streams[0]);
}

TEST_F(StreamsTest, ACallDoesNotWaitForAnother) {
  Asked held(channel_, "Hold", "first");
  void* const call = server_.AwaitHeld("first");
  Asked other(channel_, "Echo", "second");
  EXPECT_EQ(other.Await(), 0);
  millstream_slice answer = Own("late");
  RespondTo(call, &answer, 1);
  EXPECT_EQ(held.Await(), 0);
  EXPECT_EQ(held.answer(), "late");
}

TEST_F(StreamsTest, ACancelledCallEndsAloneAndItsAnswerIsDropped) {
  Asked held(channel_, "Hold", "first");
  void* const call = server_.AwaitHeld("first");
  held.Cancel();
  EXPECT_EQ(held.Await(), kCancelled);
  Lent answer("late");
  millstream_slice slice = answer.Lend();
  RespondTo(call, &slice, 1);
  answer.AwaitRelease();
  Asked next(channel_, "Echo", "second");
  EXPECT_EQ(next.Await(), 0);
  EXPECT_EQ(next.answer(), "second");
}

TEST_F(StreamsTest, CancellationAfterTheEndDoesNotReachTheNextCallOfTheStream) {
  Asked ended(channel_, "Echo", "first");
  EXPECT_EQ(ended.Await(), 0);
  Asked held(channel_, "Hold", "second");
  void* const call = server_.AwaitHeld("second");
  ASSERT_EQ(server_.streams(), std::vector<void*>{call});
  ended.Cancel();
  millstream_slice answer = Own("answer");
  RespondTo(call, &answer, 1);
  EXPECT_EQ(held.Await(), 0);
  EXPECT_EQ(held.answer(), "answer");
}

TEST_F(StreamsTest, MemoryOfAnAnswerIsReleasedWhileNoRequestComes) {
  for (const size_t size : {size_t{8}, size_t{1} << 20}) {
    const std::string name = std::to_string(size);
    Asked asked(channel_, "Hold", name);
    Lent answer(std::string(size, 'a'));
    millstream_slice slice = answer.Lend();
    RespondTo(server_.AwaitHeld(name), &slice, 1);
    EXPECT_EQ(asked.Await(), 0);
    answer.AwaitRelease();
  }
}

TEST_F(StreamsTest, MessagesThatAreTooLargeEndTheirCallsAlone) {
  Huge huge;
  const std::vector<millstream_slice> slices = huge.Lend();
  const auto count = static_cast<int>(slices.size());
  Asked request(channel_, "Echo", slices);
  EXPECT_EQ(request.Await(), kResourceExhausted);
  EXPECT_EQ(huge.released(), count);
  Asked held(channel_, "Hold", "first");
  void* const call = server_.AwaitHeld("first");
  std::vector<millstream_slice> answer = huge.Lend();
  RespondTo(call, answer.data(), answer.size());
  EXPECT_EQ(held.Await(), kResourceExhausted);
  EXPECT_EQ(held.message(), kTooLarge);
  EXPECT_EQ(huge.released(), 2 * count);
  Asked next(channel_, "Echo", "second");
  EXPECT_EQ(next.Await(), 0);
}

TEST_F(StreamsTest, ADeadlineEndsACall) {
  Asked held(channel_, "Hold", "first", /*deadline_ns=*/1);
  EXPECT_EQ(held.Await(), kDeadlineExceeded);
  Asked next(channel_, "Echo", "second");
  EXPECT_EQ(next.Await(), 0);
}

TEST_F(StreamsTest, AServerThatStopsEndsCallsAndTakesLateAnswers) {
  EXPECT_EQ(Asked(channel_, "Echo", "idle").Await(), 0);
  Asked held(channel_, "Hold", "first");
  void* const call = server_.AwaitHeld("first");
  server_.Stop();
  EXPECT_GT(held.Await(), 0);
  Lent answer("late");
  millstream_slice slice = answer.Lend();
  RespondTo(call, &slice, 1);
  answer.AwaitRelease();
  EXPECT_GT(Asked(channel_, "Echo", "second").Await(), 0);
}

TEST_F(StreamsTest, ACallGoesOnWithoutItsChannel) {
  Asked held(channel_, "Hold", "first");
  void* const call = server_.AwaitHeld("first");
  Disconnect(std::exchange(channel_, nullptr));
  millstream_slice answer = Own("answer");
  RespondTo(call, &answer, 1);
  EXPECT_EQ(held.Await(), 0);
  EXPECT_EQ(held.answer(), "answer");
}

// More at a time than streams are kept, some of which are cancelled at any moment.
TEST_F(StreamsTest, CallsOfManyThreadsEndOnceWithTheirOwnAnswers) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 25;
  constexpr int kAtATime = 10;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int round = 0; round < kRounds; ++round) {
        std::vector<std::unique_ptr<Asked>> calls;
        for (int i = 0; i < kAtATime; ++i) {
          const std::string request = std::to_string(t * kAtATime + i);
          calls.push_back(std::make_unique<Asked>(channel_, "Echo", request));
          if (i % 3 == 0) calls.back()->Cancel();
        }
        for (int i = 0; i < kAtATime; ++i) {
          const int code = calls[i]->Await();
          if (code == 0) {
            EXPECT_EQ(calls[i]->answer(), std::to_string(t * kAtATime + i));
          } else {
            EXPECT_EQ(code, kCancelled);
            EXPECT_EQ(i % 3, 0);
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- Connections without streams ----

// A connection that says what it speaks (RFC 9113), answers pings, and asks for nothing.
class SilentPeer {
 public:
  explicit SilentPeer(int32_t port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\4\0\0\0\0\0", 9));
  }
  ~SilentPeer() { close(socket_); }
  SilentPeer(const SilentPeer&) = delete;
  SilentPeer& operator=(const SilentPeer&) = delete;

  // Returns when the server has ended the connection.
  void AwaitEnd() {
    std::string head;
    std::string body;
    while (Receive(9, &head)) {
      const auto byte = [&head](size_t i) { return static_cast<unsigned char>(head[i]); };
      if (!Receive(size_t{byte(0)} << 16 | size_t{byte(1)} << 8 | byte(2), &body)) return;
      if (byte(3) != kPing || byte(4) != 0) continue;
      head[4] = 1;
      Send(head + body);
    }
  }

 private:
  static constexpr int kPing = 6;

  void Send(const std::string& bytes) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    EXPECT_TRUE(sent < 0 || sent == static_cast<ssize_t>(bytes.size()));
  }
  // False at the end of the connection.
  bool Receive(size_t size, std::string* bytes) {
    bytes->assign(size, '\0');
    size_t got = 0;
    while (got < size) {
      const ssize_t n = recv(socket_, bytes->data() + got, size - got, 0);
      if (n <= 0) return false;
      got += static_cast<size_t>(n);
    }
    return true;
  }

  const int socket_;
};

TEST(IdleConnectionTest, OneThatAsksForNothingIsEndedAndThatOfAPeerIsNot) {
  EchoServer server(/*idle_ms=*/2000);
  ASSERT_TRUE(server.is_serving());
  void* const channel = Connect(server.address().c_str());
  EXPECT_EQ(Asked(channel, "Echo", "x", INT64_MAX, /*is_urgent=*/true).Await(), 0);
  Asked held(channel, "Hold", "first");
  void* const call = server.AwaitHeld("first");
  // When it has ended, the urgent line has had no call for longer. If that had ended, the peer
  // would be lost, and so would the call.
  for (int i = 0; i < 2; ++i) SilentPeer(server.port()).AwaitEnd();
  EXPECT_EQ(Asked(channel, "Echo", "x", INT64_MAX, /*is_urgent=*/true).Await(), 0);
  millstream_slice answer = Own("answer");
  RespondTo(call, &answer, 1);
  EXPECT_EQ(held.Await(), 0);
  EXPECT_EQ(held.answer(), "answer");
  Disconnect(channel);
}

// ---- Threads ----

// For the first answers a thread of the queue may read already.
TEST_F(StreamsTest, AThreadThatWaitsForAnswersReadsThem) {
  std::thread::id reader;
  do {
    Asked asked(channel_, "Echo", "x");
    reader = asked.HelpAndAwait();
    EXPECT_EQ(asked.answer(), "x");
  } while (reader != std::this_thread::get_id());
}

TEST_F(StreamsTest, ThreadsThatHelpAtTheSameTimeHaveTheirOwnAnswers) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int round = 0; round < kRounds; ++round) {
        // One of them is large: its reader lets another thread read.
        const size_t size = round % 8 == 0 ? size_t{100'000} : size_t{10};
        const std::string request(size, static_cast<char>('a' + t));
        Asked asked(channel_, "Echo", request);
        asked.HelpAndAwait();
        EXPECT_TRUE(asked.answer() == request) << t;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(StreamsTest, AnswersComeWhileTheThreadThatWaitedDoesSomethingElse) {
  Asked helped(channel_, "Echo", "x");
  helped.HelpAndAwait();
  Asked other(channel_, "Echo", "y");
  EXPECT_EQ(other.Await(), 0);  // without help
}

// It would wait for its own end.
TEST_F(StreamsTest, AHandlerThatHasNotKeptItsThreadDoesNotHelp) {
  Asked asked(channel_, "HelpAndCount", "");
  EXPECT_EQ(asked.Await(), 0);
  EXPECT_EQ(asked.answer(), "0");
}

TEST_F(StreamsTest, HandlersThatKeepTheirThreadsDoNotStopOthers) {
  std::vector<std::unique_ptr<Asked>> calls;
  for (int i = 0; i < 5; ++i) {
    calls.push_back(std::make_unique<Asked>(channel_, "KeepAndMeet", "5"));
  }
  for (const auto& call : calls) EXPECT_EQ(call->Await(), 0);
}

// They must not do that, but pings of peers are answered all the same.
TEST_F(StreamsTest, HandlersThatTakeLongDoNotStopOthers) {
  Asked first(channel_, "Meet", "3");
  Asked second(channel_, "Meet", "3");
  Asked third(channel_, "Meet", "3");
  EXPECT_EQ(first.Await(), 0);
  EXPECT_EQ(second.Await(), 0);
  EXPECT_EQ(third.Await(), 0);
}

// ---- Channels that cannot be used ----

// An environment variable, as long as the object lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
};

TEST(ChannelTest, CallsSayThatCredentialsCannotBeUsed) {
  void* channel = nullptr;
  {
    const Variable folder("MILLSTREAM_CLUSTER_CREDENTIALS", testing::TempDir() + "/none");
    channel = Connect("127.0.0.1:1");
  }
  for (const int64_t deadline_ns : {int64_t{-1}, INT64_MAX}) {
    Asked asked(channel, "Echo", "x", deadline_ns);
    EXPECT_EQ(asked.Await(), kInvalidArgument);
    EXPECT_EQ(asked.message(), "the credentials of the cluster cannot be used");
  }
  Disconnect(channel);
}

TEST(ChannelTest, CallsSayThatAnAddressCannotBeUsed) {
  void* const channel = Connect("ipv4:1");
  Asked asked(channel, "Echo", "x");
  EXPECT_GT(asked.Await(), kCancelled);
  EXPECT_NE(asked.message(), "");
  Disconnect(channel);
}

// ---- Names in front of requests ----

TEST(TakeMethodTest, ANameMayBeCutAnywhere) {
  const std::string front = FrontFor("Echo");
  for (size_t cut = 0; cut <= front.size(); ++cut) {
    std::vector<millstream_slice> slices{Own(front.substr(0, cut)),
                                         Own(front.substr(cut) + "rest")};
    std::string method;
    ASSERT_TRUE(TakeMethod(&slices, &method)) << cut;
    EXPECT_EQ(method, "Echo");
    EXPECT_EQ(Join(slices.data(), slices.size()), "rest");
  }
}

TEST(TakeMethodTest, ANameThatEndsTooEarlyIsNone) {
  for (const std::string& bytes : {std::string(), std::string("\4Ech"), std::string("\xff")}) {
    std::vector<millstream_slice> slices{Own(bytes)};
    std::string method;
    EXPECT_FALSE(TakeMethod(&slices, &method));
    Release(slices);
  }
}

}  // namespace
}  // namespace millstream::network
