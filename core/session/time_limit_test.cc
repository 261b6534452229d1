// What a step was at when its time was over, on whatever threads: all of it is named.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/host/host_ctx.h"
#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "framework/held_time_limits_for_tests.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class TimeLimitTest : public SessionTest {
 protected:
  void StartWithCpus(int cpus, int inter_op_threads) {
    SessionOptions options;
    options.device_count["CPU"] = cpus;
    options.inter_op_threads = inter_op_threads;
    StartSession(options);
  }
  // A kernel that waits for `others` like it to have begun, and then only for the step's end. The
  // step's time is over when all have begun.
  Output Endless(BodyKind kind, int others, int cpu = 0) {
    build.set_device(absl::StrCat("/cpu:", cpu));
    const Output endless = AddBody(&build, kind, {}, [this, others](MS_Frame* frame) -> Status {
      if (++begun_ > others) held_.Release();
      while (begun_ <= others) std::this_thread::yield();
      while (true) MS_RETURN_IF_ERROR(CheckCancelled(frame));
    });
    build.set_device("");
    return endless;
  }
  std::string Named(const Output& output, int cpu, const std::string& what) {
    return absl::StrCat("\n  node '", output.node->name(), "' (op ", output.node->op().name,
                        "), on /job:localhost/replica:0/task:0/device:CPU:", cpu, ", ", what);
  }
  Status TooLate(const std::vector<Output>& fetches) {
    RunOptions options;
    options.timeout_ms = 20;
    return Run(fetches, {}, {}, options).status();
  }

  std::atomic<int> begun_{0};
  HeldTimeLimits held_;
};

// One of them is on the driver's thread, and either may be.
TEST_F(TimeLimitTest, NamesTheKernelsOfTwoPartsOnTwoThreads) {
  StartWithCpus(2, 2);
  const Output first = Endless(BodyKind::kPlain, 1, 0);
  const Output second = Endless(BodyKind::kPlain, 1, 1);
  const Status late = TooLate({first, second});
  const bool first_is_elsewhere = absl::StrContains(late.message(), Named(first, 0, "is running"));
  const std::string elsewhere =
      first_is_elsewhere ? Named(first, 0, "is running") : Named(second, 1, "is running");
  const Output& driven = first_is_elsewhere ? second : first;
  ExpectError(late, absl::StatusCode::kDeadlineExceeded,
              {"the step took longer than 20 ms", absl::StrCat("node '", driven.node->name(), "'"),
               elsewhere});
}

// The driver has nothing to do but to look at the clock.
TEST_F(TimeLimitTest, NamesTheKernelThatTheDriverWaitsFor) {
  StartWithCpus(1, 2);
  const Output late = Endless(BodyKind::kAsync, 0);
  ExpectError(TooLate({Op("Neg", {late})}), absl::StatusCode::kDeadlineExceeded,
              {"the step took longer than 20 ms", Named(late, 0, "has not ended")});
}

class OnEachExecutor : public TimeLimitTest, public ::testing::WithParamInterface<bool> {
 protected:
  std::vector<Output> With(std::vector<Output> fetches) {
    if (!GetParam()) return fetches;
    const Node* branch =
        build.NodeOf("Switch", {Constant(1.0f), build.Const(Tensor::Scalar(true))});
    fetches.push_back(build.Variadic("Merge", {{branch->output(0), branch->output(1)}})->output(0));
    return fetches;
  }
};

TEST_P(OnEachExecutor, NamesTheAsynchronousKernelOfAnotherPart) {
  StartWithCpus(2, 2);
  const Output driven = Endless(BodyKind::kPlain, 1, 0);
  const Output beside = Endless(BodyKind::kAsync, 1, 1);
  ExpectError(
      TooLate(With({driven, beside})), absl::StatusCode::kDeadlineExceeded,
      {absl::StrCat("node '", driven.node->name(), "'"), Named(beside, 1, "has not ended")});
}

INSTANTIATE_TEST_SUITE_P(Executors, OnEachExecutor, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) {
                           return std::string(info.param ? "Dynamic" : "Plan");
                         });

TEST_F(TimeLimitTest, NamesWhatBlocksAThreadBesideTheDriver) {
  StartWithCpus(1, 1);
  const Output beside = Endless(BodyKind::kBlocking, 1);
  const Output driven = Endless(BodyKind::kPlain, 1);
  ExpectError(
      TooLate({beside, driven}), absl::StatusCode::kDeadlineExceeded,
      {absl::StrCat("node '", driven.node->name(), "'"), Named(beside, 0, "has not ended")});
}

}  // namespace
}  // namespace millstream
