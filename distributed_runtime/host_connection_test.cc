#include "distributed_runtime/host_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "distributed_runtime/handler_thread.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

Payload PayloadOf(std::string bytes) {
  Payload payload;
  payload.Append(std::move(bytes));
  return payload;
}

std::string TextOf(const Payload& payload) {
  std::string text;
  for (const Slice& slice : payload.slices()) text.append(slice.data, slice.size);
  return text;
}

// Answers with what came. "Block" waits for `open`; so does "Long", on a thread that it keeps, and
// "Answer", when it has answered. "Open" ends the waits.
class Handler final : public RequestHandler {
 public:
  void Handle(absl::string_view method, Payload request, Respond respond) override {
    if (method == "Block" || method == "Long") {
      if (method == "Long" && !HandlerThread::Keep()) {
        return respond(errors::Internal("the thread was not kept"), Payload());
      }
      blocked.DecrementCount();
      EXPECT_TRUE(Eventually(open));
    }
    if (method == "Answer") {
      EXPECT_TRUE(HandlerThread::Keep());
      HandlerThread::AnswerAndHelp([&] { respond(absl::OkStatus(), std::move(request)); },
                                   [this] { return open.HasBeenNotified(); });
      EXPECT_TRUE(Eventually(open));
      ++handled;
      return;
    }
    if (method == "Open") open.Notify();
    ++handled;
    respond(absl::OkStatus(), std::move(request));
  }

  absl::BlockingCounter blocked{1};
  absl::Notification open;
  std::atomic<int> handled{0};
};

// Both ends of a connection in this process.
class HostConnectionTest : public ::testing::Test {
 protected:
  static constexpr size_t kMost = 2 * kMegabyte;

  HostConnectionTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    client_ = std::make_shared<HostConnection>(ends[0], "the server", nullptr, kMost);
    server_ = std::make_shared<HostConnection>(ends[1], "the client", handler_, kMost);
    client_->Begin([this] { client_ended_.Notify(); });
    server_->Begin([this] { server_ended_.Notify(); });
  }
  ~HostConnectionTest() override {
    client_->Shut();
    EXPECT_TRUE(Eventually(client_ended_));
    EXPECT_TRUE(Eventually(server_ended_));
  }

  // Begins a call whose answer is to be what was sent.
  void Start(absl::string_view method, std::string bytes, absl::BlockingCounter* answers) {
    client_->Start(method, PayloadOf(bytes), Expecting(bytes, answers));
  }
  void StartAwaited(absl::string_view method, std::string bytes, absl::BlockingCounter* answers) {
    client_->StartAwaited(method, PayloadOf(bytes), Expecting(bytes, answers));
  }
  static Respond Expecting(std::string bytes, absl::BlockingCounter* answers) {
    return [answers, bytes = std::move(bytes)](const Status& status, Payload response) {
      EXPECT_EQ(status, absl::OkStatus());
      EXPECT_TRUE(TextOf(response) == bytes);
      answers->DecrementCount();
    };
  }

  const std::shared_ptr<Handler> handler_ = std::make_shared<Handler>();
  absl::Notification client_ended_;
  absl::Notification server_ended_;
  std::shared_ptr<HostConnection> client_;
  std::shared_ptr<HostConnection> server_;
};

TEST_F(HostConnectionTest, AReceiverThatDoesNotReadCostsItsSenderABoundedAmountOfMemory) {
  constexpr int kMessages = 10;
  absl::BlockingCounter answers(kMessages + 1);
  Start("Block", "", &answers);
  handler_->blocked.Wait();
  for (int i = 0; i < kMessages; ++i) {
    Start("Echo", std::string(kMegabyte, static_cast<char>('a' + i)), &answers);
  }
  EXPECT_EQ(client_->on_its_way(), kMost);
  EXPECT_EQ(handler_->handled.load(), 0);
  handler_->open.Notify();
  answers.Wait();
  EXPECT_EQ(handler_->handled.load(), kMessages + 1);
  EXPECT_TRUE(Eventually([this] { return client_->on_its_way() == 0; }));
}

TEST_F(HostConnectionTest, OthersReadWhileAHandlerKeepsItsThread) {
  absl::BlockingCounter answers(3);
  Start("Long", "one", &answers);
  handler_->blocked.Wait();
  Start("Echo", "two", &answers);
  Start("Open", "three", &answers);
  answers.Wait();
}

TEST_F(HostConnectionTest, WhoAnswersAndWaitsIsReachedByTheNextMessage) {
  absl::BlockingCounter answered(1);
  Start("Answer", "one", &answered);
  answered.Wait();
  absl::BlockingCounter opened(1);
  Start("Open", "two", &opened);
  opened.Wait();
  EXPECT_TRUE(Eventually([this] { return handler_->handled.load() == 2; }));
}

TEST_F(HostConnectionTest, WhoWaitsForAnAnswerTakesIt) {
  for (int i = 0; i < 5000; ++i) {
    std::atomic<bool> is_done{false};
    client_->Start("Echo", PayloadOf(absl::StrCat(i)), [&](const Status& status, Payload response) {
      EXPECT_EQ(TextOf(response), absl::StrCat(i));
      is_done = true;
    });
    // Another thread may have taken it.
    EXPECT_TRUE(Eventually([&] {
      client_->Help([&] { return is_done.load(); });
      return is_done.load();
    }));
  }
}

TEST_F(HostConnectionTest, AnAwaitedAnswerIsTakenByWhoHelps) {
  for (int i = 0; i < 5000; ++i) {
    absl::BlockingCounter answers(1);
    std::atomic<bool> is_done{false};
    client_->StartAwaited("Echo", PayloadOf(absl::StrCat(i)),
                          [&](const Status& status, Payload response) {
                            EXPECT_EQ(TextOf(response), absl::StrCat(i));
                            is_done = true;
                            answers.DecrementCount();
                          });
    client_->Help([&] { return is_done.load(); });
    answers.Wait();
  }
}

// Nobody helps: whoever begins another call must not wait for that.
TEST_F(HostConnectionTest, AnotherCallBringsAnAwaitedAnswer) {
  for (int i = 0; i < 1000; ++i) {
    absl::BlockingCounter answers(2);
    StartAwaited("Echo", "one", &answers);
    Start("Echo", "two", &answers);
    answers.Wait();
  }
}

// Nobody helps, whichever of the calls comes first.
TEST_F(HostConnectionTest, ACallBesideAnAwaitedOneIsAnswered) {
  for (int i = 0; i < 500; ++i) {
    absl::BlockingCounter awaited(1);
    absl::BlockingCounter answers(1);
    std::thread other([&] { StartAwaited("Echo", "one", &awaited); });
    Start("Echo", "two", &answers);
    answers.Wait();
    other.join();
    client_->Beat();
    awaited.Wait();
  }
}

TEST_F(HostConnectionTest, AHeartbeatBringsAnAwaitedAnswer) {
  for (int i = 0; i < 1000; ++i) {
    absl::BlockingCounter answers(1);
    StartAwaited("Echo", "one", &answers);
    client_->Beat();
    answers.Wait();
  }
}

// So that nobody takes the other side for one that has never been there.
TEST_F(HostConnectionTest, CallsOfAConnectionThatEndsSayThatThereWasOne) {
  absl::Notification lost;
  client_->Start("Block", PayloadOf(""), [&lost](const Status& status, Payload) {
    EXPECT_TRUE(IsPeerLost(status)) << status;
    lost.Notify();
  });
  handler_->blocked.Wait();
  client_->Shut();
  EXPECT_TRUE(Eventually(lost));
  absl::Notification refused;
  client_->Start("Echo", PayloadOf(""), [&refused](const Status& status, Payload) {
    EXPECT_TRUE(IsPeerLost(status)) << status;
    refused.Notify();
  });
  EXPECT_TRUE(Eventually(refused));
  handler_->open.Notify();
}

TEST_F(HostConnectionTest, AHelperThatNeedsNoAnswerLeavesItToOthers) {
  for (int i = 0; i < 1000; ++i) {
    absl::BlockingCounter answers(1);
    StartAwaited("Echo", "one", &answers);
    client_->Help([] { return true; });
    answers.Wait();
  }
}

TEST_F(HostConnectionTest, ManyThreadsCallAndTakeAnswersForEachOther) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 1000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      std::minstd_rand random(static_cast<uint32_t>(t + 1));
      for (int i = 0; i < kCalls; ++i) {
        absl::Notification done;
        const size_t size = i % 100 == 0 ? kMegabyte : static_cast<size_t>(i * 50);
        const std::string text(size, static_cast<char>('a' + t));
        const auto take = [&](const Status& status, Payload response) {
          EXPECT_TRUE(TextOf(response) == text);
          done.Notify();
        };
        if (random() % 2 == 0) {
          client_->Start("Echo", PayloadOf(text), take);
        } else {
          client_->StartAwaited("Echo", PayloadOf(text), take);
        }
        client_->Help([&] { return done.HasBeenNotified(); });
        EXPECT_TRUE(Eventually(done));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HostConnectionEndTest, CallsEndWhenTheOtherProcessDoes) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const auto client = std::make_shared<HostConnection>(ends[0], "the server", nullptr);
  client->Begin(nullptr);
  absl::Notification ended;
  client->Start("Echo", Payload(), [&ended](const Status& status, Payload) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    ended.Notify();
  });
  close(ends[1]);  // as the system does for a process that is killed
  client->Help([&ended] { return ended.HasBeenNotified(); });
  EXPECT_TRUE(Eventually(ended));
}

}  // namespace
}  // namespace millstream
