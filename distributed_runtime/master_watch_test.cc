#include "distributed_runtime/master_watch.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed_runtime/rpc.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kFirst[] = "/job:worker/replica:0/task:0";
constexpr char kSecond[] = "/job:worker/replica:0/task:1";

// A request that a test answers.
class Sent final : public Channel::Call {
 public:
  Sent(Payload request, Respond respond) : respond_(std::move(respond)) {
    PayloadReader reader(std::move(request));
    EXPECT_EQ(DecodeMessage(&reader, &message), absl::OkStatus());
  }
  void Cancel() override { Break(absl::CancelledError("the call was cancelled")); }
  // As the master answers.
  void Answer(const Status& status) {
    if (respond_) Reply(std::exchange(respond_, nullptr)).Give(status);
  }
  // As the transport ends it.
  void Break(const Status& status) {
    if (respond_) std::exchange(respond_, nullptr)(status, Payload());
  }
  bool is_open() const { return respond_ != nullptr; }

  proto::WatchMasterRequest message;

 private:
  Respond respond_;
};

// Keeps what is sent to one address.
class Recorder final : public Channel {
 public:
  std::shared_ptr<Call> Start(absl::string_view method, Payload request, absl::Time deadline,
                              Respond respond) override {
    EXPECT_EQ(method, "WatchMaster");
    EXPECT_EQ(deadline, absl::InfiniteFuture());
    sent.push_back(std::make_shared<Sent>(std::move(request), std::move(respond)));
    const std::shared_ptr<Sent> last = sent.back();
    if (answers_at_once) last->Answer(absl::OkStatus());
    return last;
  }
  std::vector<std::shared_ptr<Sent>> sent;
  bool answers_at_once = false;
};

class RecordingTransport final : public Transport {
 public:
  StatusOr<std::unique_ptr<TransportServer>> Serve(
      const std::string& address, std::shared_ptr<RequestHandler> /*handler*/) override {
    return errors::Unimplemented("nobody serves at ", address);
  }
  StatusOr<std::shared_ptr<Channel>> Connect(const std::string& address) override {
    return address == "first" ? first : second;
  }
  const std::shared_ptr<Recorder> first = std::make_shared<Recorder>();
  const std::shared_ptr<Recorder> second = std::make_shared<Recorder>();
};

class Noting final : public MasterWatch::Listener {
 public:
  void LoseMaster(const LeaseHolder& master, const Status& error) override {
    events.push_back(
        absl::StrCat("lost ", master.first, " ", master.second, ": ", error.message()));
  }
  void EndMaster(const LeaseHolder& master) override {
    events.push_back(absl::StrCat("end ", master.first, " ", master.second));
  }
  std::vector<std::string> events;
};

class MasterWatchTest : public ::testing::Test {
 protected:
  Sent& Last() { return *transport_.first->sent.back(); }
  size_t NumSent() const { return transport_.first->sent.size(); }
  void Keep(const std::set<LeaseHolder>& masters) { watch_->Keep(masters, listener_); }
  // The master answers the first request, and keeps the second one.
  void Connect() {
    watch_->Watch(master_, listener_);
    Last().Answer(absl::OkStatus());
    ASSERT_TRUE(watch_->IsWatched(master_));
  }
  static Status Unreachable() { return absl::UnavailableError("no answer"); }

  RecordingTransport transport_;
  const std::shared_ptr<Noting> listener_ = std::make_shared<Noting>();
  const std::shared_ptr<MasterWatch> watch_ = std::make_shared<MasterWatch>(
      "/job:ps/replica:0/task:0",
      std::make_shared<Peers>(std::vector<ClusterTask>{{kFirst, "first"}, {kSecond, "second"}},
                              &transport_));
  const LeaseHolder master_{kFirst, 7};
};

TEST_F(MasterWatchTest, AMasterThatHasAnsweredKeepsTheNextRequest) {
  watch_->Watch(master_, listener_);
  EXPECT_FALSE(watch_->IsWatched(master_));
  EXPECT_FALSE(Last().message.is_held());
  EXPECT_EQ(Last().message.task(), "/job:ps/replica:0/task:0");
  EXPECT_EQ(Last().message.incarnation(), 7);
  Last().Answer(absl::OkStatus());
  EXPECT_TRUE(watch_->IsWatched(master_));
  EXPECT_TRUE(Last().message.is_held());
  watch_->Watch(master_, listener_);  // another session
  Keep({master_});
  EXPECT_EQ(NumSent(), 2);
  EXPECT_THAT(listener_->events, IsEmpty());
}

TEST_F(MasterWatchTest, AConnectionThatEndsIsALoss) {
  for (const Status& error : {Unreachable(), PeerLost("no answer")}) {
    Connect();
    Last().Break(error);
    EXPECT_THAT(listener_->events, ElementsAre(absl::StrCat("lost ", kFirst, " 7: no answer")));
    EXPECT_THAT(watch_->Lost(), ElementsAre(master_));
    EXPECT_FALSE(watch_->IsWatched(master_));
    listener_->events.clear();
  }
}

TEST_F(MasterWatchTest, AMasterThatCannotBeReachedAsYetIsNotLost) {
  watch_->Watch(master_, listener_);
  for (int i = 0; i < 3; ++i) {
    Last().Break(i == 0 ? PeerLost("of an earlier process") : Unreachable());
    Keep({master_});
  }
  EXPECT_EQ(NumSent(), 4);
  EXPECT_THAT(listener_->events, IsEmpty());
  EXPECT_THAT(watch_->Lost(), IsEmpty());
}

TEST_F(MasterWatchTest, AMasterThatIsReachedAgainIsNotLostAnyMore) {
  Connect();
  Last().Break(Unreachable());
  Keep({master_});
  Last().Break(Unreachable());
  EXPECT_THAT(watch_->Lost(), ElementsAre(master_));
  EXPECT_EQ(listener_->events.size(), 1);
  Keep({master_});
  Last().Answer(absl::OkStatus());
  EXPECT_THAT(watch_->Lost(), IsEmpty());
  EXPECT_TRUE(watch_->IsWatched(master_));
}

TEST_F(MasterWatchTest, ALaterProcessOfTheMasterEndsTheOldOne) {
  Connect();
  Last().Break(Unreachable());
  listener_->events.clear();
  Keep({master_});
  Last().Answer(absl::AbortedError("the master was started again"));
  EXPECT_THAT(listener_->events, ElementsAre(absl::StrCat("end ", kFirst, " 7")));
}

TEST_F(MasterWatchTest, AnAnswerOfAMasterThatStopsIsNoLoss) {
  Connect();
  Last().Answer(absl::OkStatus());
  EXPECT_THAT(listener_->events, IsEmpty());
  EXPECT_THAT(watch_->Lost(), IsEmpty());
  EXPECT_FALSE(watch_->IsWatched(master_));
  Keep({master_});  // it has sessions still
  EXPECT_EQ(NumSent(), 3);
}

TEST_F(MasterWatchTest, AMasterWithoutSessionsIsNotWatched) {
  Connect();
  Sent& held = Last();
  Keep({});
  EXPECT_FALSE(held.is_open());
  EXPECT_FALSE(watch_->IsWatched(master_));
  EXPECT_THAT(listener_->events, IsEmpty());
}

TEST_F(MasterWatchTest, MastersAndTheirIncarnationsAreWatchedApart) {
  Connect();
  Sent& old = Last();
  const LeaseHolder again{kFirst, 8};
  const LeaseHolder other{kSecond, 7};
  watch_->Watch(again, listener_);
  Last().Answer(absl::OkStatus());
  watch_->Watch(other, listener_);
  transport_.second->sent.back()->Answer(absl::OkStatus());
  old.Break(Unreachable());
  EXPECT_THAT(listener_->events, ElementsAre(HasSubstr(" 7: ")));
  EXPECT_THAT(watch_->Lost(), ElementsAre(master_));
  EXPECT_TRUE(watch_->IsWatched(again));
  EXPECT_TRUE(watch_->IsWatched(other));
}

TEST_F(MasterWatchTest, AnAnswerMayComeBeforeTheRequestIsSent) {
  transport_.first->answers_at_once = true;
  watch_->Watch(master_, listener_);
  EXPECT_EQ(NumSent(), 2);
  EXPECT_FALSE(watch_->IsWatched(master_));  // the second one was answered, too
  Keep({});
  EXPECT_THAT(listener_->events, IsEmpty());
}

TEST_F(MasterWatchTest, NobodyIsWatchedAfterTheStop) {
  Connect();
  Sent& held = Last();
  watch_->Stop();
  EXPECT_FALSE(held.is_open());
  Keep({master_});
  EXPECT_EQ(NumSent(), 2);
  EXPECT_THAT(listener_->events, IsEmpty());
}

TEST_F(MasterWatchTest, ATaskOfNoClusterIsNotAsked) {
  const LeaseHolder stranger{"/job:other/task:0", 1};
  watch_->Watch(stranger, listener_);
  EXPECT_FALSE(watch_->IsWatched(stranger));
  EXPECT_EQ(NumSent(), 0);
}

}  // namespace
}  // namespace millstream
