#include "core/plan/state_budget.h"

#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/step_state.h"
#include "core/step/session_settings.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class StateBudgetTest : public ::testing::Test {
 protected:
  Plan* AddPlan(int64_t slab_bytes) {
    plans_.push_back(std::make_unique<Plan>());
    plans_.back()->settings = &settings_;
    plans_.back()->slab_bytes = slab_bytes;
    plans_.back()->SetBudget(&budget_);
    return plans_.back().get();
  }
  // As a step does.
  static void Use(Plan* plan) { plan->ReturnState(plan->TakeState().value()); }

  StateBudget budget_;

 private:
  const SessionSettings settings_{};
  std::vector<std::unique_ptr<Plan>> plans_;
};

TEST_F(StateBudgetTest, PlansThatAreNotUsedGiveUpWhatTheyKeep) {
  for (int i = 0; i < 30; ++i) {
    Use(AddPlan(32 * kMiB));
    EXPECT_LE(budget_.bytes(), (4 * 32 + 64) * kMiB);
  }
  EXPECT_GE(budget_.bytes(), 4 * 32 * kMiB);
}

// Else every state that is made would look at all plans.
TEST_F(StateBudgetTest, OfManyPlansAnEighthGivesUpAtATime) {
  for (int i = 0; i < 68; ++i) Use(AddPlan(kMiB));
  EXPECT_EQ(budget_.bytes(), 68 * kMiB) << "which is all they may keep";
  Use(AddPlan(kMiB));
  EXPECT_EQ(budget_.bytes(), (68 - 68 / 8 + 1) * kMiB);
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
  Plan* const plan = AddPlan(8 * kMiB);
  std::vector<std::unique_ptr<StepState>> running;
  for (int i = 0; i < 100; ++i) running.push_back(plan->TakeState().value());
  EXPECT_EQ(budget_.bytes(), 800 * kMiB);
  plan->ReturnState(std::move(running.back()));
  running.pop_back();
  EXPECT_EQ(budget_.bytes(), 792 * kMiB);
  for (auto& state : running) plan->ReturnState(std::move(state));
  EXPECT_EQ(budget_.bytes(), 4 * 8 * kMiB) << "four are kept";
}

// Steps that run take more than the budget.
class FullStateBudgetTest : public StateBudgetTest {
 protected:
  FullStateBudgetTest() : large_(AddPlan(32 * kMiB)) {}
  void Fill() {
    while (running_.size() < 7) running_.push_back(large_->TakeState().value());
  }
  void Empty() {
    for (auto& state : running_) large_->ReturnState(std::move(state));
    running_.clear();
  }
  int64_t KeptBytes() const {
    return budget_.bytes() - static_cast<int64_t>(running_.size()) * 32 * kMiB;
  }

 private:
  Plan* const large_;
  std::vector<std::unique_ptr<StepState>> running_;
};

TEST_F(FullStateBudgetTest, SmallStatesStay) {
  Plan* const before = AddPlan(kMiB);
  Plan* const after = AddPlan(kMiB / 100);
  Use(before);
  Fill();
  Use(after);
  const uint64_t made = budget_.time();
  Use(before);
  Use(after);
  EXPECT_EQ(budget_.time(), made) << "a state was made again";
}

TEST_F(FullStateBudgetTest, ManySmallStatesDoNotStay) {
  std::vector<Plan*> plans;
  for (int i = 0; i < 100; ++i) plans.push_back(AddPlan(kMiB));
  for (Plan* plan : plans) Use(plan);
  EXPECT_EQ(budget_.bytes(), 100 * kMiB);
  Fill();
  EXPECT_LE(KeptBytes(), 16 * kMiB);
  for (Plan* plan : plans) Use(plan);
  EXPECT_LE(KeptBytes(), 16 * kMiB);
}

TEST_F(FullStateBudgetTest, WhatIsKeptInBetweenIsGivenUpAgain) {
  Plan* const other = AddPlan(16 * kMiB);
  for (int i = 0; i < 3; ++i) {
    Use(other);
    EXPECT_GE(KeptBytes(), 16 * kMiB);
    Fill();
    EXPECT_EQ(KeptBytes(), 0);
    Empty();
  }
}

TEST_F(StateBudgetTest, StepsOfManyThreadsUseWhatOthersGiveUp) {
  constexpr int kPlans = 500;
  std::vector<Plan*> plans;
  for (int i = 0; i < kPlans; ++i) plans.push_back(AddPlan(kMiB));
  const auto use = [&plans](uint32_t number) {
    for (int i = 0; i < 20000; ++i) {
      number = number * 1664525 + 1013904223;
      Use(plans[(number >> 8) % kPlans]);
    }
  };
  std::vector<std::thread> others;
  for (uint32_t i = 1; i < 4; ++i) others.emplace_back(use, i);
  use(0);
  for (std::thread& other : others) other.join();
  EXPECT_LE(budget_.bytes(), (4 + 64 + 4) * kMiB) << "each thread may have kept one at the last";
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
