// Collective operations over the devices of a process.
#include <string>
#include <thread>
#include <vector>

#include "core/structural/collectives_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr int64_t kKey = 1;

class CollectivesTest : public CollectiveOpsTest {
 protected:
  Output Reduce(int device, const Output& input, int64_t group_size, int64_t instance = 0,
                const std::string& merge = "Add", const std::string& final = "Id") {
    On(device);
    return Op("CollectiveReduce", {input},
              {{"group_size", group_size},
               {"group_key", kKey},
               {"instance_key", instance},
               {"merge_op", merge},
               {"final_op", final},
               {"subdiv_offsets", std::vector<int64_t>{0}}});
  }
  Output Gather(int device, const Output& input, int64_t group_size) {
    const PartialShape unknown;
    On(device);
    return Op("CollectiveGather", {input},
              {{"group_size", group_size},
               {"group_key", kKey},
               {"instance_key", int64_t{0}},
               {"shape", unknown}});
  }
  Output Send(int device, const Output& input, int64_t group_size, const PartialShape& shape) {
    On(device);
    return Op("CollectiveBcastSend", {input},
              {{"group_size", group_size},
               {"group_key", kKey},
               {"instance_key", int64_t{0}},
               {"shape", shape}});
  }
  Output Receive(int device, int64_t group_size, const PartialShape& shape) {
    On(device);
    return Op("CollectiveBcastRecv", {},
              {{"T", DataType::kFloat},
               {"group_size", group_size},
               {"group_key", kKey},
               {"instance_key", int64_t{0}},
               {"shape", shape}});
  }
};

TEST_F(CollectivesTest, EachMemberGetsTheReduction) {
  for (int members = 1; members <= kDevices; ++members) {
    std::vector<Output> sums;
    std::vector<Output> means;
    for (int i = 0; i < members; ++i) {
      const Output input = Of(i, {static_cast<float>(i), 2});
      sums.push_back(Reduce(i, input, members));
      means.push_back(Reduce(i, input, members, 1, "Add", "Div"));
    }
    const float sum = static_cast<float>(members * (members - 1)) / 2;
    for (const std::vector<float>& got : Fetch(sums)) {
      EXPECT_THAT(got, ElementsAre(sum, 2 * static_cast<float>(members)));
    }
    for (const std::vector<float>& got : Fetch(means)) {
      EXPECT_THAT(got, ElementsAre(sum / static_cast<float>(members), 2));
    }
  }
}

TEST_F(CollectivesTest, HasFourOperations) {
  const std::vector<std::pair<std::string, float>> expected = {
      {"Add", 5}, {"Mul", 6}, {"Max", 3}, {"Min", 2}};
  for (const auto& [merge, value] : expected) {
    const std::vector<Output> results = {Reduce(0, Of(0, {2}), 2, 0, merge),
                                         Reduce(1, Of(1, {3}), 2, 0, merge)};
    EXPECT_THAT(Fetch(results), ElementsAre(ElementsAre(value), ElementsAre(value))) << merge;
  }
}

TEST_F(CollectivesTest, OneResultFeedsTheNextOperationOfTheGroup) {
  std::vector<Output> results;
  for (int i = 0; i < 3; ++i) {
    results.push_back(Reduce(i, Reduce(i, Of(i, {1}), 3, 0), 3, 1));
  }
  for (int step = 0; step < 20; ++step) {
    EXPECT_THAT(Fetch(results), ElementsAre(ElementsAre(9), ElementsAre(9), ElementsAre(9)));
  }
}

TEST_F(CollectivesTest, AVariableThatChangesLeavesResultsAlone) {
  On(0);
  const Output v = Variable("v", DataType::kFloat, PartialShape({1}));
  ASSERT_EQ(Execute({Assign(v, Of(0, {1}))}), absl::OkStatus());
  const Output sent = Send(0, Read(v), 2, PartialShape({1}));
  const Output received = Receive(1, 2, PartialShape({1}));
  On(0);
  const Node* const add = build.NodeOf("AssignAddVariableOp", {v, sent});
  for (const float expected : {1.0f, 2.0f, 4.0f}) {
    const auto got = Run({received}, {}, {add});
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_THAT(Elements<float>((*got)[0]), ElementsAre(expected));
  }
}

TEST_F(CollectivesTest, GathersRowsInTheOrderOfDevices) {
  const std::vector<Output> results = {Gather(2, Of(2, {5, 6}), 3), Gather(0, Of(0, {1, 2}), 3),
                                       Gather(1, Of(1, {3, 4}), 3)};
  EXPECT_EQ(build.ShapeOf(results[0]), PartialShape({6}));
  for (const std::vector<float>& got : Fetch(results)) {
    EXPECT_THAT(got, ElementsAre(1, 2, 3, 4, 5, 6));
  }
}

TEST_F(CollectivesTest, BroadcastsOneTensor) {
  const PartialShape shape({2});
  const std::vector<Output> results = {Receive(0, 3, shape), Send(1, Of(1, {7, 8}), 3, shape),
                                       Receive(2, 3, shape)};
  for (const std::vector<float>& got : Fetch(results)) EXPECT_THAT(got, ElementsAre(7, 8));
}

TEST_F(CollectivesTest, WhoIsMissingIsNamed) {
  const Output there = Reduce(0, Of(0, {1}), 2);
  const Output missing = Reduce(1, Of(1, {1}), 2);
  ASSERT_EQ(Fetch({there, missing}).size(), 2);
  RunOptions options;
  options.timeout_ms = 30;
  ExpectError(Run({there}, {}, {}, options).status(), absl::StatusCode::kDeadlineExceeded,
              {"(op CollectiveReduce)",
               "waits for 1 of 2 members of collective group 1, instance 0: "
               "/job:localhost/replica:0/task:0/device:CPU:1"});
  EXPECT_EQ(Fetch({there, missing}).size(), 2) << "the session can be used further";
}

TEST_F(CollectivesTest, MembersOfSeveralStepsMeet) {
  const std::vector<Output> results = {Reduce(0, Of(0, {1}), 2), Reduce(1, Of(1, {2}), 2)};
  std::vector<std::thread> threads;
  for (const Output& result : results) {
    threads.emplace_back([this, result] {
      for (int step = 0; step < 100; ++step) {
        const auto got = Run({result});
        ASSERT_TRUE(got.ok()) << got.status();
        EXPECT_EQ(Elements<float>((*got)[0])[0], 3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CollectivesTest, AStepThatFailsFreesThoseWhoWaitForIt) {
  const Output waiting = Reduce(0, Of(0, {1}), 2);
  const Output wrong = Reduce(1, Of(1, {1}), 3);
  ExpectError(Run({waiting, wrong}).status(), kInvalid,
              {"the members of collective group 1, instance 0 do not agree", "group_size 3"});
  ExpectError(Run({Reduce(0, Of(0, {1}), 2), Reduce(1, Of(1, {1, 2}), 2)}).status(), kInvalid,
              {"do not agree", "shape [2]"});
}

TEST_F(CollectivesTest, ClosingTheSessionEndsTheWait) {
  const Output there = Reduce(0, Of(0, {1}), 2);
  const Node* const pause = build.NodeOf("TestPause", {});
  PausePoint::Close();
  std::thread closer([&] {
    PausePoint::AwaitStep();
    PausePoint::Open();
    EXPECT_EQ(session->Close(), absl::OkStatus());
  });
  EXPECT_EQ(Run({there}, {}, {pause}).status().code(), absl::StatusCode::kCancelled);
  closer.join();
}

TEST_F(CollectivesTest, RefusesAttributesThatMakeNoSense) {
  ExpectError(Error(Reduce(0, Of(0, {1}), 0)), kInvalid,
              {"attribute 'group_size' must be positive, got 0"});
  ExpectError(Error(Receive(0, 1, PartialShape({1}))), kInvalid, {"expected one sender"});
  const std::vector<Output> other = {Send(0, Of(0, {1, 2}), 2, PartialShape({2})),
                                     Receive(1, 2, PartialShape({3}))};
  ExpectError(Run(other).status(), kInvalid, {"shape [2]", "attribute 'shape' says [3]"});
}

}  // namespace
}  // namespace millstream
