#include "core/rendezvous.h"

#include "gtest/gtest.h"

namespace millstream {
namespace {

struct Keeper final : public Rendezvous::Receiver {
  void Receive(Status given, Tensor received, bool is_dead) override {
    ++calls;
    status = given;
    tensor = received;
    dead = is_dead;
  }
  int calls = 0;
  Status status;
  Tensor tensor;
  bool dead = false;
};

TEST(RendezvousTest, ATensorThatWasSentIsThere) {
  Rendezvous rendezvous;
  ASSERT_TRUE(rendezvous.Send({1, 0}, Tensor::Scalar<float>(4), false).ok());
  Keeper keeper;
  Tensor tensor;
  bool dead = true;
  EXPECT_TRUE(*rendezvous.Receive({1, 0}, &keeper, &tensor, &dead));
  EXPECT_EQ(*tensor.data<float>(), 4);
  EXPECT_FALSE(dead);
  EXPECT_EQ(keeper.calls, 0);
}

TEST(RendezvousTest, AReceiverThatWaitsIsCalled) {
  Rendezvous rendezvous;
  Keeper keeper;
  Tensor tensor;
  bool dead = false;
  EXPECT_FALSE(*rendezvous.Receive({1, 0}, &keeper, &tensor, &dead));
  EXPECT_EQ(keeper.calls, 0);
  ASSERT_TRUE(rendezvous.Send({1, 0}, Tensor(), true).ok());
  EXPECT_EQ(keeper.calls, 1);
  EXPECT_TRUE(keeper.status.ok());
  EXPECT_TRUE(keeper.dead);
}

TEST(RendezvousTest, IterationsAndEdgesAreKeptApart) {
  Rendezvous rendezvous;
  ASSERT_TRUE(rendezvous.Send({1, 7}, Tensor::Scalar<float>(17), false).ok());
  ASSERT_TRUE(rendezvous.Send({2, 7}, Tensor::Scalar<float>(27), false).ok());
  Keeper keeper;
  Tensor tensor;
  bool dead = false;
  EXPECT_FALSE(*rendezvous.Receive({1, 8}, &keeper, &tensor, &dead));
  EXPECT_TRUE(*rendezvous.Receive({2, 7}, &keeper, &tensor, &dead));
  EXPECT_EQ(*tensor.data<float>(), 27);
}

TEST(RendezvousTest, SendingTwiceIsAnError) {
  Rendezvous rendezvous;
  ASSERT_TRUE(rendezvous.Send({1, 0}, Tensor(), false).ok());
  EXPECT_EQ(rendezvous.Send({1, 0}, Tensor(), false).code(), absl::StatusCode::kAlreadyExists);
}

TEST(RendezvousTest, AbortReachesThoseWhoWaitAndThoseWhoCome) {
  Rendezvous rendezvous;
  Keeper waits;
  Keeper comes;
  Tensor tensor;
  bool dead = false;
  EXPECT_FALSE(*rendezvous.Receive({1, 0}, &waits, &tensor, &dead));
  rendezvous.Abort(errors::Cancelled("stop"));
  EXPECT_EQ(waits.calls, 1);
  EXPECT_EQ(waits.status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(rendezvous.Receive({2, 0}, &comes, &tensor, &dead).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(comes.calls, 0);
  EXPECT_TRUE(rendezvous.Send({1, 0}, Tensor(), false).ok());
}

}  // namespace
}  // namespace millstream
