#include "distributed_runtime/bounded_flow.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class BoundedFlowTest : public ::testing::Test {
 protected:
  // As a connection: begins to send, and notes what it has sent.
  void Start(int message, size_t bytes) {
    const auto send = [this, message, bytes] {
      flow_.SetNumber(static_cast<uint64_t>(message), bytes);
      sent_.push_back(message);
    };
    if (flow_.Begin(bytes, send)) send();
  }
  void Arrive(int message) {
    for (const BoundedFlow::Send& send : flow_.Arrive(static_cast<uint64_t>(message))) send();
  }

  BoundedFlow flow_{100};
  std::vector<int> sent_;
};

TEST_F(BoundedFlowTest, WhatIsBeyondTheBoundWaitsInItsOrder) {
  for (int message = 1; message <= 5; ++message) Start(message, 40);
  EXPECT_THAT(sent_, ElementsAre(1, 2));
  EXPECT_EQ(flow_.on_its_way(), 80);
  Start(6, 10);  // there is room, and others came before
  Arrive(2);
  EXPECT_THAT(sent_, ElementsAre(1, 2, 3));
  Arrive(1);
  Arrive(3);
  EXPECT_THAT(sent_, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(flow_.on_its_way(), 90);
  for (const int message : {4, 5, 6}) Arrive(message);
  EXPECT_EQ(flow_.on_its_way(), 0);
}

TEST_F(BoundedFlowTest, AMessageAboveTheBoundGoesAlone) {
  Start(1, 1000);
  Start(2, 1);
  EXPECT_THAT(sent_, ElementsAre(1));
  Arrive(1);
  Start(3, 1000);
  EXPECT_THAT(sent_, ElementsAre(1, 2));
  Arrive(2);
  EXPECT_THAT(sent_, ElementsAre(1, 2, 3));
}

TEST_F(BoundedFlowTest, AReceiverThatNamesOtherMessagesChangesNothing) {
  Start(1, 80);
  Start(2, 80);
  Arrive(7);
  EXPECT_THAT(sent_, ElementsAre(1));
  Arrive(1);
  Arrive(1);
  EXPECT_THAT(sent_, ElementsAre(1, 2));
  EXPECT_EQ(flow_.on_its_way(), 80);
}

TEST_F(BoundedFlowTest, ANumberThatIsUsedAgainTooEarlyKeepsNoRoom) {
  Start(1, 40);
  Start(1, 50);
  EXPECT_EQ(flow_.on_its_way(), 50);
  Arrive(1);
  Arrive(1);
  EXPECT_EQ(flow_.on_its_way(), 0);
}

TEST_F(BoundedFlowTest, AMessageThatGoesAnotherWayMakesRoom) {
  EXPECT_TRUE(flow_.Begin(80, [] {}));
  Start(2, 80);
  EXPECT_THAT(sent_, IsEmpty());
  for (const BoundedFlow::Send& send : flow_.GiveUp(80)) send();
  EXPECT_THAT(sent_, ElementsAre(2));
}

TEST_F(BoundedFlowTest, NothingIsSentAfterTheEnd) {
  Start(1, 80);
  Start(2, 80);
  flow_.Close();
  Arrive(1);
  Start(3, 1);
  EXPECT_THAT(sent_, ElementsAre(1));
}

}  // namespace
}  // namespace millstream
