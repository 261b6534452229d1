#include "core/resources/tensor_queue.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "core/resources/tensor_queue_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(TensorQueueTest, GivesWhatCameFirst) {
  Add({1, 2});
  Add({3});
  EXPECT_EQ(queue->size(), 3);
  EXPECT_THAT(Take(1), ElementsAre(1));
  EXPECT_THAT(Take(2), ElementsAre(2, 3));
  EXPECT_EQ(queue->size(), 0);
}

TEST_F(TensorQueueTest, ADequeueWaitsForItsElements) {
  Attempt first;
  Attempt second;
  Dequeue(2, &first);
  Dequeue(1, &second);
  Add({1});
  EXPECT_FALSE(first.is_over);
  EXPECT_FALSE(second.is_over);
  Add({2, 3});
  EXPECT_THAT(first.values, ElementsAre(1, 2));
  EXPECT_THAT(second.values, ElementsAre(3));
}

TEST_F(TensorQueueTest, AnEnqueueWaitsForRoom) {
  queue = Make(2);
  Add({1, 2});
  Attempt waits;
  Enqueue({3}, &waits);
  EXPECT_FALSE(waits.is_over);
  EXPECT_EQ(queue->size(), 2);
  EXPECT_THAT(Take(1), ElementsAre(1));
  EXPECT_TRUE(waits.is_over);
  EXPECT_THAT(Take(2), ElementsAre(2, 3));
}

TEST_F(TensorQueueTest, ManyElementsPassThroughASmallQueue) {
  queue = Make(2);
  Attempt puts;
  Attempt takes;
  Enqueue({1, 2, 3, 4, 5, 6, 7}, &puts);
  EXPECT_FALSE(puts.is_over);
  Dequeue(6, &takes);
  EXPECT_THAT(takes.values, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_TRUE(puts.is_over);
  EXPECT_EQ(queue->size(), 1);
}

TEST_F(TensorQueueTest, ADequeueOfNothingIsDoneAtOnce) { EXPECT_THAT(Take(0), IsEmpty()); }

TEST_F(TensorQueueTest, AClosedQueueGivesWhatItHas) {
  Add({1, 2});
  Attempt closes;
  Close(false, &closes);
  EXPECT_EQ(closes.status, absl::OkStatus());
  EXPECT_TRUE(queue->is_closed());
  EXPECT_THAT(Take(2), ElementsAre(1, 2));
  Attempt late;
  Dequeue(1, &late);
  ExpectFailed(late, absl::StatusCode::kOutOfRange,
               "FIFOQueue '_0_q' is closed and has insufficient elements (requested 1, current "
               "size 0)");
}

TEST_F(TensorQueueTest, AClosedQueueKeepsElementsThatAreTooFew) {
  Add({1, 2});
  Attempt closes;
  Close(false, &closes);
  Attempt takes;
  Dequeue(3, &takes);
  ExpectFailed(takes, absl::StatusCode::kOutOfRange, "(requested 3, current size 2)");
  EXPECT_THAT(Take(2), ElementsAre(1, 2));
}

TEST_F(TensorQueueTest, ClosingEndsADequeueThatWaitsAndPutsItsElementsBack) {
  Attempt takes;
  Attempt next;
  Dequeue(3, &takes);
  Dequeue(2, &next);
  Add({1, 2});
  EXPECT_EQ(queue->size(), 0);
  Attempt closes;
  Close(false, &closes);
  ExpectFailed(takes, absl::StatusCode::kOutOfRange, "(requested 3, current size 2)");
  EXPECT_THAT(next.values, ElementsAre(1, 2));
}

TEST_F(TensorQueueTest, AClosedQueueTakesNothing) {
  Attempt closes;
  Close(false, &closes);
  Attempt puts;
  Enqueue({1}, &puts);
  ExpectFailed(puts, absl::StatusCode::kCancelled, "FIFOQueue '_0_q' is closed.");
  Attempt again;
  Close(false, &again);
  ExpectFailed(again, absl::StatusCode::kCancelled, "FIFOQueue '_0_q' is already closed.");
}

TEST_F(TensorQueueTest, ClosingWaitsForTheEnqueuesBeforeIt) {
  queue = Make(1);
  Add({1});
  Attempt before;
  Attempt closes;
  Attempt after;
  Enqueue({2}, &before);
  Close(false, &closes);
  Enqueue({3}, &after);
  EXPECT_FALSE(closes.is_over);
  EXPECT_FALSE(queue->is_closed());
  EXPECT_THAT(Take(1), ElementsAre(1));
  EXPECT_EQ(before.status, absl::OkStatus());
  EXPECT_TRUE(closes.is_over);
  ExpectFailed(after, absl::StatusCode::kCancelled, "is closed");
  EXPECT_THAT(Take(1), ElementsAre(2));
}

TEST_F(TensorQueueTest, ClosingMayCancelTheEnqueuesThatWait) {
  queue = Make(1);
  Attempt waits;
  Enqueue({1, 2}, &waits);
  Attempt closes;
  Close(true, &closes);
  EXPECT_EQ(closes.status, absl::OkStatus());
  ExpectFailed(waits, absl::StatusCode::kCancelled, "Enqueue operation was cancelled");
  EXPECT_TRUE(queue->is_closed());
  EXPECT_THAT(Take(1), ElementsAre(1));
}

TEST_F(TensorQueueTest, ACancelledDequeueGivesItsElementsToTheNext) {
  Attempt cancelled;
  Attempt next;
  Dequeue(3, &cancelled);
  Dequeue(2, &next);
  Add({1, 2});
  queue->Cancel(&cancelled);
  ExpectFailed(cancelled, absl::StatusCode::kCancelled, "Dequeue operation was cancelled");
  EXPECT_THAT(next.values, ElementsAre(1, 2));
}

TEST_F(TensorQueueTest, ACancelledEnqueueMakesWayForTheNext) {
  queue = Make(1);
  Attempt cancelled;
  Attempt next;
  Enqueue({1, 2}, &cancelled);
  Enqueue({3}, &next);
  queue->Cancel(&cancelled);
  ExpectFailed(cancelled, absl::StatusCode::kCancelled, "Enqueue operation was cancelled");
  EXPECT_THAT(Take(1), ElementsAre(1));
  EXPECT_TRUE(next.is_over);
  EXPECT_THAT(Take(1), ElementsAre(3));
}

TEST_F(TensorQueueTest, CancellingWhatHasEndedDoesNothing) {
  Attempt attempt;
  Enqueue({1}, &attempt);
  queue->Cancel(&attempt);
  EXPECT_EQ(attempt.status, absl::OkStatus());
  EXPECT_EQ(queue->size(), 1);
}

TEST_F(TensorQueueTest, ADroppedQueueIsAsNew) {
  queue = Make(1);
  Attempt puts;
  Attempt closes;
  Enqueue({1, 2}, &puts);
  Close(false, &closes);
  queue->Drop();
  ExpectFailed(puts, absl::StatusCode::kCancelled, "Enqueue operation was cancelled");
  EXPECT_TRUE(closes.is_over);
  EXPECT_EQ(queue->size(), 0);
  EXPECT_FALSE(queue->is_closed());
  Attempt takes;
  Dequeue(1, &takes);
  queue->Drop();
  ExpectFailed(takes, absl::StatusCode::kCancelled, "Dequeue operation was cancelled");
}

TEST_F(TensorQueueTest, RefusesComponentsOfOtherTypesAndShapes) {
  queue = Make(QueueSpec::kUnbounded, {PartialShape({2})});
  const Tensor row = Tensor::Vector<int32_t>({1, 2});
  EXPECT_EQ(queue->CheckComponents({row}, false), absl::OkStatus());
  EXPECT_EQ(queue->CheckComponents({row.Reshaped(Shape({1, 2}))}, true), absl::OkStatus());
  const auto message = [this](const std::vector<Tensor>& components, bool many) {
    const Status status = queue->CheckComponents(components, many);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message({Tensor::Vector<float>({1, 2})}, false),
              AllOf(HasSubstr("[int32]"), HasSubstr("got [float32]")));
  EXPECT_THAT(message({row, row}, false), HasSubstr("got [int32, int32]"));
  EXPECT_THAT(message({Tensor::Vector<int32_t>({1})}, false),
              HasSubstr("Shape mismatch in tuple component 0. Expected [2], got [1]"));
  EXPECT_THAT(message({row}, true), HasSubstr("Expected a batch of [2], got [2]"));
  EXPECT_THAT(message({Tensor::Scalar<int32_t>(1)}, true), HasSubstr("0th dimension"));
}

TEST_F(TensorQueueTest, UpToTakesFewerFromAClosedQueueAlone) {
  Add({1, 2, 3});
  Attempt waits;
  DequeueUpTo(2, &waits);
  EXPECT_THAT(waits.values, ElementsAre(1, 2));
  Attempt fewer;
  DequeueUpTo(2, &fewer);
  EXPECT_FALSE(fewer.is_over);
  Attempt closes;
  Close(false, &closes);
  EXPECT_EQ(fewer.status, absl::OkStatus());
  EXPECT_THAT(fewer.values, ElementsAre(3));
  Attempt nothing;
  DequeueUpTo(2, &nothing);
  ExpectFailed(nothing, absl::StatusCode::kOutOfRange, "(requested 2, current size 0)");
  Attempt none;
  DequeueUpTo(0, &none);
  EXPECT_EQ(none.status, absl::OkStatus());
}

TEST_F(TensorQueueTest, PartsOfBatchesComeOutInOrder) {
  queue = Make(4);
  Attempt puts;
  Enqueue({1, 2, 3, 4, 5, 6}, &puts);
  EXPECT_FALSE(puts.is_over);
  EXPECT_EQ(queue->size(), 4);
  EXPECT_THAT(Take(1), ElementsAre(1));
  Attempt takes;
  Dequeue(7, &takes);
  EXPECT_TRUE(puts.is_over);
  queue->Cancel(&takes);
  EXPECT_EQ(queue->size(), 5);
  EXPECT_THAT(Take(3), ElementsAre(2, 3, 4));
  EXPECT_THAT(Take(2), ElementsAre(5, 6));
}

// Each way to end an operation costs the same however many others wait: what grew with their number
// would take hours here.
TEST_F(TensorQueueTest, AMillionDequeuesMayWait) {
  constexpr int kCount = 1'000'000;
  std::vector<char> tickets(kCount);
  int num_taken = 0;
  int num_cancelled = 0;
  for (char& ticket : tickets) {
    queue->Dequeue(&ticket, 1, false, [&](const Status& status, const std::vector<QueueRows>&) {
      num_taken += status.ok() ? 1 : 0;
      num_cancelled += absl::IsCancelled(status) ? 1 : 0;
    });
  }
  for (int i = 0; i < kCount / 4; ++i) {
    queue->Cancel(&tickets[i]);               // the oldest
    queue->Cancel(&tickets[kCount - 1 - i]);  // the newest
  }
  EXPECT_EQ(num_cancelled, kCount / 2);
  Add(std::vector<int32_t>(kCount / 4));
  EXPECT_EQ(num_taken, kCount / 4);
  queue->Drop();
  EXPECT_EQ(num_taken + num_cancelled, kCount);
}

TEST_F(TensorQueueTest, AMillionEnqueuesMayWait) {
  constexpr int kCount = 1'000'000;
  queue = Make(1);
  Add({7});
  std::vector<char> tickets(kCount);
  int num_added = 0;
  int num_cancelled = 0;
  for (char& ticket : tickets) {
    queue->Enqueue(&ticket, {ElementsOf({8})},
                   [&](const Status& status, const std::vector<QueueRows>&) {
                     num_added += status.ok() ? 1 : 0;
                     num_cancelled += absl::IsCancelled(status) ? 1 : 0;
                   });
  }
  for (int i = 0; i < kCount / 4; ++i) {
    queue->Cancel(&tickets[i]);
    queue->Cancel(&tickets[kCount - 1 - i]);
  }
  EXPECT_EQ(num_cancelled, kCount / 2);
  EXPECT_EQ(Take(kCount / 4).size(), static_cast<size_t>(kCount / 4));
  EXPECT_EQ(num_added, kCount / 4);
  Attempt close;
  Close(true, &close);
  EXPECT_TRUE(close.is_over);
  EXPECT_EQ(num_added + num_cancelled, kCount);
}

// Every element comes out once, whoever takes it, also when some of those who wait give up.
TEST_F(TensorQueueTest, LosesNothingAmongThreads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  queue = Make(3);
  std::atomic<int64_t> taken_sum{0};
  std::atomic<int> num_taken{0};
  const auto produce = [&](int thread) {
    for (int i = 0; i < kEach; ++i) {
      absl::BlockingCounter over(1);
      queue->Enqueue(&over, {ElementsOf({thread * kEach + i})},
                     [&](const Status& status, const std::vector<QueueRows>&) {
                       EXPECT_EQ(status, absl::OkStatus());
                       over.DecrementCount();
                     });
      over.Wait();
    }
  };
  const auto consume = [&] {
    while (num_taken < kThreads * kEach) {
      absl::BlockingCounter over(1);
      const auto done = [&](const Status& status, const std::vector<QueueRows>& elements) {
        if (status.ok()) {
          taken_sum += ValuesOf(elements, 0)[0];
          ++num_taken;
        }
        over.DecrementCount();
      };
      queue->Dequeue(&over, 1, false, done);
      queue->Cancel(&over);
      over.Wait();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(produce, i);
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(consume);
  for (std::thread& thread : threads) thread.join();
  constexpr int64_t kAll = kThreads * kEach;
  EXPECT_EQ(num_taken, kAll);
  EXPECT_EQ(taken_sum, kAll * (kAll - 1) / 2);
  EXPECT_EQ(queue->size(), 0);
}

}  // namespace
}  // namespace millstream
