#include "distributed_runtime/link_measures.h"

#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Kind = CollectiveSpec::Kind;

constexpr char kNear[] = "/job:worker/replica:0/task:0";
constexpr char kFar[] = "/job:worker/replica:0/task:1";
constexpr size_t kMegabyte = size_t{1} << 20;

CollectiveSpec Spec(Kind kind, int64_t group_size) {
  CollectiveSpec spec;
  spec.kind = kind;
  spec.group_size = group_size;
  return spec;
}

TEST(LinkMeasuresTest, NothingIsKnownWithoutBothMeasures) {
  LinkMeasures measures;
  EXPECT_FALSE(measures.link().is_known());
  measures.AddRoundTrip(kNear, absl::Milliseconds(1));
  EXPECT_FALSE(measures.link().is_known());
  measures.AddTransfer(kNear, LinkMeasures::kShortestTransfer - 1, absl::Milliseconds(2));
  EXPECT_FALSE(measures.link().is_known());
  measures.AddTransfer(kNear, LinkMeasures::kShortestTransfer, absl::Milliseconds(2));
  EXPECT_TRUE(measures.link().is_known());
}

TEST(LinkMeasuresTest, TheRoundTripIsNoTimeOfBytes) {
  LinkMeasures measures;
  measures.AddRoundTrip(kNear, absl::Milliseconds(10));
  measures.AddTransfer(kNear, kMegabyte, absl::Milliseconds(10));  // says nothing
  EXPECT_FALSE(measures.link().is_known());
  measures.AddTransfer(kNear, kMegabyte, absl::Milliseconds(11));
  EXPECT_NEAR(measures.link().bytes_per_second, 1000.0 * kMegabyte, 1.0);
  // Nothing else is known of the other one.
  measures.AddTransfer(kFar, kMegabyte, absl::Milliseconds(30));
  EXPECT_NEAR(measures.link().bytes_per_second, 50.0 * kMegabyte, 1.0);
}

TEST(LinkMeasuresTest, TimesThatCannotBeAreNoMeasures) {
  LinkMeasures measures;
  for (const absl::Duration took : {absl::ZeroDuration(), absl::Seconds(-1)}) {
    measures.AddRoundTrip(kNear, took);
    measures.AddTransfer(kNear, kMegabyte, took);
  }
  EXPECT_EQ(measures.link().round_trip_seconds, 0);
  EXPECT_EQ(measures.link().bytes_per_second, 0);
}

TEST(LinkMeasuresTest, TheMiddleOfTheLastOnesCounts) {
  LinkMeasures measures;
  for (const int milliseconds : {3, 1, 1000}) {
    measures.AddRoundTrip(kNear, absl::Milliseconds(milliseconds));
  }
  EXPECT_DOUBLE_EQ(measures.link().round_trip_seconds, 0.003);
  for (int i = 0; i < 15; ++i) measures.AddRoundTrip(kNear, absl::Milliseconds(20));
  EXPECT_DOUBLE_EQ(measures.link().round_trip_seconds, 0.02);
}

TEST(LinkMeasuresTest, TheSlowestPeerCounts) {
  LinkMeasures measures;
  measures.AddRoundTrip(kNear, absl::Milliseconds(1));
  measures.AddRoundTrip(kFar, absl::Milliseconds(8));
  measures.AddTransfer(kNear, kMegabyte, absl::Milliseconds(2));
  measures.AddTransfer(kFar, kMegabyte, absl::Milliseconds(18));
  EXPECT_DOUBLE_EQ(measures.link().round_trip_seconds, 0.008);
  EXPECT_NEAR(measures.link().bytes_per_second, 100.0 * kMegabyte, 1.0);
}

TEST(MostBytesWithMemberTest, WithoutMeasuresItIsTheSameForAll) {
  for (const Kind kind : {Kind::kReduce, Kind::kGather, Kind::kBroadcast, Kind::kReduceScatter}) {
    EXPECT_EQ(MostBytesWithMember(Spec(kind, 3), CollectiveLink()), kUnmeasuredBytes);
    EXPECT_EQ(MostBytesWithMember(Spec(kind, 3), CollectiveLink{0.001, 0}), kUnmeasuredBytes);
  }
}

// 100 microseconds and a gigabyte in a second: 100,000 bytes are on their way at a time.
TEST(MostBytesWithMemberTest, ItIsWhereMessagesCostAsMuchAsBytes) {
  const CollectiveLink link = {1e-4, 1e9};
  const auto most = [&link](Kind kind, int64_t group_size) {
    return static_cast<double>(MostBytesWithMember(Spec(kind, group_size), link));
  };
  EXPECT_NEAR(most(Kind::kReduce, 2), 150'000, 1);
  EXPECT_NEAR(most(Kind::kReduce, 4), 100'000, 1);
  EXPECT_NEAR(most(Kind::kGather, 4), 25'000, 1);
  EXPECT_NEAR(most(Kind::kBroadcast, 4), 100'000, 1);
  EXPECT_NEAR(most(Kind::kReduceScatter, 4), 100'000, 1);
  // A group of one has nothing to exchange.
  EXPECT_NEAR(most(Kind::kReduce, 1), 150'000, 1);
}

TEST(MostBytesWithMemberTest, ItHasBoundsWhateverIsMeasured) {
  constexpr double kMost = std::numeric_limits<double>::max();
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const CollectiveSpec spec = Spec(Kind::kReduce, 2);
  EXPECT_EQ(MostBytesWithMember(spec, {1e-9, 1}), kLeastBytesWithMember);
  EXPECT_EQ(MostBytesWithMember(spec, {kMost, kMost}), kMostBytesWithMember);
  EXPECT_EQ(MostBytesWithMember(spec, {kEndless, 1e-300}), kMostBytesWithMember);
  EXPECT_EQ(MostBytesWithMember(spec, {kNone, 1e9}), kUnmeasuredBytes);
  EXPECT_EQ(MostBytesWithMember(spec, {-1, -1e9}), kUnmeasuredBytes);
}

}  // namespace
}  // namespace millstream
