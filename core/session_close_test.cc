// Closing a session whose steps are blocked: they end soon, each with CANCELLED.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/session.h"
#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "framework/plugin/loader.h"
#include "framework/plugin/testing/async_kernel_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// Much longer than a test may take: what waits so long was not cancelled.
constexpr int64_t kForeverMillis = 600000;

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
    // A step that holds its only thread is asked nothing.
    for (int i = 0; i < 20 && !began; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
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

// A kernel that keeps its `done` for as long as it likes, whatever becomes of the session.
class HeldDoneTest : public SessionTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    SessionOptions options;
    options.late_kernel_warning_ms = 40;
    StartSession(options);
    const Output held = AddBody(&build, BodyKind::kAsync, {}, [this](MS_Frame* frame) {
      began_.Notify();
      may_end_.WaitForNotification();
      return GiveScalar(frame, 1);
    });
    fetch_ = Op("Neg", {held});
    if (!GetParam()) return;
    const Node* branch = build.NodeOf("Switch", {fetch_, build.Const(Tensor::Scalar<bool>(true))});
    fetch_ = Output{branch, 1};
  }
  // Ends the session by `end` while the kernel runs, and lets that go on when `patience` is over.
  template <typename End>
  Status StepThatIsEnded(End end) {
    Session* const running = session.get();
    Status step;
    std::thread runner([&] {
      Tensor result;
      step = running->Run({{}, {fetch_}, {}}, {}, absl::MakeSpan(&result, 1), RunOptions());
    });
    began_.WaitForNotification();
    std::atomic<bool> ended{false};
    std::thread ender([&] {
      end();
      ended = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_FALSE(ended) << "what the kernel writes to would be gone";
    may_end_.Notify();
    ender.join();
    runner.join();
    return step;
  }

  absl::Notification began_;
  absl::Notification may_end_;
  Output fetch_;
};

TEST_P(HeldDoneTest, ClosingWaitsForIt) {
  const Status step = StepThatIsEnded([this] { EXPECT_EQ(session->Close(), absl::OkStatus()); });
  ExpectError(step, absl::StatusCode::kCancelled, {"closed while the step ran"});
}

TEST_P(HeldDoneTest, DeletingWaitsForIt) {
  const Status step = StepThatIsEnded([this] { Session::Free(std::move(session)); });
  ExpectError(step, absl::StatusCode::kCancelled, {"closed while the step ran"});
}

TEST_P(HeldDoneTest, PluginsStayAsLongAsItIsHeld) {
  const Status step = StepThatIsEnded([this] {
    std::thread closer([this] { EXPECT_EQ(session->Close(), absl::OkStatus()); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(PluginLoader::Global()->Shutdown().code(), absl::StatusCode::kFailedPrecondition);
    closer.join();
  });
  EXPECT_EQ(step.code(), absl::StatusCode::kCancelled);
}

TEST_P(HeldDoneTest, WhoIsWaitedForIsNamed) {
  ::testing::internal::CaptureStderr();
  StepThatIsEnded([this] { EXPECT_EQ(session->Close(), absl::OkStatus()); }).IgnoreError();
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, ::testing::HasSubstr("a step that is to end (the session was closed while the "
                                         "step ran) still waits for kernels:\n  node '"));
  EXPECT_THAT(text, ::testing::HasSubstr(", has not ended"));
}

INSTANTIATE_TEST_SUITE_P(Executors, HeldDoneTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) {
                           return std::string(info.param ? "Dynamic" : "Plan");
                         });

}  // namespace
}  // namespace millstream
