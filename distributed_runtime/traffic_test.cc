#include "distributed_runtime/traffic.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

Payload Bytes(size_t count) {
  Payload payload;
  payload.Append(std::string(count, 'x'));
  return payload;
}

// Answers each request with 5 bytes, and counts the threads that help.
class Answering final : public Channel {
 public:
  std::shared_ptr<Call> Start(absl::string_view method, Payload request, absl::Time deadline,
                              Respond respond) override {
    respond(absl::OkStatus(), Bytes(5));
    return nullptr;
  }
  std::shared_ptr<Call> StartAwaited(absl::string_view method, Payload request, absl::Time deadline,
                                     Respond respond) override {
    ++awaited;
    return Start(method, std::move(request), deadline, std::move(respond));
  }
  void Help(absl::FunctionRef<bool()> is_done) override { helps += is_done() ? 1 : 0; }
  int awaited = 0;
  int helps = 0;
};

TEST(TrafficTest, AChannelCountsItsRequestsAndTheirAnswers) {
  const auto traffic = std::make_shared<Traffic>();
  const auto channel = CountedChannel(std::make_shared<Answering>(), traffic);
  size_t received = 0;
  channel->Start("Any", Bytes(3), absl::InfiniteFuture(),
                 [&](const Status&, Payload response) { received = response.size(); });
  EXPECT_EQ(received, 5);
  EXPECT_EQ(traffic->sent(), 3);
  EXPECT_EQ(traffic->received(), 5);
}

// Without it, each answer would wake a thread.
TEST(TrafficTest, WhoWaitsHelpsTheChannelBelow) {
  const auto below = std::make_shared<Answering>();
  const auto channel = CountedChannel(below, std::make_shared<Traffic>());
  channel->Help([] { return true; });
  EXPECT_EQ(below->helps, 1);
}

TEST(TrafficTest, AnAwaitedCallIsOneOfTheChannelBelow) {
  const auto traffic = std::make_shared<Traffic>();
  const auto below = std::make_shared<Answering>();
  const auto channel = CountedChannel(below, traffic);
  channel->StartAwaited("Any", Bytes(3), absl::InfiniteFuture(), [](const Status&, Payload) {});
  EXPECT_EQ(below->awaited, 1);
  EXPECT_EQ(traffic->sent(), 3);
  EXPECT_EQ(traffic->received(), 5);
}

TEST(TrafficTest, AResponseIsCountedAsSent) {
  const auto traffic = std::make_shared<Traffic>();
  size_t given = 0;
  const Respond respond =
      CountedRespond([&](const Status&, Payload response) { given = response.size(); }, traffic);
  respond(absl::OkStatus(), Bytes(7));
  EXPECT_EQ(given, 7);
  EXPECT_EQ(traffic->sent(), 7);
  EXPECT_EQ(traffic->received(), 0);
}

}  // namespace
}  // namespace millstream
