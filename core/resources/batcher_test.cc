// Which tasks go into which batch, and who hears of whom, without sessions.
#include "core/resources/batcher.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/resources/batch_members.h"
#include "core/resources/unbatcher.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

BatcherSpec SpecOf(int64_t most, absl::Duration timeout = absl::InfiniteDuration()) {
  BatcherSpec spec;
  spec.max_batch_size = most;
  spec.timeout = timeout;
  spec.dtypes = {DataType::kInt64};
  return spec;
}

class BatcherTest : public ::testing::Test {
 protected:
  ResourceRef<Batcher> Make(const BatcherSpec& spec) {
    return MakeResource<Batcher>("b", spec,
                                 [this](const ResourceRef<Batcher>&, const Batcher::Tasks& tasks) {
                                   absl::MutexLock lock(&mutex_);
                                   batches_.emplace_back();
                                   for (const BatchTask& task : tasks)
                                     batches_.back().push_back(task.id);
                                 });
  }
  // A task of `rows` rows, whose ticket is its id.
  Status Add(const ResourceRef<Batcher>& batcher, int64_t id, int64_t rows = 1,
             const std::string& queue = "", int64_t columns = 1) {
    BatchTask task;
    task.ticket = Ticket(id);
    task.id = id;
    const std::vector<int64_t> values(static_cast<size_t>(rows * columns), id);
    task.tensors = {Tensor::FromValues<int64_t>(Shape({rows, columns}), values)};
    task.done = [this, id](const Status& status, const std::vector<Tensor>&,
                           const std::vector<int64_t>&) {
      EXPECT_TRUE(absl::IsCancelled(status)) << status;
      absl::MutexLock lock(&mutex_);
      cancelled_.push_back(id);
    };
    return batcher->Add(queue, std::move(task));
  }
  static const void* Ticket(int64_t id) { return reinterpret_cast<const void*>(id); }
  std::vector<std::vector<int64_t>> batches() {
    absl::MutexLock lock(&mutex_);
    return batches_;
  }
  std::vector<int64_t> cancelled() {
    absl::MutexLock lock(&mutex_);
    return cancelled_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::vector<int64_t>> batches_ ABSL_GUARDED_BY(mutex_);
  std::vector<int64_t> cancelled_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(BatcherTest, AFullBatchRuns) {
  const auto batcher = Make(SpecOf(3));
  for (const int64_t id : {1, 2, 3, 4}) EXPECT_EQ(Add(batcher, id), absl::OkStatus());
  EXPECT_THAT(batches(), ElementsAre(ElementsAre(1, 2, 3)));
  batcher->Drop();
  EXPECT_THAT(cancelled(), ElementsAre(4));
}

TEST_F(BatcherTest, ATaskThatDoesNotFitClosesTheBatch) {
  const auto batcher = Make(SpecOf(3));
  EXPECT_EQ(Add(batcher, 1, 2), absl::OkStatus());
  EXPECT_EQ(Add(batcher, 2, 2), absl::OkStatus());
  EXPECT_THAT(batches(), ElementsAre(ElementsAre(1)));
  EXPECT_EQ(Add(batcher, 3, 1), absl::OkStatus());
  EXPECT_THAT(batches(), ElementsAre(ElementsAre(1), ElementsAre(2, 3)));
}

TEST_F(BatcherTest, ATimeLimitClosesTheBatch) {
  const auto batcher = Make(SpecOf(100, absl::Milliseconds(1)));
  EXPECT_EQ(Add(batcher, 1), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return batches().size() == 1; }));
  const auto impatient = Make(SpecOf(100, absl::ZeroDuration()));
  EXPECT_EQ(Add(impatient, 2), absl::OkStatus());
  EXPECT_THAT(batches(), ElementsAre(ElementsAre(1), ElementsAre(2)));
}

TEST_F(BatcherTest, QueuesHaveBatchesOfTheirOwn) {
  const auto batcher = Make(SpecOf(2));
  EXPECT_EQ(Add(batcher, 1, 1, "a"), absl::OkStatus());
  EXPECT_EQ(Add(batcher, 2, 1, "b"), absl::OkStatus());
  EXPECT_THAT(batches(), IsEmpty());
  EXPECT_EQ(Add(batcher, 3, 1, "b"), absl::OkStatus());
  EXPECT_EQ(Add(batcher, 4, 1, "a"), absl::OkStatus());
  EXPECT_THAT(batches(), ElementsAre(ElementsAre(2, 3), ElementsAre(1, 4)));
}

TEST_F(BatcherTest, RefusesWhatDoesNotFit) {
  const auto batcher = Make(SpecOf(2));
  const Status large = Add(batcher, 1, 3);
  EXPECT_TRUE(absl::IsInvalidArgument(large)) << large;
  EXPECT_THAT(std::string(large.message()), HasSubstr("has 3 rows"));
  EXPECT_EQ(Add(batcher, 2, 1, "", 4), absl::OkStatus());
  const Status other = Add(batcher, 3, 1, "", 5);
  EXPECT_TRUE(absl::IsInvalidArgument(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("tensor 0 has shape [1,5]"));
  EXPECT_EQ(Add(batcher, 4, 1, "", 4), absl::OkStatus());
  EXPECT_THAT(batches(), ElementsAre(ElementsAre(2, 4)));
}

TEST_F(BatcherTest, ACancelledTaskLeavesItsBatch) {
  const auto batcher = Make(SpecOf(2));
  EXPECT_EQ(Add(batcher, 1), absl::OkStatus());
  batcher->Cancel(Ticket(1));
  batcher->Cancel(Ticket(1));
  EXPECT_THAT(cancelled(), ElementsAre(1));
  EXPECT_EQ(Add(batcher, 2), absl::OkStatus());
  EXPECT_THAT(batches(), IsEmpty());
  EXPECT_EQ(Add(batcher, 3), absl::OkStatus());
  EXPECT_THAT(batches(), ElementsAre(ElementsAre(2, 3)));
  batcher->Cancel(Ticket(3));
  EXPECT_THAT(cancelled(), ElementsAre(1));
}

// What waits grows meanwhile, up to the limit of the queue.
TEST_F(BatcherTest, SoManyBatchesRunAtOnce) {
  BatcherSpec spec = SpecOf(2, absl::ZeroDuration());
  spec.num_results = 1;
  spec.max_enqueued_batches = 2;
  const auto batcher = Make(spec);
  for (int64_t id = 1; id <= 5; ++id) EXPECT_EQ(Add(batcher, id), absl::OkStatus());
  EXPECT_THAT(batches(), ElementsAre(ElementsAre(1)));
  const Status refused = Add(batcher, 6);
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is full"));
  batcher->Release();
  EXPECT_THAT(batches(), ElementsAre(ElementsAre(1), ElementsAre(2, 3)));
  batcher->Release();
  EXPECT_THAT(batches(), ElementsAre(ElementsAre(1), ElementsAre(2, 3), ElementsAre(4, 5)));
}

// Each task is in one batch or cancelled, and no batch is too large.
TEST_F(BatcherTest, NoTaskIsLost) {
  constexpr int kThreads = 8;
  constexpr int64_t kTasks = 200;
  constexpr int64_t kMost = 5;
  const auto batcher = Make(SpecOf(kMost, absl::Microseconds(200)));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(static_cast<uint32_t>(thread));
      for (int64_t i = 0; i < kTasks; ++i) {
        const int64_t id = thread * kTasks + i + 1;
        EXPECT_EQ(Add(batcher, id, static_cast<int64_t>(random() % 3)), absl::OkStatus());
        if (random() % 4 == 0) batcher->Cancel(Ticket(id));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int64_t> all;
  EXPECT_TRUE(Eventually([&] {
    all = cancelled();
    for (const auto& batch : batches()) all.insert(all.end(), batch.begin(), batch.end());
    return all.size() >= kThreads * kTasks;
  }));
  std::sort(all.begin(), all.end());
  for (int64_t i = 0; i < kThreads * kTasks; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i + 1);
}

TEST_F(BatcherTest, JoinedTasksHaveAnIndexAndAreFilledUp) {
  BatcherSpec spec = SpecOf(8);
  spec.allowed_batch_sizes = {2, 5, 8};
  Batcher::Tasks tasks(2);
  tasks[0].id = 7;
  tasks[0].tensors = {Tensor::Of<int64_t>({2, 1}, {1, 2})};
  tasks[1].id = 9;
  tasks[1].tensors = {Tensor::Of<int64_t>({1, 1}, {3})};
  const auto joined = JoinTasks(spec, tasks);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ((*joined)[0].shape(), Shape({5, 1}));
  EXPECT_THAT((*joined)[0].flat<int64_t>(), ElementsAre(1, 2, 3, 1, 1));
  EXPECT_THAT(IndexOf(tasks), ElementsAre(7, 0, 2, 9, 2, 3));
  tasks[0].tensors = {Tensor::Of<int64_t>({0, 1}, {})};
  EXPECT_THAT(std::string(JoinTasks(spec, tasks).status().message()),
              HasSubstr("Cannot use an empty tensor with zero rows as padding"));
}

// ---- What the steps of a batch give each other ----

class UnbatcherTest : public ::testing::Test {
 protected:
  // What became of a Take.
  struct Taken {
    bool has_ended = false;
    Status status;
    std::vector<Tensor> tensors;
  };
  std::shared_ptr<Taken> Take(const std::vector<int64_t>& ids) {
    auto taken = std::make_shared<Taken>();
    unbatcher->Take(taken.get(), ids, absl::InfiniteDuration(), &taken->tensors,
                    [taken](const Status& status) {
                      taken->has_ended = true;
                      taken->status = status;
                    });
    return taken;
  }
  void Give(int64_t id) {
    EXPECT_EQ(unbatcher->Give(id, Tensor::Scalar<int64_t>(id), absl::InfiniteDuration()),
              absl::OkStatus());
  }

  const ResourceRef<Unbatcher> unbatcher = MakeResource<Unbatcher>("u");
};

TEST_F(UnbatcherTest, WhoComesFirstWaits) {
  Give(1);
  const auto first = Take({1});
  EXPECT_TRUE(first->has_ended);
  const auto second = Take({2, 3});
  Give(3);
  EXPECT_FALSE(second->has_ended);
  Give(2);
  ASSERT_TRUE(second->has_ended);
  EXPECT_EQ(second->status, absl::OkStatus());
  EXPECT_EQ(*second->tensors[0].data<int64_t>(), 2);
  EXPECT_EQ(*second->tensors[1].data<int64_t>(), 3);
}

TEST_F(UnbatcherTest, ATensorIsGivenAndTakenOnce) {
  Give(1);
  EXPECT_TRUE(absl::IsAlreadyExists(
      unbatcher->Give(1, Tensor::Scalar<int64_t>(1), absl::InfiniteDuration())));
  const auto first = Take({2});
  const auto second = Take({3, 2});
  EXPECT_TRUE(absl::IsAlreadyExists(second->status)) << second->status;
  EXPECT_TRUE(absl::IsAlreadyExists(Take({5, 5})->status));
  Give(2);
  EXPECT_EQ(first->status, absl::OkStatus());
  EXPECT_TRUE(first->has_ended);
  const auto third = Take({3, 5});
  EXPECT_FALSE(third->has_ended) << "nobody waits for them any more";
  unbatcher->Cancel(third.get());
  EXPECT_TRUE(absl::IsCancelled(third->status));
}

TEST_F(UnbatcherTest, AFailureReachesWhoWaitsForIt) {
  const auto taken = Take({1, 2});
  Give(1);
  unbatcher->Fail(1, errors::Internal("it was given before"));
  unbatcher->Fail(9, errors::Internal("nobody waits"));
  EXPECT_FALSE(taken->has_ended);
  unbatcher->Fail(2, absl::AbortedError("the step failed"));
  EXPECT_TRUE(absl::IsAborted(taken->status)) << taken->status;
  unbatcher->Forget(1);
  const auto again = Take({1});
  EXPECT_FALSE(again->has_ended);
  unbatcher->Drop();
  EXPECT_TRUE(absl::IsCancelled(again->status)) << again->status;
}

// ---- Members ----

TEST(BatchMembersTest, WhoEndsIsHeardOf) {
  ResourceManager resources;
  const auto members = BatchMembers::Of(&resources).value();
  std::vector<std::string> heard;
  const auto hears = [&](const std::string& what) { return [&, what] { heard.push_back(what); }; };
  auto first_step = std::make_unique<StepContainer>(&resources, 1);
  auto second_step = std::make_unique<StepContainer>(&resources, 2);
  const int64_t first = members->Add(first_step.get()).value();
  const int64_t second = members->Add(second_step.get()).value();
  members->Join({first, second}, second, 2, hears("ran"));
  EXPECT_EQ(members->RunnerOf(first), second);
  EXPECT_EQ(members->RunnerOf(5), 5);
  members->WhenEnds(first, hears("first"));
  members->WhenEnds(second, hears("second"));
  members->WhenEnds(5, hears("unknown"));
  members->Finish(second);
  EXPECT_THAT(heard, IsEmpty());
  members->Finish(second);
  EXPECT_THAT(heard, ElementsAre("ran"));
  second_step.reset();
  EXPECT_THAT(heard, ElementsAre("ran", "second"));
  members->WhenEnds(second, hears("at once"));
  EXPECT_THAT(heard, ElementsAre("ran", "second", "at once"));
  first_step.reset();
  EXPECT_THAT(heard, ElementsAre("ran", "second", "at once", "first"));
}

TEST(BatchMembersTest, TheEndOfTheRunnerIsTheEndOfTheBatch) {
  ResourceManager resources;
  const auto members = BatchMembers::Of(&resources).value();
  int ran = 0;
  {
    StepContainer step(&resources, 1);
    const int64_t id = members->Add(&step).value();
    members->Join({id}, id, 1, [&] { ++ran; });
    EXPECT_EQ(ran, 0);
  }
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace millstream
