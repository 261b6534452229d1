#include "core/partition/local_rendezvous.h"

#include "gtest/gtest.h"

namespace millstream {
namespace {

struct Keeper final : public Rendezvous::Receiver {
  void Receive(Status given, Parcel received) override {
    ++calls;
    status = given;
    parcel = received;
  }
  int calls = 0;
  Status status;
  Parcel parcel;
};

Parcel Number(float number) { return Parcel{Tensor::Scalar<float>(number), false, nullptr}; }

TEST(LocalRendezvousTest, ATensorThatWasSentIsThere) {
  LocalRendezvous rendezvous;
  ASSERT_TRUE(rendezvous.Send({1, 0}, Number(4)).ok());
  Keeper keeper;
  Parcel parcel;
  parcel.dead = true;
  EXPECT_TRUE(*rendezvous.Receive({1, 0}, &keeper, &parcel));
  EXPECT_EQ(*parcel.tensor.data<float>(), 4);
  EXPECT_FALSE(parcel.dead);
  EXPECT_EQ(keeper.calls, 0);
}

TEST(LocalRendezvousTest, AReceiverThatWaitsIsCalled) {
  LocalRendezvous rendezvous;
  Keeper keeper;
  Parcel parcel;
  EXPECT_FALSE(*rendezvous.Receive({1, 0}, &keeper, &parcel));
  EXPECT_EQ(keeper.calls, 0);
  ASSERT_TRUE(rendezvous.Send({1, 0}, Parcel{Tensor(), true, nullptr}).ok());
  EXPECT_EQ(keeper.calls, 1);
  EXPECT_TRUE(keeper.status.ok());
  EXPECT_TRUE(keeper.parcel.dead);
}

TEST(LocalRendezvousTest, IterationsAndEdgesAreKeptApart) {
  LocalRendezvous rendezvous;
  ASSERT_TRUE(rendezvous.Send({1, 7}, Number(17)).ok());
  ASSERT_TRUE(rendezvous.Send({2, 7}, Number(27)).ok());
  Keeper keeper;
  Parcel parcel;
  EXPECT_FALSE(*rendezvous.Receive({1, 8}, &keeper, &parcel));
  EXPECT_TRUE(*rendezvous.Receive({2, 7}, &keeper, &parcel));
  EXPECT_EQ(*parcel.tensor.data<float>(), 27);
}

TEST(LocalRendezvousTest, SendingTwiceIsAnError) {
  LocalRendezvous rendezvous;
  ASSERT_TRUE(rendezvous.Send({1, 0}, Parcel()).ok());
  EXPECT_EQ(rendezvous.Send({1, 0}, Parcel()).code(), absl::StatusCode::kAlreadyExists);
}

TEST(LocalRendezvousTest, AbortReachesThoseWhoWaitAndThoseWhoCome) {
  LocalRendezvous rendezvous;
  Keeper waits;
  Keeper comes;
  Parcel parcel;
  EXPECT_FALSE(*rendezvous.Receive({1, 0}, &waits, &parcel));
  rendezvous.Abort(errors::Cancelled("stop"));
  EXPECT_EQ(waits.calls, 1);
  EXPECT_EQ(waits.status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(rendezvous.Receive({2, 0}, &comes, &parcel).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(comes.calls, 0);
  EXPECT_TRUE(rendezvous.Send({1, 0}, Parcel()).ok());
}

}  // namespace
}  // namespace millstream
