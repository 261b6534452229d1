// Which tensors come with the members of collective operations, by what is measured.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "distributed_runtime/testing/collectives_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr char kLeader[] = "/job:worker/replica:0/task:0";

class ClusterCollectivesSizesTest : public ClusterCollectivesTest {
 protected:
  ClusterCollectivesSizesTest() { session = Open(0, TwoDevices()); }

  // As if the second task had measured that it gets a megabyte of the leader in so long a time,
  // and that messages take long. No tensor of these tests is large enough to be measured itself.
  void Measure(absl::Duration time_of_a_megabyte) {
    LinkMeasures* const links = servers_[1]->worker()->peers()->links();
    for (int i = 0; i < 15; ++i) links->AddRoundTrip(kLeader, absl::Seconds(1));
    links->AddTransfer(kLeader, size_t{1} << 20, absl::Seconds(1) + time_of_a_megabyte);
    ASSERT_TRUE(links->link().is_known());
  }
  // Runs a step. Sets whether the tasks have exchanged its tensors.
  std::vector<std::vector<float>> RunStep(const std::vector<Output>& fetches, bool* exchanged) {
    for (const auto& transport : transports_) transport->ForgetCounts();
    const auto got = Run(fetches);
    EXPECT_TRUE(got.ok()) << got.status();
    *exchanged = transports_[1]->Count("CollectivePiece") > 0;
    std::vector<std::vector<float>> results;
    if (!got.ok()) return results;
    for (const Tensor& one : *got) results.push_back(Elements<float>(one));
    return results;
  }
  // One device of the leader's task and two of the other. Beside 10^8, floats are 8 apart: the
  // results depend on the order of additions.
  std::vector<Output> Operations(int64_t size, bool scatters) {
    const std::vector<std::pair<int, int>> devices = {{0, 0}, {1, 0}, {1, 1}};
    const std::vector<float> firsts = {1e8f, 3, 3.3f};
    std::vector<Output> fetches;
    for (size_t i = 0; i < devices.size(); ++i) {
      const auto& [task, device] = devices[i];
      const Output numbers = Numbers(task, device, size, firsts[i]);
      fetches.push_back(scatters ? ReduceScatter(task, device, numbers, 3)
                                 : Reduce(task, device, numbers, 3, "Div"));
    }
    return fetches;
  }
};

// The first meeting of a group tells its members what is measured, so that the second one takes
// place in the other way, with the same bits.
class ClusterCollectivesWaysTest : public ClusterCollectivesSizesTest,
                                   public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(ReductionsAndReduceScatters, ClusterCollectivesWaysTest,
                         ::testing::Values(false, true));

TEST_P(ClusterCollectivesWaysTest, WhereMessagesCostMoreThanBytesLargeTensorsComeWithMembers) {
  Measure(absl::Nanoseconds(1));
  const std::vector<Output> fetches = Operations(20001, GetParam());  // 80 KB
  bool exchanged = false;
  const auto first = RunStep(fetches, &exchanged);
  EXPECT_TRUE(exchanged);
  const auto second = RunStep(fetches, &exchanged);
  EXPECT_FALSE(exchanged);
  EXPECT_EQ(first, second);
}

TEST_P(ClusterCollectivesWaysTest, WhereBytesCostMoreThanMessagesSmallTensorsAreExchanged) {
  Measure(absl::Hours(1000));
  const std::vector<Output> fetches = Operations(3000, GetParam());  // 12 KB
  bool exchanged = true;
  const auto first = RunStep(fetches, &exchanged);
  EXPECT_FALSE(exchanged);
  const auto second = RunStep(fetches, &exchanged);
  EXPECT_TRUE(exchanged);
  EXPECT_EQ(first, second);
}

TEST_F(ClusterCollectivesSizesTest, RoundTripsAreMeasuredByMembersOfOtherTasks) {
  bool exchanged = false;
  RunStep(Operations(3, false), &exchanged);
  EXPECT_GT(servers_[1]->worker()->peers()->links()->link().round_trip_seconds, 0);
  EXPECT_EQ(servers_[0]->worker()->peers()->links()->link().round_trip_seconds, 0);
}

}  // namespace
}  // namespace millstream
