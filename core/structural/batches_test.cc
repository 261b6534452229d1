// Batches of the tensors of several steps, which run at the same time.
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/testing/session_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::UnorderedElementsAre;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kFloat = DataType::kFloat;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

class BatchesTest : public SessionTest {
 protected:
  struct Settings {
    int64_t most = 2;
    int64_t timeout_micros = kNever;
    std::vector<int64_t> allowed;
  };

  const Node* Batch(const std::vector<Output>& tensors, const Settings& settings) {
    const Node* const node = build.Variadic("Batch", {tensors},
                                            {{"num_batch_threads", 1},
                                             {"max_batch_size", settings.most},
                                             {"batch_timeout_micros", settings.timeout_micros},
                                             {"allowed_batch_sizes", settings.allowed},
                                             {"grad_timeout_micros", kNever}});
    EXPECT_TRUE(build.ok()) << build.status();
    return node;
  }
  // Of a batch of one tensor.
  Output Unbatch(const Output& batched, const Node* batch, int64_t timeout_micros = kNever) {
    return Op("Unbatch", {batched, batch->output(1), batch->output(2)},
              {{"timeout_micros", timeout_micros}});
  }
  // Runs a fetch for each of several values of `x`, all at once.
  std::vector<StatusOr<Tensor>> RunTogether(const Output& fetch, const Output& x,
                                            const std::vector<std::vector<float>>& values) {
    if (session == nullptr) StartSession();
    std::vector<StatusOr<Tensor>> results(values.size(), absl::UnknownError("has not run"));
    std::vector<std::thread> threads;
    for (size_t i = 0; i < values.size(); ++i) {
      threads.emplace_back([&, i] {
        const auto fetched = Run({fetch}, {{x, Values<float>(values[i])}});
        results[i] = fetched.ok() ? StatusOr<Tensor>(fetched->front()) : fetched.status();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }
};

TEST_F(BatchesTest, EachStepGetsItsRowsOfTheResult) {
  const Output x = Placeholder("x", kFloat, PartialShape({-1}));
  const Node* const batch = Batch({x}, {6});
  const Output result = Unbatch(Op("Neg", {batch->output(0)}), batch);
  const auto results = RunTogether(result, x, {{1}, {2, 3}, {4, 5, 6}});
  ASSERT_TRUE(results[0].ok()) << results[0].status();
  ASSERT_TRUE(results[1].ok()) << results[1].status();
  ASSERT_TRUE(results[2].ok()) << results[2].status();
  EXPECT_THAT(Elements<float>(*results[0]), ElementsAre(-1));
  EXPECT_THAT(Elements<float>(*results[1]), ElementsAre(-2, -3));
  EXPECT_THAT(Elements<float>(*results[2]), ElementsAre(-4, -5, -6));
}

TEST_F(BatchesTest, OneStepGetsAllRowsAndTheOthersNone) {
  const Output x = Placeholder("x", kFloat, PartialShape({-1}));
  const Node* const batch = Batch({x}, {2});
  const Output rows = Op("Size", {batch->output(0)});
  std::vector<int32_t> sizes;
  for (const auto& result : RunTogether(rows, x, {{1}, {2}})) {
    ASSERT_TRUE(result.ok()) << result.status();
    sizes.push_back(*result->data<int32_t>());
  }
  EXPECT_THAT(sizes, UnorderedElementsAre(0, 2));
}

TEST_F(BatchesTest, ATimeLimitEndsTheWaitForOthers) {
  const Output x = Constant(Values<float>({1, 2}));
  const Output names = Constant(Values<std::string>({"a", "b"}));
  const Node* const batch = Batch({x, names}, {100, 1000});
  const auto result = Run({batch->output(0), batch->output(1), batch->output(2), batch->output(3)});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Elements<float>((*result)[0]), ElementsAre(1, 2));
  EXPECT_THAT(Elements<std::string>((*result)[1]), ElementsAre("a", "b"));
  EXPECT_EQ((*result)[2].shape(), Shape({1, 3}));
  const int64_t id = *(*result)[3].data<int64_t>();
  EXPECT_THAT(Elements<int64_t>((*result)[2]), ElementsAre(id, 0, 2));
}

TEST_F(BatchesTest, ABatchIsFilledUpToAnAllowedSize) {
  const Output x = Constant(Values<float>({1, 2, 3}));
  const Node* const batch = Batch({x}, {8, 0, {2, 4, 8}});
  EXPECT_THAT(Elements<float>(Value(batch->output(0))), ElementsAre(1, 2, 3, 1));
  EXPECT_THAT(Elements<float>(Value(Unbatch(batch->output(0), batch))), ElementsAre(1, 2, 3));
}

TEST_F(BatchesTest, ACancelledStepLeavesItsBatch) {
  const Output x = Placeholder("x", kFloat, PartialShape({-1}));
  const Node* const batch = Batch({x}, {2});
  const Output result = Unbatch(batch->output(0), batch);
  StartSession();
  Cancellation cancellation;
  RunOptions options;
  options.cancellation = &cancellation;
  StatusOr<std::vector<Tensor>> cancelled = absl::UnknownError("has not run");
  std::thread first([&] { cancelled = Run({result}, {{x, Values<float>({9})}}, {}, options); });
  cancellation.Cancel();
  first.join();
  ExpectError(cancelled.status(), absl::StatusCode::kCancelled, {"the step was cancelled"});
  const auto results = RunTogether(result, x, {{1}, {2}});
  ASSERT_TRUE(results[0].ok()) << results[0].status();
  EXPECT_THAT(Elements<float>(*results[0]), ElementsAre(1));
}

TEST_F(BatchesTest, ATimeLimitOfTheStepSaysWhatItWaitsFor) {
  const Output x = Constant(Values<float>({1}));
  const Node* const batch = Batch({x}, {2});
  RunOptions options;
  options.timeout_ms = 30;
  ExpectError(Run({batch->output(0)}, {}, {}, options).status(),
              absl::StatusCode::kDeadlineExceeded,
              {"waits for more tensors for batcher 'Batch'", "(op Batch)"});
  const Output index = Constant(Tensor::FromValues<int64_t>(Shape({0, 3}), {}));
  const Output id = Constant(Tensor::Scalar<int64_t>(5));
  const Output part =
      Op("Unbatch", {Constant(Values<float>({})), index, id}, {{"timeout_micros", kNever}});
  ExpectError(Run({part}, {}, {}, options).status(), absl::StatusCode::kDeadlineExceeded,
              {"waits for its part of unbatcher 'Unbatch'"});
  const Output late =
      Op("Unbatch", {Constant(Values<float>({})), index, id}, {{"timeout_micros", 1000}});
  ExpectError(Error(late), absl::StatusCode::kDeadlineExceeded,
              {"Batched data did not arrive within timeout window."});
}

TEST_F(BatchesTest, ClosingTheSessionEndsTheWait) {
  const Output x = Constant(Values<float>({1}));
  const Node* const batch = Batch({x}, {2});
  StartSession();
  Status status;
  std::thread step([&] { status = Run({batch->output(0)}).status(); });
  EXPECT_EQ(session->Close(), absl::OkStatus());
  step.join();
  EXPECT_FALSE(status.ok());
}

TEST_F(BatchesTest, TheOthersHearThatTheirRunnerFailed) {
  const Output x = Placeholder("x", kFloat, PartialShape({-1}));
  const Node* const batch = Batch({x}, {2});
  const Output is_empty = Op("Equal", {Op("Size", {batch->output(0)}), build.Int32(0)});
  const Node* const check = build.Variadic("Assert", {{is_empty}, {is_empty}});
  ASSERT_TRUE(build.ok()) << build.status();
  build.set_control_inputs({check});
  const Output checked = Op("Identity", {batch->output(0)});
  build.set_control_inputs({});
  const auto results = RunTogether(Unbatch(checked, batch), x, {{1}, {2}});
  const bool is_first = results[0].status().code() == kInvalid;
  ExpectError(results[is_first ? 0 : 1].status(), kInvalid, {"assertion failed"});
  ExpectError(results[is_first ? 1 : 0].status(), absl::StatusCode::kAborted,
              {"another step of the batch ended before it gave this step's part"});
}

TEST_F(BatchesTest, RefusesWhatIsNoBatch) {
  const Output rows = Constant(Values<float>({1, 2}));
  const Output fed = Placeholder("fed", kFloat);
  const Node* const of_scalar = Batch({fed}, {2});
  ExpectError(Error(of_scalar->output(0), {{fed, Tensor::Scalar(1.0f)}}), kInvalid,
              {"must have at least one dimension", "(op Batch)"});
  const Node* const uneven = Batch({rows, Constant(Values<float>({1}))}, {2});
  ExpectError(Error(uneven->output(0)), kInvalid, {"equal 0th-dimension size, got 2 and 1"});
  ExpectError(Error(Batch({rows}, {1})->output(0)), kInvalid, {"has 2 rows"});
  ExpectError(Error(Batch({rows}, {2, -1})->output(0)), kInvalid, {"'batch_timeout_micros'"});
  ExpectError(Error(Batch({rows}, {2, 0, {2, 1}})->output(0)), kInvalid, {"increasing"});
  ExpectError(Error(Batch({rows}, {2, 0, {1}})->output(0)), kInvalid,
              {"must equal max_batch_size, 2; was 1"});
  const Output id = Constant(Tensor::Scalar<int64_t>(5));
  const Output none = Constant(Tensor::FromValues<int64_t>(Shape({0, 3}), {}));
  ExpectError(Error(Op("Unbatch", {rows, none, id}, {{"timeout_micros", 0}})), kInvalid,
              {"batch_index is empty while the tensor isn't"});
  const Output wrong = Constant(Tensor::FromValues<int64_t>(Shape({1, 3}), {5, 1, 3}));
  ExpectError(Error(Op("Unbatch", {rows, wrong, id}, {{"timeout_micros", 0}})), kInvalid,
              {"row 0 says [1, 3), which are no rows of a tensor of 2"});
  const Output of_another = Constant(Tensor::FromValues<int64_t>(Shape({1, 3}), {6, 0, 2}));
  ExpectError(Error(Op("UnbatchGrad", {rows, of_another, rows, id})), kInvalid,
              {"'batch_index' has no row of 'id' 5"});
}

TEST_F(BatchesTest, TheGradientHasTheRowsOfTheBatch) {
  const Output rows = Constant(Values<float>({1, 2, 3}));
  const Output id = Constant(Tensor::Scalar<int64_t>(5));
  const Output index = Constant(Tensor::FromValues<int64_t>(Shape({1, 3}), {5, 0, 2}));
  const Output grad = Constant(Values<float>({10, 20}));
  EXPECT_THAT(Elements<float>(Value(Op("UnbatchGrad", {rows, index, grad, id}))),
              ElementsAre(10, 20, 0));
}

// Whatever is cancelled, and whoever is in whose batch: a step gives its own rows or says why not.
TEST_F(BatchesTest, ManySteps) {
  constexpr int kThreads = 8;
  constexpr int kSteps = 40;
  const Output x = Placeholder("x", kFloat, PartialShape({-1}));
  const Node* const batch = Batch({x}, {6, 500, {3, 6}});
  const Output result = Unbatch(Op("Neg", {batch->output(0)}), batch);
  StartSession();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(static_cast<uint32_t>(thread));
      for (int step = 0; step < kSteps; ++step) {
        std::vector<float> values(1 + random() % 3, static_cast<float>(thread * kSteps + step + 1));
        Cancellation cancellation;
        RunOptions options;
        options.cancellation = &cancellation;
        const bool is_cancelled = random() % 4 == 0;
        std::thread canceller([&] {
          if (is_cancelled) cancellation.Cancel();
        });
        const auto fetched = Run({result}, {{x, Values<float>(values)}}, {}, options);
        canceller.join();
        if (fetched.ok()) {
          for (float& value : values) value = -value;
          EXPECT_THAT(Elements<float>(fetched->front()), ElementsAreArray(values));
        } else {
          // The step that ran its batch may have been the cancelled one.
          EXPECT_TRUE(absl::IsAborted(fetched.status()) ||
                      (is_cancelled && absl::IsCancelled(fetched.status())))
              << fetched.status();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace millstream
