#include "core/resources/queue_kinds.h"

#include <numeric>
#include <utility>
#include <vector>

#include "core/resources/tensor_queue_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

// Elements of a priority queue are a priority and a number.
class PriorityQueueTest : public TensorQueueTest {
 protected:
  PriorityQueueTest() {
    QueueSpec spec;
    spec.dtypes = {DataType::kInt64, DataType::kInt32};
    spec.kind = QueueKind::kPriority;
    queue = Make(std::move(spec));
  }
  void Put(int64_t priority, int32_t value) {
    Attempt attempt;
    queue->Enqueue(&attempt, {QueueRows::One({Tensor::Scalar(priority), Tensor::Scalar(value)})},
                   Second(&attempt));
    EXPECT_TRUE(attempt.is_over);
  }
  static TensorQueue::Callback Second(Attempt* attempt) {
    return [attempt](const Status& status, const std::vector<QueueRows>& elements) {
      attempt->is_over = true;
      attempt->status = status;
      attempt->values = ValuesOf(elements, 1);
    };
  }
  std::vector<int32_t> TakeValues(int64_t count) {
    Attempt attempt;
    queue->Dequeue(&attempt, count, false, Second(&attempt));
    return attempt.values;
  }
};

TEST_F(PriorityQueueTest, GivesTheSmallestFirstAndEqualOnesInOrder) {
  Put(5, 50);
  Put(-1, 10);
  Put(5, 51);
  Put(9, 90);
  Put(5, 52);
  EXPECT_THAT(TakeValues(5), ElementsAre(10, 50, 51, 52, 90));
}

TEST_F(PriorityQueueTest, WhatGoesBackIsAheadOfItsEquals) {
  Put(1, 10);
  Put(1, 11);
  Attempt cancelled;
  queue->Dequeue(&cancelled, 3, false, Second(&cancelled));
  EXPECT_FALSE(cancelled.is_over);
  queue->Cancel(&cancelled);
  Put(1, 12);
  EXPECT_THAT(TakeValues(3), ElementsAre(10, 11, 12));
}

TEST_F(PriorityQueueTest, ThePriorityIsAScalar) {
  const Tensor value = Tensor::Scalar<int32_t>(1);
  EXPECT_EQ(queue->CheckComponents({Tensor::Scalar<int64_t>(1), value}, false), absl::OkStatus());
  EXPECT_EQ(queue->CheckComponents({Tensor::Vector<int64_t>({1}), value}, false).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(queue->CheckComponents({value, value}, false).code(),
            absl::StatusCode::kInvalidArgument);
}

class RandomShuffleQueueTest : public TensorQueueTest {
 protected:
  static ResourceRef<TensorQueue> MakeShuffled(int64_t min_after_dequeue, int64_t seed) {
    QueueSpec spec;
    spec.dtypes = {DataType::kInt32};
    spec.kind = QueueKind::kRandomShuffle;
    spec.min_after_dequeue = min_after_dequeue;
    SetAttr(&spec.seeds, "seed", seed);
    SetAttr(&spec.seeds, "seed2", int64_t{0});
    return Make(std::move(spec));
  }
};

TEST_F(RandomShuffleQueueTest, GivesEachElementOnceInTheOrderOfItsSeed) {
  std::vector<int32_t> all(20);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::vector<int32_t>> orders;
  for (const int64_t seed : {7, 7, 8}) {
    queue = MakeShuffled(0, seed);
    Add(all);
    orders.push_back(Take(20));
    EXPECT_THAT(orders.back(), UnorderedElementsAreArray(all));
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_NE(orders[0], orders[2]);
  EXPECT_NE(orders[0], all);
}

TEST_F(RandomShuffleQueueTest, LeavesItsMinimumUntilItIsClosed) {
  queue = MakeShuffled(2, 1);
  Add({1, 2, 3});
  EXPECT_EQ(Take(1).size(), 1u);
  Attempt waits;
  Dequeue(1, &waits);
  EXPECT_FALSE(waits.is_over);
  EXPECT_EQ(queue->size(), 2);
  Attempt closes;
  Close(false, &closes);
  EXPECT_TRUE(waits.is_over);
  EXPECT_EQ(Take(1).size(), 1u);
  Attempt late;
  Dequeue(1, &late);
  ExpectFailed(late, absl::StatusCode::kOutOfRange, "RandomShuffleQueue '_0_q' is closed and has");
}

TEST_F(TensorQueueTest, APaddingQueueTakesElementsOfSeveralSizes) {
  QueueSpec spec;
  spec.dtypes = {DataType::kInt32};
  spec.shapes = {PartialShape({-1})};
  spec.kind = QueueKind::kPadding;
  queue = Make(std::move(spec));
  const Tensor row = Tensor::Vector<int32_t>({1, 2});
  EXPECT_EQ(queue->CheckComponents({row}, false), absl::OkStatus());
  EXPECT_EQ(queue->CheckComponents({row.Reshaped(Shape({2, 1}))}, true), absl::OkStatus());
  EXPECT_EQ(queue->CheckComponents({row}, true).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millstream
