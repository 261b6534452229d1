#include "core/state_budget.h"

#include <memory>
#include <utility>
#include <vector>

#include "core/plan.h"
#include "core/step_state.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class StateBudgetTest : public ::testing::Test {
 protected:
  Plan* AddPlan(int64_t slab_bytes) {
    plans_.push_back(std::make_unique<Plan>());
    plans_.back()->slab_bytes = slab_bytes;
    plans_.back()->SetBudget(&budget_);
    return plans_.back().get();
  }
  // As a step does.
  static void Use(Plan* plan) { plan->ReturnState(plan->TakeState().value()); }

  StateBudget budget_;

 private:
  std::vector<std::unique_ptr<Plan>> plans_;
};

TEST_F(StateBudgetTest, PlansThatAreNotUsedGiveUpWhatTheyKeep) {
  for (int i = 0; i < 30; ++i) {
    Use(AddPlan(32 * kMiB));
    EXPECT_LE(budget_.bytes(), (4 * 32 + 64) * kMiB);
  }
  EXPECT_GE(budget_.bytes(), 4 * 32 * kMiB);
}

TEST_F(StateBudgetTest, TheLeastRecentlyUsedGoFirst) {
  Plan* const often = AddPlan(32 * kMiB);
  Use(often);
  for (int i = 0; i < 30; ++i) {
    Use(AddPlan(32 * kMiB));
    const uint64_t made = budget_.time();
    Use(often);
    EXPECT_EQ(budget_.time(), made) << "the state was made again";
  }
}

TEST_F(StateBudgetTest, WhatIsInUseBeyondTheBudgetIsNotKept) {
  Plan* const small = AddPlan(kMiB);
  std::vector<std::unique_ptr<StepState>> running;
  for (int i = 0; i < 100; ++i) running.push_back(small->TakeState().value());
  EXPECT_EQ(budget_.bytes(), 100 * kMiB);
  for (auto& state : running) small->ReturnState(std::move(state));
  EXPECT_EQ(budget_.bytes(), 4 * kMiB) << "four are kept";
}

TEST_F(StateBudgetTest, AFailedStepsStateIsGone) {
  Plan* const plan = AddPlan(kMiB);
  plan->TakeState().value().reset();
  EXPECT_EQ(budget_.bytes(), 0);
}

TEST_F(StateBudgetTest, AllGiveUpAllWhenTheyAreTold) {
  for (int i = 0; i < 5; ++i) Use(AddPlan(kMiB));
  EXPECT_EQ(budget_.bytes(), 5 * kMiB);
  budget_.DropKeptStates();
  EXPECT_EQ(budget_.bytes(), 0);
}

}  // namespace
}  // namespace millstream
