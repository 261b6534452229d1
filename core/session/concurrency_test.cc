// Everything at once: threads that share a session run steps of changing shapes, change and read
// variables, extend the graph, cancel each other's steps, and open and close further sessions.
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Each;

constexpr int kThreads = 8;
constexpr int kStepsPerThread = 1000;
constexpr int64_t kSize = 256;
// Fetched tensors that a thread keeps, to look at them again later.
constexpr size_t kMostKept = 20;

// The cancellations of the steps that run, one a thread, for the other threads to use.
class RunningSteps {
 public:
  void Set(int thread, std::shared_ptr<Cancellation> step) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    steps_[thread] = std::move(step);
  }
  std::shared_ptr<Cancellation> Get(int thread) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return steps_[thread];
  }

 private:
  mutable absl::Mutex mutex_;
  std::array<std::shared_ptr<Cancellation>, kThreads> steps_ ABSL_GUARDED_BY(mutex_);
};

class ConcurrencyTest : public SessionTest {
 protected:
  ConcurrencyTest() {
    x = Placeholder("x", DataType::kFloat, {-1});
    square = Op("Square", {Op("Neg", {x})});
    w = Variable("w", DataType::kFloat, {kSize});
    read = Read(w);
    assign = Assign(w, Op("Add", {x, Constant(Values<float>(std::vector<float>(kSize, 0)))}));
    counter = Variable("counter", DataType::kInt32, PartialShape::Scalar());
    count = build.NodeOf("AssignAddVariableOp", {counter, build.Int32(1)});
    counted = Read(counter);
    initialize = Group({Assign(counter, build.Int32(0))});
    matrix = Placeholder("matrix", DataType::kFloat, {32, 32});
    product = matrix;
    for (int i = 0; i < 30; ++i) product = Op("MatMul", {product, matrix});
    StartSession();
    EXPECT_EQ(Execute({initialize}), absl::OkStatus());
    EXPECT_EQ(Execute({assign}, {{x, Filled(1, kSize)}}), absl::OkStatus());
  }

  static Tensor Filled(float value, int64_t size) {
    return Values<float>(std::vector<float>(size, value));
  }

  Output x, square, w, read, counter, counted, matrix, product;
  const Node* assign = nullptr;
  const Node* count = nullptr;
  const Node* initialize = nullptr;
  RunningSteps running;
  std::atomic<int> changes{0};
  std::atomic<int> cancelled{0};
};

// What one thread does.
class Worker {
 public:
  struct Nodes {
    Output x, square, read, matrix, product;
    const Node* assign;
    const Node* count;
  };
  Worker(int number, const Nodes& nodes, Graph* graph, Session* session, RunningSteps* running,
         std::atomic<int>* changes, std::atomic<int>* cancelled)
      : number_(number),
        nodes_(nodes),
        graph_(*graph),
        session_(*session),
        running_(*running),
        changes_(*changes),
        cancelled_(*cancelled),
        random_(number) {}

  void Run() {
    for (int i = 0; i < kStepsPerThread && !::testing::Test::HasFailure(); ++i) {
      const int action = Below(100);
      if (action < 30) {
        RunWithAnyShape();
      } else if (action < 45) {
        AssignVariable();
      } else if (action < 65) {
        ReadVariable();
      } else if (action < 75) {
        Count();
      } else if (action < 82) {
        ExtendGraph();
      } else if (action < 90) {
        RunUntilCancelled();
      } else if (action < 96) {
        CancelAnother();
      } else if (action < 97) {
        ASSERT_EQ(session_.Trim(), absl::OkStatus());
      } else {
        UseAnotherSession();
      }
    }
    while (!kept_.empty()) CheckOldest();
  }

 private:
  int Below(int end) { return static_cast<int>(random_() % end); }

  Status RunStep(Session* session, const Output& fetch, const Output& fed, const Tensor& value,
                 Tensor* result, const Cancellation* cancellation = nullptr) {
    RunOptions options;
    options.cancellation = cancellation;
    StepSignature signature;
    signature.fetches = {fetch};
    if (fed.node == nullptr) {
      return session->Run(signature, {}, absl::MakeSpan(result, 1), options);
    }
    signature.feeds = {fed};
    return session->Run(signature, {&value, 1}, absl::MakeSpan(result, 1), options);
  }

  // What is fed is not written, and is the caller's again after the step.
  void RunWithAnyShape() {
    std::vector<float> fed(1 + Below(9), static_cast<float>(Below(1000)));
    Tensor value = Values<float>(fed);
    Tensor result;
    ASSERT_EQ(RunStep(&session_, nodes_.square, nodes_.x, value, &result), absl::OkStatus());
    ASSERT_EQ(Elements<float>(value), fed);
    for (int64_t i = 0; i < value.num_elements(); ++i) value.data<float>()[i] = -1;
    ASSERT_EQ(result.num_elements(), static_cast<int64_t>(fed.size()));
    ASSERT_THAT(Elements<float>(result), Each(fed[0] * fed[0]));
    Keep(result);
  }

  void AssignVariable() {
    Tensor value = Values<float>(std::vector<float>(kSize, static_cast<float>(Below(1000))));
    StepSignature signature;
    signature.feeds = {nodes_.x};
    signature.targets = {nodes_.assign};
    ASSERT_EQ(session_.Run(signature, {&value, 1}, {}, RunOptions()), absl::OkStatus());
    for (int64_t i = 0; i < kSize; ++i) value.data<float>()[i] = static_cast<float>(-i);
  }

  void ReadVariable() {
    Tensor value;
    ASSERT_EQ(RunStep(&session_, nodes_.read, Output(), Tensor(), &value), absl::OkStatus());
    ASSERT_THAT(Elements<float>(value), Each(*value.data<float>())) << "torn";
    Keep(value);
  }

  void Count() {
    StepSignature signature;
    signature.targets = {nodes_.count};
    ASSERT_EQ(session_.Run(signature, {}, {}, RunOptions()), absl::OkStatus());
    ++changes_;
  }

  void ExtendGraph() {
    GraphBuilder build(&graph_, absl::StrCat("thread", number_, "_", added_++));
    const float factor = static_cast<float>(Below(100));
    const Output more = build.Op("Mul", {nodes_.square, build.Const(Tensor::Scalar(factor))});
    ASSERT_EQ(build.status(), absl::OkStatus());
    Tensor result;
    ASSERT_EQ(RunStep(&session_, more, nodes_.x, Values<float>({2, 2}), &result), absl::OkStatus());
    ASSERT_THAT(Elements<float>(result), Each(4 * factor));
  }

  void RunUntilCancelled() {
    auto step = std::make_shared<Cancellation>();
    running_.Set(number_, step);
    const Tensor value = Tensor::FromValues<float>(Shape({32, 32}), std::vector<float>(1024, 0.1f));
    Tensor result;
    const Status status =
        RunStep(&session_, nodes_.product, nodes_.matrix, value, &result, step.get());
    running_.Set(number_, nullptr);
    if (status.ok()) return;
    ASSERT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
    ++cancelled_;
  }

  void CancelAnother() {
    const std::shared_ptr<Cancellation> step = running_.Get(Below(kThreads));
    if (step != nullptr) step->Cancel();
  }

  void UseAnotherSession() {
    const std::unique_ptr<Session> other = Session::Create(&graph_, SessionOptions()).value();
    Tensor value;
    ASSERT_EQ(RunStep(other.get(), nodes_.read, Output(), Tensor(), &value).code(),
              absl::StatusCode::kFailedPrecondition);
    const Tensor ours = Values<float>(std::vector<float>(kSize, 0.5f));
    StepSignature signature;
    signature.feeds = {nodes_.x};
    signature.targets = {nodes_.assign};
    ASSERT_EQ(other->Run(signature, {&ours, 1}, {}, RunOptions()), absl::OkStatus());
    ASSERT_EQ(RunStep(other.get(), nodes_.read, Output(), Tensor(), &value), absl::OkStatus());
    ASSERT_THAT(Elements<float>(value), Each(0.5f));
    if (Below(2) == 0) {
      ASSERT_EQ(other->Close(), absl::OkStatus());
    }
  }

  // A fetched tensor stays as it was, whatever is assigned and run later.
  void Keep(const Tensor& fetched) {
    kept_.emplace_back(fetched, Elements<float>(fetched));
    if (kept_.size() > kMostKept) CheckOldest();
  }
  void CheckOldest() {
    ASSERT_EQ(Elements<float>(kept_.front().first), kept_.front().second);
    kept_.pop_front();
  }

  const int number_;
  const Nodes nodes_;
  Graph& graph_;
  Session& session_;
  RunningSteps& running_;
  std::atomic<int>& changes_;
  std::atomic<int>& cancelled_;
  std::mt19937 random_;
  int added_ = 0;
  std::deque<std::pair<Tensor, std::vector<float>>> kept_;
};

TEST_F(ConcurrencyTest, ThreadsDoAnythingAtAnyTime) {
  const Worker::Nodes nodes = {x, square, read, matrix, product, assign, count};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back(
        [&, t] { Worker(t, nodes, &graph, session.get(), &running, &changes, &cancelled).Run(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(changes, kThreads);
  EXPECT_EQ(*Value(counted).data<int32_t>(), changes);
  RecordProperty("cancelled", cancelled);
}

}  // namespace
}  // namespace millstream
