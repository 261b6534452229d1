// Which runs of a step are measured, when it is placed again, and when a placement is needed no
// more.
#include "distributed_runtime/step_placements.h"

#include <memory>
#include <vector>

#include "distributed_runtime/master_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

class StepPlacementsTest : public ::testing::Test {
 protected:
  static std::shared_ptr<const MasterStep> Step() { return std::make_shared<MasterStep>(); }
  // Runs once, and moves to `next` if the step is to be placed. Returns whether it was.
  bool RunAndPlace(const std::shared_ptr<const MasterStep>& next) {
    const StepPlacements::Turn turn = placements.Begin(prepared);
    const bool places = placements.BeginPlacing(turn);
    if (places) placements.EndPlacing(next);
    placements.End(turn);
    return places;
  }

  const std::shared_ptr<const MasterStep> prepared = Step();
  StepPlacements placements{4, 2};
};

TEST_F(StepPlacementsTest, TheLastRunsOfAPeriodAreMeasured) {
  std::vector<bool> measured;
  std::vector<bool> end;
  for (int i = 0; i < 8; ++i) {
    const StepPlacements::Turn turn = placements.Begin(prepared);
    EXPECT_EQ(turn.step, prepared);
    measured.push_back(turn.is_measured);
    end.push_back(turn.ends_period);
    EXPECT_FALSE(placements.End(turn)) << "it is the present placement";
  }
  EXPECT_THAT(measured, ElementsAre(false, false, true, true, false, false, true, true));
  EXPECT_THAT(end, ElementsAre(false, false, false, true, false, false, false, true));
}

TEST_F(StepPlacementsTest, AStepThatDoesNotMoveIsSettled) {
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(RunAndPlace(nullptr));
  EXPECT_TRUE(RunAndPlace(nullptr));
  for (int i = 0; i < 8; ++i) {
    const StepPlacements::Turn turn = placements.Begin(prepared);
    EXPECT_FALSE(turn.is_measured);
    EXPECT_FALSE(placements.BeginPlacing(turn));
    placements.End(turn);
  }
}

TEST_F(StepPlacementsTest, ItMovesSomeTimesAtMost) {
  size_t moves = 0;
  for (int i = 0; i < 100; ++i) moves += RunAndPlace(Step());
  EXPECT_EQ(moves, StepPlacements::kMostMoves);
}

TEST_F(StepPlacementsTest, ARunKeepsThePlacementWithWhichItBegan) {
  const auto next = Step();
  for (int i = 0; i < 3; ++i) RunAndPlace(nullptr);
  const StepPlacements::Turn before = placements.Begin(prepared);
  ASSERT_TRUE(placements.BeginPlacing(before));
  const StepPlacements::Turn meanwhile = placements.Begin(prepared);
  EXPECT_EQ(meanwhile.step, prepared);
  EXPECT_EQ(placements.Present(prepared), prepared);
  placements.EndPlacing(next);
  EXPECT_EQ(placements.Present(prepared), next);
  const StepPlacements::Turn after = placements.Begin(prepared);
  EXPECT_EQ(after.step, next);
  EXPECT_FALSE(placements.End(before)) << "another run has the placement";
  EXPECT_FALSE(placements.End(after)) << "it is the present one";
  EXPECT_TRUE(placements.End(meanwhile)) << "nobody needs the first one any more";
}

TEST_F(StepPlacementsTest, ARunOfAnEarlierPlacementDoesNotPlace) {
  std::vector<StepPlacements::Turn> turns;
  for (int i = 0; i < 8; ++i) turns.push_back(placements.Begin(prepared));
  ASSERT_TRUE(turns[3].ends_period && turns[7].ends_period);
  ASSERT_TRUE(placements.BeginPlacing(turns[3]));
  EXPECT_FALSE(placements.BeginPlacing(turns[7])) << "one places at a time";
  placements.EndPlacing(Step());
  EXPECT_FALSE(placements.BeginPlacing(turns[7])) << "its costs are those of another placement";
}

TEST_F(StepPlacementsTest, WhatIsPutOffIsPlacedAfterTheNextPeriod) {
  for (int i = 0; i < 3; ++i) RunAndPlace(nullptr);
  const StepPlacements::Turn turn = placements.Begin(prepared);
  ASSERT_TRUE(placements.BeginPlacing(turn));
  placements.PutOff();
  EXPECT_FALSE(placements.End(turn));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(RunAndPlace(nullptr));
  EXPECT_TRUE(RunAndPlace(nullptr));
}

}  // namespace
}  // namespace millstream
