// Kernels that do what they should not: the step fails, and everything else goes on.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "core/host_ctx.h"
#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "framework/plugin/host_tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

class UnrulyKernelsTest : public SessionTest {
 protected:
  void SetUp() override { StartSession(); }

  // Fetching a Merge as well takes the whole step to the dynamic executor.
  Status StepOf(const std::vector<Output>& fetches, const RunOptions& options = RunOptions()) {
    std::vector<Output> all = fetches;
    if (dynamic) {
      const Node* branch =
          build.NodeOf("Switch", {Constant(1.0f), build.Const(Tensor::Scalar(true))});
      all.push_back(build.Variadic("Merge", {{branch->output(0), branch->output(1)}})->output(0));
    }
    return Run(all, {}, {}, options).status();
  }
  Output Weights() {
    const Output handle = Variable("w", DataType::kFloat, {2});
    EXPECT_EQ(Execute({Assign(handle, Constant(Values<float>({1, 2})))}), absl::OkStatus());
    return handle;
  }
  // A gate that nobody frees would hold this for ever.
  void ExpectReadable(const Output& handle) {
    EXPECT_THAT(Elements<float>(Value(Read(handle))), ElementsAre(1, 2));
  }

  bool dynamic = false;
};

class OnEachExecutor : public UnrulyKernelsTest, public ::testing::WithParamInterface<bool> {
 protected:
  OnEachExecutor() { dynamic = GetParam(); }
};

TEST_P(OnEachExecutor, AnAsynchronousKernelThatFailsLeavesNoVariableLocked) {
  const Output w = Weights();
  const Output y = AddBody(&build, BodyKind::kAsync, {w}, [](MS_Frame* frame) {
    MS_LockSet* locks = nullptr;
    MS_RETURN_IF_ERROR(LockFirstInput(frame, &locks));
    return absl::AbortedError("with the lock held");
  });
  ExpectError(StepOf({y}), absl::StatusCode::kAborted, {"with the lock held"});
  ExpectReadable(w);
}

TEST_P(OnEachExecutor, AnAsynchronousKernelThatForgetsItsLockIsFound) {
  const Output w = Weights();
  const Output y = AddBody(&build, BodyKind::kAsync, {w}, [](MS_Frame* frame) {
    MS_LockSet* locks = nullptr;
    MS_RETURN_IF_ERROR(LockFirstInput(frame, &locks));
    return GiveScalar(frame, 1);
  });
  ExpectError(StepOf({y}), absl::StatusCode::kInternal, {"left variables locked"});
  ExpectReadable(w);
}

TEST_F(UnrulyKernelsTest, AStepThatStopsLeavesNoVariableLocked) {
  dynamic = true;
  const Output w = Weights();
  std::atomic<bool> locked{false};
  const Output late = AddBody(&build, BodyKind::kAsync, {w}, [&](MS_Frame* frame) {
    MS_LockSet* locks = nullptr;
    MS_RETURN_IF_ERROR(LockFirstInput(frame, &locks));
    locked = true;
    while (CheckCancelled(frame).ok()) std::this_thread::yield();
    return GiveScalar(frame, 1);
  });
  // It fails while the other holds the lock.
  const Output fails = AddBody(&build, BodyKind::kAsync, {}, [&](MS_Frame*) {
    while (!locked) std::this_thread::yield();
    return absl::AbortedError("first");
  });
  ExpectError(StepOf({late, fails}), absl::StatusCode::kAborted, {"first"});
  ExpectReadable(w);
}

INSTANTIATE_TEST_SUITE_P(Executors, OnEachExecutor, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) {
                           return std::string(info.param ? "Dynamic" : "Plan");
                         });

}  // namespace
}  // namespace millstream
