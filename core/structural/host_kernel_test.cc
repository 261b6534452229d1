// Host kernels with state, by two made-up ops: one that counts, one that waits until it is let go.
#include "core/structural/host_kernel.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/testing/session_fixture.h"
#include "framework/held_time_limits_for_tests.h"
#include "framework/op_registry.h"
#include "framework/shape_context.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Counts its executions, from the attribute on.
class CountKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    absl::MutexLock lock(&mutex_);
    MS_ASSIGN_OR_RETURN(next_, info.Attr<int64_t>("start"));
    if (next_ < 0) return errors::InvalidArgument("attribute 'start' must not be negative");
    return absl::OkStatus();
  }
  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(const Tensor count, frame->AllocateOutput(0, Shape()));
    absl::MutexLock lock(&mutex_);
    *count.data<int64_t>() = next_++;
    return absl::OkStatus();
  }

 private:
  absl::Mutex mutex_;
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Where executions of TestAwait wait.
class Gate {
 public:
  static Gate* Named(const std::string& name) {
    static auto* const mutex = new absl::Mutex();
    static auto* const gates = new std::map<std::string, Gate>();
    absl::MutexLock lock(mutex);
    return &(*gates)[name];
  }
  // False when the gate is open.
  bool Add(HostExecution execution) {
    absl::MutexLock lock(&mutex_);
    if (is_open_) return false;
    waiting_.push_back(execution);
    return true;
  }
  // False when the execution does not wait here.
  bool Remove(HostExecution execution) {
    absl::MutexLock lock(&mutex_);
    const auto found = std::find(waiting_.begin(), waiting_.end(), execution);
    if (found == waiting_.end()) return false;
    waiting_.erase(found);
    ++num_removed_;
    return true;
  }
  void Open() {
    std::vector<HostExecution> waiting;
    {
      absl::MutexLock lock(&mutex_);
      is_open_ = true;
      waiting.swap(waiting_);
    }
    for (const HostExecution execution : waiting) execution.End(absl::OkStatus());
  }
  void AwaitWaiting(size_t count) {
    const auto has_come = [this, count]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return waiting_.size() >= count;
    };
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&has_come), kHangGuard));
  }
  // How often somebody has asked what executions wait for.
  int NoteAsked() {
    absl::MutexLock lock(&mutex_);
    return ++num_asked_;
  }
  int num_removed() {
    absl::MutexLock lock(&mutex_);
    return num_removed_;
  }

 private:
  absl::Mutex mutex_;
  bool is_open_ ABSL_GUARDED_BY(mutex_) = false;
  int num_removed_ ABSL_GUARDED_BY(mutex_) = 0;
  int num_asked_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<HostExecution> waiting_ ABSL_GUARDED_BY(mutex_);
};

// Passes its input on once the gate is open.
class AwaitKernel final : public AsyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(name_, info.Attr<std::string>("gate"));
    gate_ = Gate::Named(name_);
    return absl::OkStatus();
  }
  void ComputeAsync(StructuralFrame frame, HostExecution execution) override {
    const StatusOr<Tensor> input = frame.InputTensor(0);
    const Status given = input.ok() ? frame.SetOutput(0, *input) : input.status();
    if (!given.ok() || !gate_->Add(execution)) execution.End(given);
  }
  void Cancel(const StructuralFrame&, HostExecution execution) override {
    if (gate_->Remove(execution)) execution.End(errors::Cancelled("the wait was cancelled"));
  }
  std::string WaitsFor(const StructuralFrame&) const override {
    return absl::StrCat("gate '", name_, "' to open, asked ", gate_->NoteAsked(), " times");
  }

 private:
  std::string name_;
  Gate* gate_ = nullptr;
};

// Opens the gate.
class OpenKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(const std::string name, info.Attr<std::string>("gate"));
    gate_ = Gate::Named(name);
    return absl::OkStatus();
  }
  Status Compute(StructuralFrame*) override {
    gate_->Open();
    return absl::OkStatus();
  }

 private:
  Gate* gate_ = nullptr;
};

MILLSTREAM_OP("TestCount")
    .Output("count: int64")
    .Attr("start: int = 0")
    .Stateful()
    .Shape(ScalarShape)
    .Doc("Counts its executions.");
MILLSTREAM_OP("TestAwait")
    .Input("x: float")
    .Output("y: float")
    .Attr("gate: string")
    .Stateful()
    .Shape(UnchangedShape)
    .Doc("Waits until a gate is open.");
MILLSTREAM_OP("TestOpen").Attr("gate: string").Stateful().Shape(NoOutputs).Doc("Opens a gate.");
MILLSTREAM_HOST_KERNEL("TestCount", CountKernel);
MILLSTREAM_HOST_KERNEL("TestAwait", AwaitKernel);
MILLSTREAM_HOST_KERNEL("TestOpen", OpenKernel);

class HostKernelTest : public SessionTest {
 protected:
  // Every test has a gate of its own, and every node one by the test's name.
  HostKernelTest()
      : gate_name_(::testing::UnitTest::GetInstance()->current_test_info()->name()),
        gate(Gate::Named(gate_name_)) {}
  Output Await(float value) { return Op("TestAwait", {Constant(value)}, {{"gate", gate_name_}}); }
  void StartWithThreads(int threads) {
    SessionOptions options;
    options.inter_op_threads = threads;
    StartSession(options);
  }
  // Runs the fetches on another thread, until Result.
  void Begin(const std::vector<Output>& fetches, const RunOptions& options = RunOptions()) {
    if (session == nullptr) StartSession();
    thread_ = std::thread([=] { result_ = Run(fetches, {}, {}, options); });
  }
  StatusOr<std::vector<Tensor>> Result() {
    thread_.join();
    return result_;
  }

  const std::string gate_name_;
  Gate* const gate;

 private:
  std::thread thread_;
  StatusOr<std::vector<Tensor>> result_ = absl::UnknownError("has not run");
};

TEST_F(HostKernelTest, KeepsItsStateFromStepToStep) {
  const Output count = Op("TestCount", {}, {{"start", int64_t{5}}});
  EXPECT_THAT(Elements<int64_t>(Value(count)), ElementsAre(5));
  EXPECT_THAT(Elements<int64_t>(Value(count)), ElementsAre(6));
}

TEST_F(HostKernelTest, EachNodeAndEachSessionHasAStateOfItsOwn) {
  const Output first = Op("TestCount", {});
  const Output second = Op("TestCount", {});
  EXPECT_THAT(Elements<int64_t>(Value(first)), ElementsAre(0));
  EXPECT_THAT(Elements<int64_t>(Value(second)), ElementsAre(0));
  session.reset();
  EXPECT_THAT(Elements<int64_t>(Value(first)), ElementsAre(0));
}

TEST_F(HostKernelTest, AnErrorOfInitNamesTheNode) {
  const Output count = Op("TestCount", {}, {{"start", int64_t{-1}}});
  ExpectError(
      Error(count), absl::StatusCode::kInvalidArgument,
      {"attribute 'start' must not be negative", absl::StrCat("node '", count.node->name())});
}

TEST_F(HostKernelTest, AnExecutionMayEndBeforeComputeAsyncReturns) {
  gate->Open();
  EXPECT_THAT(Elements<float>(Value(Op("Neg", {Await(2)}))), ElementsAre(-2));
}

TEST_F(HostKernelTest, AnExecutionMayEndOnAnyThread) {
  Begin({Op("Neg", {Await(2)})});
  gate->AwaitWaiting(1);
  gate->Open();
  const auto result = Result();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Elements<float>(result->front()), ElementsAre(-2));
}

// The node that opens the gate is the last one of the graph.
TEST_F(HostKernelTest, TheRestOfTheStepGoesOnMeanwhile) {
  StartWithThreads(1);
  const Output waiting = Await(1);
  const Node* const opens = build.NodeOf("TestOpen", {}, {{"gate", gate_name_}});
  ASSERT_TRUE(build.ok()) << build.status();
  const auto result = Run({waiting}, {}, {opens});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Elements<float>(result->front()), ElementsAre(1));
}

size_t NumThreads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST_F(HostKernelTest, HoldsNoThreadWhileItWaits) {
  constexpr size_t kWaiting = 100;
  StartWithThreads(2);
  std::vector<Output> fetches;
  for (size_t i = 0; i < kWaiting; ++i) fetches.push_back(Await(static_cast<float>(i)));
  const size_t before = NumThreads();
  Begin(fetches);
  gate->AwaitWaiting(kWaiting);
  // The one that runs the step, and at most one that helps.
  EXPECT_LE(NumThreads(), before + 2);
  gate->Open();
  const auto result = Result();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Elements<float>(result->back()), ElementsAre(kWaiting - 1));
}

// Without a limit the step goes on waiting: nobody knows that the execution will not end.
TEST_F(HostKernelTest, ATimeLimitCancelsItAndSaysWhatItWaitedFor) {
  HeldTimeLimits held;
  const Output waiting = Await(1);
  RunOptions options;
  options.timeout_ms = 50;
  Begin({waiting}, options);
  gate->AwaitWaiting(1);
  held.Release();
  ExpectError(Result().status(), absl::StatusCode::kDeadlineExceeded,
              {"the step took longer than 50 ms", absl::StrCat("node '", waiting.node->name(), "'"),
               absl::StrCat("waits for gate '", gate_name_, "' to open")});
  EXPECT_EQ(gate->num_removed(), 1);
}

// When it begins, and for the message.
TEST_F(HostKernelTest, WhatItWaitsForIsAskedAnewForAMessage) {
  HeldTimeLimits held;
  RunOptions options;
  options.timeout_ms = 50;
  Begin({Await(1)}, options);
  gate->AwaitWaiting(1);
  held.Release();
  const Status status = Result().status();
  ExpectError(status, absl::StatusCode::kDeadlineExceeded,
              {absl::StrCat("gate '", gate_name_, "' to open, asked ")});
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("asked 1 times")));
}

TEST_F(HostKernelTest, IsCancelledWithItsStep) {
  Cancellation cancellation;
  RunOptions options;
  options.cancellation = &cancellation;
  Begin({Await(1), Await(2)}, options);
  gate->AwaitWaiting(2);
  cancellation.Cancel();
  ExpectError(Result().status(), absl::StatusCode::kCancelled, {"the step was cancelled"});
  EXPECT_EQ(gate->num_removed(), 2);
}

TEST_F(HostKernelTest, IsCancelledAsTheSessionIsClosed) {
  Begin({Await(1)});
  gate->AwaitWaiting(1);
  EXPECT_EQ(session->Close(), absl::OkStatus());
  ExpectError(Result().status(), absl::StatusCode::kCancelled,
              {"the session was closed while the step ran",
               absl::StrCat("waits for gate '", gate_name_, "' to open")});
  EXPECT_EQ(gate->num_removed(), 1);
}

TEST_F(HostKernelTest, IsCancelledAsAnotherNodeFails) {
  const Output bad = Op("TestCount", {});
  const Output waiting = Await(1);
  const Node* const check =
      build.Variadic("Assert", {{build.Const(Tensor::Scalar(false))}, {bad}}, {});
  ASSERT_TRUE(build.ok()) << build.status();
  ExpectError(Run({waiting}, {}, {check}).status(), absl::StatusCode::kInvalidArgument,
              {"assertion failed"});
  EXPECT_EQ(gate->num_removed(), 1);
}

}  // namespace
}  // namespace millstream
