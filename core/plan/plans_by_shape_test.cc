#include "core/plan/plans_by_shape.h"

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

struct Compiled {
  std::vector<Shape> feed_shapes;
  bool is_for_any_shape = false;
};

constexpr int kMost = PlansByShape<Compiled>::kMostShapes;

class PlansByShapeTest : public ::testing::Test {
 protected:
  using Made = StatusOr<std::unique_ptr<Compiled>>;

  // Feeds of one tensor, a vector of this size.
  static std::vector<Tensor> Feeds(int64_t size) {
    return {Tensor::Create(DataType::kFloat, Shape({size})).value()};
  }

  Made Build(const std::vector<Shape>* shapes) {
    ++builds_;
    auto made = std::make_unique<Compiled>();
    made->is_for_any_shape = shapes == nullptr;
    if (shapes != nullptr) made->feed_shapes = *shapes;
    return made;
  }

  Compiled* Plan(int64_t size) {
    const StatusOr<Compiled*> plan = plans_.FindOrBuild(
        Feeds(size), [this](const std::vector<Shape>* shapes, PlanTurn*) { return Build(shapes); });
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.value_or(nullptr);
  }

  PlansByShape<Compiled> plans_;
  std::atomic<int> builds_{0};
};

TEST_F(PlansByShapeTest, EachSetOfShapesHasAPlan) {
  EXPECT_EQ(plans_.Find(Feeds(1)), nullptr);
  Compiled* const first = Plan(1);
  Compiled* const second = Plan(2);
  EXPECT_NE(first, second);
  EXPECT_EQ(Plan(1), first);
  EXPECT_EQ(plans_.Find(Feeds(2)), second);
  EXPECT_EQ(builds_, 2);
}

TEST_F(PlansByShapeTest, AGraphWithoutFeedsHasOnePlan) {
  const auto build = [this](const std::vector<Shape>* shapes, PlanTurn*) { return Build(shapes); };
  const StatusOr<Compiled*> plan = plans_.FindOrBuild({}, build);
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE((*plan)->is_for_any_shape);
  EXPECT_EQ(plans_.Find({}), *plan);
  EXPECT_EQ(plans_.FindOrBuild({}, build).value(), *plan);
  EXPECT_EQ(builds_, 1);
}

TEST_F(PlansByShapeTest, FurtherShapesShareAPlan) {
  for (int size = 1; size <= kMost; ++size) EXPECT_FALSE(Plan(size)->is_for_any_shape);
  Compiled* const shared = Plan(kMost + 1);
  EXPECT_TRUE(shared->is_for_any_shape);
  EXPECT_EQ(Plan(kMost + 2), shared);
  EXPECT_EQ(plans_.Find(Feeds(kMost + 1)), nullptr) << "none for exactly this shape";
  EXPECT_FALSE(Plan(1)->is_for_any_shape);
  EXPECT_EQ(builds_, kMost + 1);
  int visited = 0;
  plans_.ForEach([&](Compiled*) { ++visited; });
  EXPECT_EQ(visited, kMost + 1);
}

TEST_F(PlansByShapeTest, AfterAnErrorTheNextTriesAgain) {
  const StatusOr<Compiled*> failed = plans_.FindOrBuild(
      Feeds(1),
      [](const std::vector<Shape>*, PlanTurn*) -> Made { return absl::CancelledError("stopped"); });
  EXPECT_EQ(failed.status(), absl::CancelledError("stopped"));
  EXPECT_NE(Plan(1), nullptr);
  EXPECT_EQ(builds_, 1);
}

// The first thread holds the plan until all want it.
TEST_F(PlansByShapeTest, ThreadsThatWantAPlanBuildItOnce) {
  constexpr int kThreads = 4;
  std::atomic<int> wanting{0};
  std::vector<Compiled*> plans(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ++wanting;
      plans[t] = plans_
                     .FindOrBuild(Feeds(1),
                                  [&](const std::vector<Shape>* shapes, PlanTurn*) {
                                    EXPECT_TRUE(Eventually([&] { return wanting == kThreads; }));
                                    return Build(shapes);
                                  })
                     .value_or(nullptr);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(builds_, 1);
  for (Compiled* const plan : plans) EXPECT_EQ(plan, plans_.Find(Feeds(1)));
}

TEST_F(PlansByShapeTest, AThreadMayStopWaitingForAPlan) {
  const auto build = [this](const std::vector<Shape>* shapes, PlanTurn*) { return Build(shapes); };
  Status stopped;
  const StatusOr<Compiled*> plan =
      plans_.FindOrBuild(Feeds(1), [&](const std::vector<Shape>* shapes, PlanTurn*) {
        std::thread other([&] {
          const auto go_on = [] { return absl::CancelledError("enough"); };
          stopped = plans_.FindOrBuild(Feeds(1), build, go_on).status();
        });
        other.join();
        return Build(shapes);
      });
  EXPECT_EQ(stopped, absl::CancelledError("enough"));
  EXPECT_EQ(plan.value(), plans_.Find(Feeds(1)));
  EXPECT_EQ(builds_, 1);
}

TEST_F(PlansByShapeTest, OtherShapesDoNotWait) {
  const StatusOr<Compiled*> plan =
      plans_.FindOrBuild(Feeds(1), [this](const std::vector<Shape>* shapes, PlanTurn*) {
        std::thread other([this] { EXPECT_NE(Plan(2), nullptr); });
        other.join();
        return Build(shapes);
      });
  EXPECT_EQ(plan.value(), plans_.Find(Feeds(1)));
  EXPECT_NE(plan.value(), plans_.Find(Feeds(2)));
}

// As when the front end, which is asked meanwhile, runs the same step.
TEST_F(PlansByShapeTest, WhileATurnIsLentTheFirstToBeDoneHasItsWay) {
  Compiled* inner = nullptr;
  const StatusOr<Compiled*> plan =
      plans_.FindOrBuild(Feeds(1), [&](const std::vector<Shape>* shapes, PlanTurn* turn) {
        inner = turn->Lend([this] { return Plan(1); });
        return Build(shapes);
      });
  EXPECT_NE(inner, nullptr);
  EXPECT_EQ(plan.value(), inner);
  EXPECT_EQ(builds_, 2);
}

// As when the front end only says that the step goes on.
TEST_F(PlansByShapeTest, AfterATurnWasLentOtherThreadsWaitAgain) {
  const auto build = [this](const std::vector<Shape>* shapes, PlanTurn*) { return Build(shapes); };
  std::atomic<int> waits{0};
  const auto go_on = [&waits] {
    ++waits;
    return absl::OkStatus();
  };
  Compiled* others = nullptr;
  std::thread other;
  const StatusOr<Compiled*> plan =
      plans_.FindOrBuild(Feeds(1), [&](const std::vector<Shape>* shapes, PlanTurn* turn) {
        turn->Lend([] {});
        other = std::thread(
            [&] { others = plans_.FindOrBuild(Feeds(1), build, go_on).value_or(nullptr); });
        EXPECT_TRUE(Eventually([&waits] { return waits > 0; }));
        return Build(shapes);
      });
  other.join();
  EXPECT_NE(others, nullptr);
  EXPECT_EQ(plan.value(), others);
  EXPECT_EQ(builds_, 1);
}

TEST_F(PlansByShapeTest, APlanForWhichThereIsNoRoomAnyMoreIsBuiltForAnyShape) {
  for (int size = 1; size < kMost; ++size) Plan(size);
  bool has_taken = false;
  const StatusOr<Compiled*> plan =
      plans_.FindOrBuild(Feeds(kMost), [&](const std::vector<Shape>* shapes, PlanTurn*) {
        if (!has_taken) Plan(kMost + 1);  // takes the last place
        has_taken = true;
        return Build(shapes);
      });
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE((*plan)->is_for_any_shape);
  EXPECT_EQ(plans_.Find(Feeds(kMost)), nullptr);
}

}  // namespace
}  // namespace millstream
