#include "core/resources/fifo_queue.h"

#include <atomic>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Element = FifoQueue::Element;

// One enqueue, dequeue or close, and what has come of it.
struct Attempt {
  bool is_over = false;
  Status status;
  std::vector<int32_t> values;

  FifoQueue::Callback Callback() {
    return [this](const Status& result, const std::vector<Element>& elements) {
      EXPECT_FALSE(is_over);
      is_over = true;
      status = result;
      for (const Element& element : elements) values.push_back(*element[0].data<int32_t>());
    };
  }
};

std::vector<Element> ElementsOf(const std::vector<int32_t>& values) {
  std::vector<Element> elements;
  for (const int32_t value : values) elements.push_back({Tensor::Scalar(value)});
  return elements;
}

class FifoQueueTest : public ::testing::Test {
 protected:
  static ResourceRef<FifoQueue> Make(int64_t capacity, std::vector<Shape> shapes = {}) {
    return MakeResource<FifoQueue>("q", "_0_q",
                                   QueueSpec{capacity, {DataType::kInt32}, std::move(shapes)});
  }
  void Enqueue(const std::vector<int32_t>& values, Attempt* attempt) {
    queue->Enqueue(attempt, ElementsOf(values), attempt->Callback());
  }
  void Dequeue(int64_t count, Attempt* attempt) {
    queue->Dequeue(attempt, count, attempt->Callback());
  }
  void Close(bool cancel, Attempt* attempt) { queue->Close(attempt, cancel, attempt->Callback()); }
  // Of what is done at once.
  void Add(const std::vector<int32_t>& values) {
    Attempt attempt;
    Enqueue(values, &attempt);
    EXPECT_TRUE(attempt.is_over);
    EXPECT_EQ(attempt.status, absl::OkStatus());
  }
  std::vector<int32_t> Take(int64_t count) {
    Attempt attempt;
    Dequeue(count, &attempt);
    EXPECT_TRUE(attempt.is_over);
    EXPECT_EQ(attempt.status, absl::OkStatus());
    return attempt.values;
  }

  ResourceRef<FifoQueue> queue = Make(QueueSpec::kUnbounded);
};

void ExpectFailed(const Attempt& attempt, absl::StatusCode code, const std::string& text) {
  EXPECT_TRUE(attempt.is_over);
  EXPECT_EQ(attempt.status.code(), code) << attempt.status;
  EXPECT_THAT(std::string(attempt.status.message()), HasSubstr(text));
}

TEST_F(FifoQueueTest, GivesWhatCameFirst) {
  Add({1, 2});
  Add({3});
  EXPECT_EQ(queue->size(), 3);
  EXPECT_THAT(Take(1), ElementsAre(1));
  EXPECT_THAT(Take(2), ElementsAre(2, 3));
  EXPECT_EQ(queue->size(), 0);
}

TEST_F(FifoQueueTest, ADequeueWaitsForItsElements) {
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

TEST_F(FifoQueueTest, AnEnqueueWaitsForRoom) {
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

TEST_F(FifoQueueTest, ManyElementsPassThroughASmallQueue) {
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

TEST_F(FifoQueueTest, ADequeueOfNothingIsDoneAtOnce) { EXPECT_THAT(Take(0), IsEmpty()); }

TEST_F(FifoQueueTest, AClosedQueueGivesWhatItHas) {
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

TEST_F(FifoQueueTest, AClosedQueueKeepsElementsThatAreTooFew) {
  Add({1, 2});
  Attempt closes;
  Close(false, &closes);
  Attempt takes;
  Dequeue(3, &takes);
  ExpectFailed(takes, absl::StatusCode::kOutOfRange, "(requested 3, current size 2)");
  EXPECT_THAT(Take(2), ElementsAre(1, 2));
}

TEST_F(FifoQueueTest, ClosingEndsADequeueThatWaitsAndPutsItsElementsBack) {
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

TEST_F(FifoQueueTest, AClosedQueueTakesNothing) {
  Attempt closes;
  Close(false, &closes);
  Attempt puts;
  Enqueue({1}, &puts);
  ExpectFailed(puts, absl::StatusCode::kCancelled, "FIFOQueue '_0_q' is closed.");
  Attempt again;
  Close(false, &again);
  ExpectFailed(again, absl::StatusCode::kCancelled, "FIFOQueue '_0_q' is already closed.");
}

TEST_F(FifoQueueTest, ClosingWaitsForTheEnqueuesBeforeIt) {
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

TEST_F(FifoQueueTest, ClosingMayCancelTheEnqueuesThatWait) {
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

TEST_F(FifoQueueTest, ACancelledDequeueGivesItsElementsToTheNext) {
  Attempt cancelled;
  Attempt next;
  Dequeue(3, &cancelled);
  Dequeue(2, &next);
  Add({1, 2});
  queue->Cancel(&cancelled);
  ExpectFailed(cancelled, absl::StatusCode::kCancelled, "Dequeue operation was cancelled");
  EXPECT_THAT(next.values, ElementsAre(1, 2));
}

TEST_F(FifoQueueTest, ACancelledEnqueueMakesWayForTheNext) {
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

TEST_F(FifoQueueTest, CancellingWhatHasEndedDoesNothing) {
  Attempt attempt;
  Enqueue({1}, &attempt);
  queue->Cancel(&attempt);
  EXPECT_EQ(attempt.status, absl::OkStatus());
  EXPECT_EQ(queue->size(), 1);
}

TEST_F(FifoQueueTest, ADroppedQueueIsAsNew) {
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

TEST_F(FifoQueueTest, RefusesComponentsOfOtherTypesAndShapes) {
  queue = Make(QueueSpec::kUnbounded, {Shape({2})});
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

// Every element comes out once, whoever takes it, also when some of those who wait give up.
TEST_F(FifoQueueTest, LosesNothingAmongThreads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  queue = Make(3);
  std::atomic<int64_t> taken_sum{0};
  std::atomic<int> num_taken{0};
  const auto produce = [&](int thread) {
    for (int i = 0; i < kEach; ++i) {
      absl::BlockingCounter over(1);
      queue->Enqueue(&over, ElementsOf({thread * kEach + i}),
                     [&](const Status& status, const std::vector<Element>&) {
                       EXPECT_EQ(status, absl::OkStatus());
                       over.DecrementCount();
                     });
      over.Wait();
    }
  };
  const auto consume = [&] {
    while (num_taken < kThreads * kEach) {
      absl::BlockingCounter over(1);
      queue->Dequeue(&over, 1, [&](const Status& status, const std::vector<Element>& elements) {
        if (status.ok()) {
          taken_sum += *elements[0][0].data<int32_t>();
          ++num_taken;
        }
        over.DecrementCount();
      });
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
