#include "distributed_runtime/client_runs.h"

#include "gtest/gtest.h"

namespace millstream {
namespace {

TEST(ClientRunsTest, ARunIsCancelledBeforeAndAfterItsRequest) {
  ClientRuns runs;
  const auto first = runs.Begin(1, {});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE((*first)->IsCancelled());
  runs.Cancel(1);
  EXPECT_TRUE((*first)->IsCancelled());
  runs.End(1);
  runs.Cancel(2);
  const auto second = runs.Begin(2, {});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE((*second)->IsCancelled());
}

TEST(ClientRunsTest, ARunThatTheClientHasEndedIsRefusedOrCancelled) {
  ClientRuns runs;
  const auto first = runs.Begin(1, {});
  const auto second = runs.Begin(2, {1});
  const auto fourth = runs.Begin(4, {2});
  ASSERT_TRUE(first.ok() && second.ok() && fourth.ok());
  EXPECT_TRUE((*first)->IsCancelled());
  EXPECT_FALSE((*second)->IsCancelled());
  EXPECT_EQ(runs.Begin(3, {2}).status().code(), absl::StatusCode::kCancelled);
  runs.Cancel(3);
  const auto fifth = runs.Begin(5, {2, 4});
  ASSERT_TRUE(fifth.ok()) << fifth.status();
  EXPECT_FALSE((*second)->IsCancelled());
  EXPECT_FALSE((*fourth)->IsCancelled());
  EXPECT_FALSE((*fifth)->IsCancelled());
}

}  // namespace
}  // namespace millstream
