// Closing a session whose steps are blocked: they end soon, each with CANCELLED.
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/session/session.h"
#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "core/testing/stderr_text.h"
#include "framework/plugin/loader.h"
#include "framework/plugin/testing/async_kernel_ops.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// A guard against hanging: what waits so long was not cancelled.
constexpr int64_t kForeverMillis = 5 * kHangGuardMillis;

class SessionCloseTest : public SessionTest {
 protected:
  void Start(int cpus, int inter_op_threads) {
    SessionOptions options;
    options.device_count["CPU"] = cpus;
    options.inter_op_threads = inter_op_threads;
    StartSession(options);
    ASSERT_EQ(LoadAsyncKernels(), absl::OkStatus());
  }
  // A tensor that comes when everything is over, made by `op` on `device`.
  Output Late(const std::string& op, const std::string& device = "") {
    build.set_device(device);
    const Output late = Op(op, {Constant(1.0f)}, {{"delay_ms", kForeverMillis}});
    build.set_device("");
    return late;
  }
  // Closes by `close` while a step that gives `fetch` is under way.
  template <typename Close>
  Status StepThatIsClosed(const Output& fetch, Close close) {
    Session* const running = session.get();
    std::atomic<bool> began{false};
    RunOptions options;
    options.should_stop_argument = &began;
    options.should_stop = [](void* flag) {
      *static_cast<std::atomic<bool>*>(flag) = true;
      return false;
    };
    Status step;
    std::thread runner([&] {
      Tensor result;
      step = running->Run({{}, {fetch}, {}}, {}, absl::MakeSpan(&result, 1), options);
    });
    EXPECT_TRUE(Eventually([&] { return began.load(); }));
    close();
    runner.join();
    return step;
  }
  Status StepThatIsClosed(const Output& fetch) {
    return StepThatIsClosed(fetch, [this] { EXPECT_EQ(session->Close(), absl::OkStatus()); });
  }
};

TEST_F(SessionCloseTest, EndsAnAsynchronousKernel) {
  Start(1, 0);
  const Output y = Op("Neg", {Late("TestAsync")});
  EXPECT_EQ(StepThatIsClosed(y).code(), absl::StatusCode::kCancelled);
}

TEST_F(SessionCloseTest, EndsAKernelThatAsks) {
  Start(1, 0);
  EXPECT_EQ(StepThatIsClosed(Late("TestBlocking")).code(), absl::StatusCode::kCancelled);
}

TEST_F(SessionCloseTest, EndsAPartThatWaitsForAnother) {
  Start(2, 2);
  const Output late = Late("TestAsync", "/device:CPU:0");
  build.set_device("/device:CPU:1");
  const Output y = Op("Neg", {late});
  build.set_device("");
  EXPECT_EQ(StepThatIsClosed(y).code(), absl::StatusCode::kCancelled);
}

TEST_F(SessionCloseTest, EndsALoopThatRunsOn) {
  Start(1, 0);
  const Output yes = Constant(Tensor::Scalar<bool>(true));
  const Output entered =
      Op("Enter", {Constant(1.0f)}, {{"frame_name", "loop"}, {"parallel_iterations", 1}});
  const Output condition = Op(
      "Enter", {yes}, {{"frame_name", "loop"}, {"is_constant", true}, {"parallel_iterations", 1}});
  const Node* merge = build.Variadic("Merge", {{entered, entered}});
  ASSERT_TRUE(build.ok()) << build.status();
  const Output on = Op("LoopCond", {condition});
  const Output turn = Op("Switch", {merge->output(0), on});
  const Output next = Op("NextIteration", {Op("Neg", {Output{turn.node, 1}})});
  ASSERT_EQ(graph.SetBackEdge(merge, 1, next.node), absl::OkStatus());
  ExpectError(StepThatIsClosed(Op("Exit", {turn})), absl::StatusCode::kCancelled, {"closed"});
}

TEST_F(SessionCloseTest, AResetOfTheProcessEndsThemToo) {
  Start(1, 0);
  const Status step = StepThatIsClosed(Late("TestAsync"),
                                       [] { EXPECT_EQ(Session::ResetAll({}), absl::OkStatus()); });
  EXPECT_EQ(step.code(), absl::StatusCode::kCancelled);
}

TEST_F(SessionCloseTest, DeletingTheSessionEndsThemToo) {
  Start(1, 0);
  const Status step =
      StepThatIsClosed(Late("TestAsync"), [this] { Session::Free(std::move(session)); });
  EXPECT_EQ(step.code(), absl::StatusCode::kCancelled);
}

TEST_F(SessionCloseTest, LeavesTheStepsOfOtherSessionsAlone) {
  Start(1, 0);
  const Output y = Op("Neg", {Constant(1.0f)});
  const std::unique_ptr<Session> other = Session::Create(&graph, SessionOptions()).value();
  ASSERT_EQ(StepThatIsClosed(Late("TestAsync")).code(), absl::StatusCode::kCancelled);
  Tensor result;
  EXPECT_EQ(other->Run({{}, {y}, {}}, {}, absl::MakeSpan(&result, 1), RunOptions()),
            absl::OkStatus());
}

const char* const kEnd = "that is all\n";

// A kernel that does not end for as long as it likes, whatever becomes of the session.
class HeldTest : public SessionTest {
 protected:
  // Ends the session by `end` while the step runs; calls `look` once that is waited for and stderr
  // has `awaited`, and lets the kernels go on.
  template <typename End, typename Look>
  Status StepThatIsEnded(const std::vector<std::string>& awaited, End end, Look look) {
    Session* const running = session.get();
    Status step;
    std::thread runner([&] {
      std::vector<Tensor> results(fetches_.size());
      step = running->Run({{}, fetches_, {}}, {}, absl::MakeSpan(results), RunOptions());
    });
    while (began_ < kernels_) std::this_thread::yield();
    StderrText log;
    std::atomic<bool> ended{false};
    std::thread ender([&] {
      end();
      ended = true;
    });
    for (const std::string& text : awaited) EXPECT_TRUE(log.Await(text)) << log.text();
    EXPECT_FALSE(ended) << "what the kernel writes to would be gone";
    look();
    may_end_.Notify();
    ender.join();
    runner.join();
    EXPECT_GT(write(STDERR_FILENO, kEnd, std::strlen(kEnd)), 0);
    EXPECT_TRUE(log.Await(kEnd));
    logged_ = log.text();
    return step;
  }
  Status StepThatIsClosed(const std::vector<std::string>& awaited) {
    return StepThatIsEnded(
        awaited, [this] { EXPECT_EQ(session->Close(), absl::OkStatus()); }, [] {});
  }
  Output Held(BodyKind kind, int cpu = 0) {
    build.set_device(absl::StrCat("/cpu:", cpu));
    const Output held = AddBody(&build, kind, {}, [this](MS_Frame* frame) {
      ++began_;
      may_end_.WaitForNotification();
      return GiveScalar(frame, 1);
    });
    build.set_device("");
    return held;
  }
  void Start(int cpus) {
    SessionOptions options;
    options.device_count["CPU"] = cpus;
    options.inter_op_threads = cpus;
    options.late_kernel_warning_ms = 1;
    StartSession(options);
  }
  // With it the dynamic executor runs the step.
  Output Branch(const Output& value) {
    return {build.NodeOf("Switch", {value, build.Const(Tensor::Scalar<bool>(true))}), 1};
  }
  static std::string Named(const Output& output, int cpu, const std::string& what) {
    return absl::StrCat("\n  node '", output.node->name(), "' (op ", output.node->op().name,
                        "), on /job:localhost/replica:0/task:0/device:CPU:", cpu, ", ", what, "\n");
  }

  std::atomic<int> began_{0};
  int kernels_ = 1;  // that are awaited before the session is ended
  absl::Notification may_end_;
  std::vector<Output> fetches_;
  std::string logged_;
};

const char* const kWaits =
    "a step that is to end (the session was closed while the step ran) still waits for kernels:";

// It keeps its `done`.
class HeldDoneTest : public HeldTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    Start(1);
    held_ = Held(BodyKind::kAsync);
    const Output fetch = Op("Neg", {held_});
    fetches_ = {GetParam() ? Branch(fetch) : fetch};
  }
  Output held_;
};

TEST_P(HeldDoneTest, ClosingWaitsForItAndNamesIt) {
  const Status step = StepThatIsClosed({kWaits, Named(held_, 0, "has not ended")});
  ExpectError(step, absl::StatusCode::kCancelled, {"closed while the step ran"});
}

TEST_P(HeldDoneTest, DeletingWaitsForIt) {
  const Status step = StepThatIsEnded(
      {kWaits}, [this] { Session::Free(std::move(session)); }, [] {});
  ExpectError(step, absl::StatusCode::kCancelled, {"closed while the step ran"});
}

TEST_P(HeldDoneTest, PluginsStayAsLongAsItIsHeld) {
  const Status step = StepThatIsEnded(
      {kWaits}, [this] { EXPECT_EQ(session->Close(), absl::OkStatus()); },
      [] {
        EXPECT_EQ(PluginLoader::Global()->Shutdown().code(), absl::StatusCode::kFailedPrecondition);
      });
  EXPECT_EQ(step.code(), absl::StatusCode::kCancelled);
}

INSTANTIATE_TEST_SUITE_P(Executors, HeldDoneTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) {
                           return std::string(info.param ? "Dynamic" : "Plan");
                         });

// It keeps its thread, which is the one that called Run.
TEST_F(HeldTest, ClosingNamesTheKernelOfAPlan) {
  Start(1);
  const Output held = Held(BodyKind::kPlain);
  fetches_ = {Op("Neg", {held})};
  StepThatIsClosed({kWaits + Named(held, 0, "is running")}).IgnoreError();
}

TEST_F(HeldTest, ClosingNamesTheKernelOfTheDynamicExecutor) {
  Start(1);
  const Output held = Held(BodyKind::kPlain);
  fetches_ = {Branch(Op("Neg", {held}))};
  StepThatIsClosed({kWaits + Named(held, 0, "is running")}).IgnoreError();
}

TEST_F(HeldTest, ClosingNamesTheKernelsOfTwoThreads) {
  Start(2);
  kernels_ = 2;
  const Output first = Held(BodyKind::kPlain, 0);
  const Output second = Held(BodyKind::kPlain, 1);
  fetches_ = {first, second};
  StepThatIsClosed({kWaits, Named(first, 0, "is running"), Named(second, 1, "is running")})
      .IgnoreError();
}

TEST_F(HeldTest, ClosingNamesTheKernelsOfTwoSteps) {
  Start(1);
  kernels_ = 2;
  const Output first = Held(BodyKind::kPlain);
  const Output second = Held(BodyKind::kPlain);
  fetches_ = {first};
  std::thread other([&, running = session.get()] {
    Tensor result;
    running->Run({{}, {second}, {}}, {}, absl::MakeSpan(&result, 1), RunOptions()).IgnoreError();
  });
  StepThatIsClosed(
      {kWaits + Named(first, 0, "is running"), kWaits + Named(second, 0, "is running")})
      .IgnoreError();
  other.join();
}

// What a step left for others like it is there still.
TEST_F(HeldTest, ClosingNamesNoStepThatHasEnded) {
  Start(1);
  const Output done =
      AddBody(&build, BodyKind::kPlain, {}, [](MS_Frame* frame) { return GiveScalar(frame, 1); });
  ASSERT_TRUE(Run({done}).ok());
  const Output held = Held(BodyKind::kPlain);
  fetches_ = {held};
  StepThatIsClosed({kWaits + Named(held, 0, "is running")}).IgnoreError();
  EXPECT_EQ(logged_,
            absl::StrCat("millstream warning: ", kWaits, Named(held, 0, "is running"), kEnd));
}

}  // namespace
}  // namespace millstream
