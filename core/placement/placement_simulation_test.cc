// Steps whose best placement is known.
#include "core/placement/placement_simulation.h"

#include <algorithm>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kGain = 0.95;

class SimulationTest : public ::testing::Test {
 protected:
  // Copies take `latency`, and 1 a byte.
  void StartWith(int devices, double latency) {
    problem.links.assign(devices, std::vector<LinkCost>(devices, LinkCost{latency, 1}));
    for (int d = 0; d < devices; ++d) problem.links[d][d] = LinkCost();
  }
  int Group() {
    std::vector<int> all;
    for (int d = 0; d < problem.num_devices(); ++d) all.push_back(d);
    problem.candidates.push_back(all);
    return static_cast<int>(problem.candidates.size()) - 1;
  }
  // A node of `group` that reads tensors of `bytes` bytes.
  int Add(int group, const std::vector<double>& times, const std::vector<int>& inputs = {},
          double bytes = 0) {
    PlacementProblem::Node node;
    node.group = group;
    node.times = times;
    for (const int input : inputs) node.inputs.push_back({input, 0, bytes});
    problem.nodes.push_back(node);
    return static_cast<int>(problem.nodes.size()) - 1;
  }
  // A group of its own.
  int Add(const std::vector<double>& times, const std::vector<int>& inputs = {}, double bytes = 0) {
    return Add(Group(), times, inputs, bytes);
  }
  SimulatedStep Greedy(SimulationOrder order = SimulationOrder::kReadiness) {
    return PlaceGreedily(problem, order);
  }

  PlacementProblem problem;
};

TEST_F(SimulationTest, AmongEqualsTheFirstThatIsLikedIsChosen) {
  StartWith(3, 0);
  Add({5, 5, 5});
  EXPECT_THAT(Greedy().devices, ElementsAre(0));
  problem.candidates[0] = {2, 0, 1};
  EXPECT_THAT(Greedy().devices, ElementsAre(2));
}

TEST_F(SimulationTest, NodesThatDoNotWaitForEachOtherAreSpread) {
  StartWith(2, 1);
  for (int i = 0; i < 4; ++i) Add({10, 10});
  EXPECT_EQ(Greedy().end, 20);
  EXPECT_EQ(Greedy(SimulationOrder::kProgram).end, 20);
}

// Of seven equal nodes a device that is twice and one that is four times as slow get 2 and 1.
TEST_F(SimulationTest, ASlowDeviceGetsLess) {
  StartWith(3, 0);
  for (int i = 0; i < 7; ++i) Add({10, 20, 40});
  const SimulatedStep step = Greedy();
  EXPECT_EQ(step.end, 40);
  EXPECT_EQ(std::count(step.devices.begin(), step.devices.end(), 0), 4);
  EXPECT_EQ(std::count(step.devices.begin(), step.devices.end(), 1), 2);
  EXPECT_EQ(std::count(step.devices.begin(), step.devices.end(), 2), 1);
}

TEST_F(SimulationTest, AChainStaysWhereItsTensorsAre) {
  StartWith(2, 3);
  int last = Add({10, 10});
  for (int i = 0; i < 5; ++i) last = Add({10, 9}, {last}, 100);
  const SimulatedStep step = Greedy();
  EXPECT_THAT(step.devices, Each(0));
  EXPECT_EQ(step.end, 60);
}

TEST_F(SimulationTest, AChainMovesWhereThatPays) {
  StartWith(2, 3);
  const int first = Add({10, 100});
  Add({100, 10}, {first}, 20);
  const SimulatedStep step = Greedy();
  EXPECT_THAT(step.devices, ElementsAre(0, 1));
  EXPECT_EQ(step.end, 10 + 3 + 20 + 10);
}

TEST_F(SimulationTest, GroupsStayTogetherAndCountAsAWhole) {
  StartWith(2, 0);
  const int group = Group();
  Add(group, {1, 2});   // here the first device is better,
  Add(group, {50, 9});  // for both the second
  EXPECT_THAT(Greedy().devices, ElementsAre(1));
  EXPECT_EQ(Greedy().end, 11);
}

TEST_F(SimulationTest, WhatIsOnOneDeviceAloneIsNotChosen) {
  StartWith(2, 0);
  Add({1, 50});
  problem.candidates[0] = {1};
  const SimulatedStep step = Greedy();
  EXPECT_THAT(step.devices, ElementsAre(1));
  EXPECT_THAT(step.options[0], IsEmpty());
}

TEST_F(SimulationTest, ATensorIsCopiedOnceAndCopiesTakeTurns) {
  StartWith(2, 5);
  const int a = Add({10, 10});
  const int b = Add({10, 10});
  const int r1 = Add({100, 1}, {a}, 10);
  Add({100, 1}, {a, b, r1}, 10);
  // a is there at 25; b, made at 20, follows behind it: at 40.
  EXPECT_EQ(SimulateStep(problem, {0, 0, 1, 1}), 41);
}

TEST_F(SimulationTest, ADeviceRunsItsNodesInTheProgramsOrder) {
  StartWith(2, 0);
  const int slow = Add({50, 50});
  Add({1, 1}, {slow});
  Add({10, 10});
  EXPECT_EQ(SimulateStep(problem, {0, 1, 1}), 61);
}

TEST_F(SimulationTest, TheOptionsSayWhatItWasChosenFrom) {
  StartWith(2, 0);
  Add({30, 20});
  const SimulatedStep step = Greedy();
  ASSERT_THAT(step.options[0], SizeIs(2));
  EXPECT_EQ(step.options[0][0].end, 30);
  EXPECT_EQ(step.options[0][1].end, 20);
}

TEST_F(SimulationTest, APlacementThatIsHardlyBetterIsNotTaken) {
  StartWith(2, 0);
  Add({100, 97});
  EXPECT_THAT(FindPlacement(problem, {{0}}, kGain).devices, ElementsAre(0));
  problem.nodes[0].times = {100, 90};
  EXPECT_THAT(FindPlacement(problem, {{0}}, kGain).devices, ElementsAre(1));
}

// Node by node, each chain would change its device half way, as soon as that ends the node sooner.
TEST_F(SimulationTest, ChainsBesideEachOtherAreNotCut) {
  StartWith(2, 3);
  for (int chain = 0; chain < 6; ++chain) {
    int last = Add({1, 2});
    for (int i = 0; i < 3; ++i) last = Add({1, 2}, {last});
  }
  const SimulatedStep step = FindPlacement(problem, {std::vector<int>(24, 0)}, kGain);
  EXPECT_EQ(step.end, 16);
  for (int first = 0; first < 24; first += 4) {
    EXPECT_THAT(std::vector<int>(step.devices.begin() + first, step.devices.begin() + first + 4),
                Each(step.devices[first]));
  }
}

// Greedy goes for the end of each node: the first pays for a copy that the second cannot use.
TEST_F(SimulationTest, AKnownPlacementThatIsBetterThanGreedyOnesIsKept) {
  StartWith(2, 0);
  const int a = Add({10, 9});
  Add({10, 500}, {a}, 100);
  EXPECT_THAT(Greedy().devices, ElementsAre(1, 0));
  const SimulatedStep step = FindPlacement(problem, {{0, 0}}, kGain);
  EXPECT_THAT(step.devices, ElementsAre(0, 0));
  EXPECT_EQ(step.end, 20);
}

}  // namespace
}  // namespace millstream
