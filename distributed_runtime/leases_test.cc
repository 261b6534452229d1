#include "distributed_runtime/leases.h"

#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "distributed_runtime/pulse.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr int kPatience = 3;

class LeasesTest : public ::testing::Test {
 protected:
  std::vector<uint64_t> Beat() {
    std::vector<uint64_t> sessions;
    for (const Leases::Ended& ended : leases_.Beat()) sessions.push_back(ended.session);
    return sessions;
  }
  void BeatInPatience() {
    for (int i = 0; i < kPatience; ++i) EXPECT_THAT(Beat(), IsEmpty());
  }

  Leases leases_{kPatience};
};

TEST_F(LeasesTest, ALeaseEndsOnceWhenItsHolderIsSilent) {
  leases_.Add(7, "a", 1);
  BeatInPatience();
  EXPECT_THAT(Beat(), ElementsAre(7));
  EXPECT_THAT(Beat(), IsEmpty());
}

TEST_F(LeasesTest, ALeaseThatIsRenewedLasts) {
  leases_.Add(7, "a", 1);
  leases_.Add(8, "b", 1);
  BeatInPatience();
  EXPECT_THAT(leases_.Renew("a", 1, {7}), IsEmpty());
  EXPECT_THAT(Beat(), ElementsAre(8));
  EXPECT_THAT(leases_.Renew("b", 1, {8}), ElementsAre(8));
}

TEST_F(LeasesTest, AHolderHasItsSessionsUntilItIsGone) {
  EXPECT_THAT(leases_.Holders(), IsEmpty());
  leases_.Add(8, "a", 1);
  leases_.Add(7, "a", 1);
  leases_.Add(9, "b", 1);
  EXPECT_THAT(leases_.Holders(), ElementsAre(LeaseHolder("a", 1), LeaseHolder("b", 1)));
  EXPECT_THAT(leases_.SessionsOf({"a", 1}), ElementsAre(8, 7));
  EXPECT_THAT(leases_.SessionsOf({"a", 2}), IsEmpty());
  EXPECT_THAT(leases_.SessionsOf({"a", 1}, 0), IsEmpty());
  EXPECT_THAT(Beat(), IsEmpty());
  leases_.Hear(7);
  EXPECT_THAT(leases_.SessionsOf({"a", 1}, 0), ElementsAre(8));
  leases_.End({"a", 2});
  EXPECT_THAT(Beat(), IsEmpty());
  leases_.End({"a", 1});
  EXPECT_THAT(leases_.Holders(), ElementsAre(LeaseHolder("b", 1)));
  EXPECT_THAT(Beat(), UnorderedElementsAre(7, 8));
}

TEST_F(LeasesTest, ALaterIncarnationIsAnotherHolder) {
  leases_.Add(7, "a", 1);
  leases_.Add(8, "a", 2);
  EXPECT_THAT(leases_.Holders(), ElementsAre(LeaseHolder("a", 2)));
  EXPECT_THAT(leases_.SessionsOf({"a", 2}), ElementsAre(8));
}

TEST_F(LeasesTest, AHolderIsSilentUntilItIsHeardOf) {
  leases_.Add(7, "a", 1);
  leases_.Add(8, "b", 1);
  EXPECT_THAT(Beat(), IsEmpty());
  EXPECT_THAT(leases_.Silent(1), IsEmpty());
  EXPECT_THAT(leases_.Renew("b", 1, {8}), IsEmpty());
  EXPECT_THAT(Beat(), IsEmpty());
  EXPECT_THAT(leases_.Silent(1), ElementsAre(7));
  EXPECT_THAT(leases_.Renew("a", 1, {7}), IsEmpty());
  EXPECT_THAT(leases_.Silent(1), IsEmpty());
  EXPECT_THAT(Beat(), IsEmpty());
  leases_.Hear(8);
  EXPECT_THAT(Beat(), IsEmpty());
  EXPECT_THAT(leases_.Silent(1), ElementsAre(7));
}

TEST_F(LeasesTest, SilentHoldersAreInTheOrderOfTheirLeases) {
  for (const uint64_t session : {9, 7, 8}) leases_.Add(session, "a", 1);
  EXPECT_THAT(Beat(), IsEmpty());
  EXPECT_THAT(leases_.Silent(0), ElementsAre(9, 7, 8));
}

TEST_F(LeasesTest, ARequestDoesNotBringBackALeaseThatIsOver) {
  leases_.Add(7, "a", 1);
  leases_.Add(10, "a", 2);
  leases_.Hear(7);
  leases_.Hear(11);
  EXPECT_THAT(Beat(), ElementsAre(7));
}

TEST_F(LeasesTest, ALeaseThatWasRemovedDoesNotEnd) {
  leases_.Add(7, "a", 1);
  leases_.Remove(7);
  BeatInPatience();
  EXPECT_THAT(Beat(), IsEmpty());
}

TEST_F(LeasesTest, AHolderThatWasStartedAgainLosesItsLeases) {
  leases_.Add(7, "a", 1);
  leases_.Add(8, "a", 1);
  leases_.Add(9, "b", 1);
  leases_.Add(10, "a", 2);
  EXPECT_THAT(leases_.Renew("a", 1, {7}), ElementsAre(7));
  EXPECT_THAT(Beat(), UnorderedElementsAre(7, 8));
  EXPECT_THAT(leases_.Renew("b", 2, {}), IsEmpty());
  EXPECT_THAT(Beat(), ElementsAre(9));
}

TEST_F(LeasesTest, TheSessionsOfAnEarlierIncarnationAreKnownBeforeTheyEnd) {
  for (const uint64_t session : {9, 7, 8}) leases_.Add(session, "a", 1);
  leases_.Add(5, "b", 1);
  EXPECT_THAT(leases_.Over("a"), IsEmpty());
  leases_.Add(10, "a", 2);
  EXPECT_THAT(leases_.Over("a"), ElementsAre(9, 7, 8));
  EXPECT_THAT(leases_.Over("b"), IsEmpty());
  EXPECT_THAT(Beat(), UnorderedElementsAre(7, 8, 9));
  EXPECT_THAT(leases_.Over("a"), IsEmpty());
}

TEST_F(LeasesTest, ALateRequestOfAnEarlierIncarnationEndsNothing) {
  leases_.Add(10, "a", 2);
  EXPECT_THAT(leases_.Renew("a", 1, {7}), ElementsAre(7));
  leases_.Add(7, "a", 1);
  BeatInPatience();
  EXPECT_THAT(Beat(), UnorderedElementsAre(7, 10));
}

// The number comes from a clock, which was set back while the holder was away.
TEST_F(LeasesTest, LeasesOfAHolderWhoseNumberWentBackEndBySilence) {
  leases_.Add(7, "a", 2);
  leases_.Add(8, "a", 1);
  BeatInPatience();
  EXPECT_THAT(leases_.Renew("a", 1, {8}), IsEmpty());
  EXPECT_THAT(Beat(), ElementsAre(7));
}

TEST(PulseTest, BeatsUntilItIsDestroyed) {
  absl::Notification first;
  int beats = 0;
  {
    const Pulse pulse(absl::Microseconds(1), [&] {
      if (++beats == 2) first.Notify();
    });
    EXPECT_TRUE(Eventually(first));
  }
  // The thread writes it no more.
  EXPECT_GE(beats, 2);
}

}  // namespace
}  // namespace millstream
