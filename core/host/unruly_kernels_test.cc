// Kernels that do what they should not: the step fails, and everything else goes on.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/host/host_ctx.h"
#include "core/step/float_control.h"
#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "core/testing/stderr_text.h"
#include "framework/plugin/host_tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

Status SetOutput(MS_Frame* frame, MS_Tensor* tensor) {
  return Taken(CtxApi()->set_output(frame, 0, tensor));
}

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

TEST_P(OnEachExecutor, AnOutputOfAnotherTypeIsRefused) {
  const Output y = AddBody(&build, BodyKind::kPlain, {}, [](MS_Frame* frame) {
    MS_Tensor bytes(Values<int8_t>({1, 2, 3, 4}));
    return SetOutput(frame, &bytes);
  });
  ExpectError(StepOf({y}), absl::StatusCode::kInvalidArgument,
              {"output 0 must be float", "gave int8", y.node->name()});
}

TEST_P(OnEachExecutor, AnOutputThatIsNoTensorIsRefused) {
  const Output y = AddBody(&build, BodyKind::kPlain, {},
                           [](MS_Frame* frame) { return SetOutput(frame, nullptr); });
  ExpectError(StepOf({y}), absl::StatusCode::kInvalidArgument, {"output 0 must be", "NULL"});
}

TEST_P(OnEachExecutor, AVariableKeepsItsTypeAndShape) {
  const Output w = Weights();
  // Each is given under the lock and refused.
  const std::vector<std::pair<Tensor, std::string>> wrong = {
      {Values<int8_t>({1, 2}), "int8[2]"}, {Values<float>({1, 2, 3}), "float32[3]"}, {{}, "NULL"}};
  for (const auto& [tensor, name] : wrong) {
    const Output y = AddBody(&build, BodyKind::kPlain, {w}, [value = tensor](MS_Frame* frame) {
      MS_LockSet* locks = nullptr;
      MS_RETURN_IF_ERROR(LockFirstInput(frame, &locks));
      MS_Tensor given(value);
      MS_Status* failed =
          ResourceApi()->var_replace(locks, 0, value.has_value() ? &given : nullptr);
      ResourceApi()->vars_unlock(locks);
      MS_RETURN_IF_ERROR(Taken(failed));
      return GiveScalar(frame, 1);
    });
    ExpectError(StepOf({y}), absl::StatusCode::kInvalidArgument,
                {"the value of variable 'w' must be float32[2]", name});
  }
  ExpectReadable(w);
}

TEST_P(OnEachExecutor, AVariableTakesAValueThatFits) {
  const Output w = Weights();
  const Output y = AddBody(&build, BodyKind::kPlain, {w}, [](MS_Frame* frame) {
    MS_LockSet* locks = nullptr;
    MS_RETURN_IF_ERROR(LockFirstInput(frame, &locks));
    MS_Tensor given(Values<float>({5, 6}));
    MS_Status* failed = ResourceApi()->var_replace(locks, 0, &given);
    ResourceApi()->vars_unlock(locks);
    MS_RETURN_IF_ERROR(Taken(failed));
    return GiveScalar(frame, 1);
  });
  ASSERT_EQ(StepOf({y}), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(Read(w))), ElementsAre(5, 6));
}

TEST_P(OnEachExecutor, AnEmptyLockSetThatIsForgottenHoldsNothing) {
  const Output w = Weights();
  const Output y = AddBody(&build, BodyKind::kPlain, {w}, [](MS_Frame* frame) {
    MS_LockSet* locks = nullptr;
    MS_RETURN_IF_ERROR(Taken(ResourceApi()->vars_lock(frame, nullptr, nullptr, 0, &locks)));
    MS_TensorView view{};
    EXPECT_EQ(Taken(ResourceApi()->var_view(locks, 0, &view)).code(),
              absl::StatusCode::kInvalidArgument);
    MS_RETURN_IF_ERROR(LockFirstInput(frame, &locks));
    ResourceApi()->vars_unlock(locks);
    return GiveScalar(frame, 1);
  });
  for (int step = 0; step < 2; ++step) EXPECT_EQ(StepOf({y}), absl::OkStatus());
  // Of a kernel without variables nobody looks for locks.
  const Output x = AddBody(&build, BodyKind::kPlain, {}, [](MS_Frame* frame) {
    MS_LockSet* locks = nullptr;
    MS_RETURN_IF_ERROR(Taken(ResourceApi()->vars_lock(frame, nullptr, nullptr, 0, &locks)));
    return GiveScalar(frame, 1);
  });
  for (int step = 0; step < 2; ++step) EXPECT_EQ(StepOf({x}), absl::OkStatus());
}

#if defined(__x86_64__)
// Flushes what is nearly zero, and rounds up.
Status LeaveAnotherFloatControl(MS_Frame* frame) {
  _mm_setcsr(_mm_getcsr() | 0x8000 | 0x4000);
  return GiveScalar(frame, 1);
}

TEST_P(OnEachExecutor, AnotherFloatingPointEnvironmentIsRestoredAndTheKernelNamedOnce) {
  const uint32_t before = FloatControl();
  build.set_scope(dynamic ? "dynamic" : "plan");  // a node is named once in a process
  const Output y = AddBody(&build, BodyKind::kPlain, {}, &LeaveAnotherFloatControl);
  const Output z = AddBody(&build, BodyKind::kBlocking, {}, &LeaveAnotherFloatControl);
  const std::string named =
      absl::StrCat("plugin kernel_bodies, kernel TestBody, node ", y.node->name(), " left another");
  StderrText written;
  // The first step finds that it was one of its kernels, those after it find which.
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(StepOf({y, z}), absl::OkStatus());
    EXPECT_EQ(FloatControl(), before);
  }
  ASSERT_TRUE(written.Await(named));
  ASSERT_EQ(write(STDERR_FILENO, "end\n", 4), 4);
  ASSERT_TRUE(written.Await("end\n"));
  EXPECT_EQ(written.text().find(named), written.text().rfind(named));
}
#endif

// Whatever thread asks for temporary memory gets some of its own, until the execution ends.
Status UseTemporaries(MS_Frame* frame, int32_t thread) {
  constexpr int kPieces = 6;
  constexpr int64_t kSize = 100;
  std::vector<int32_t*> pieces;
  for (int32_t i = 0; i < kPieces; ++i) {
    MS_TensorView view = {};
    MS_RETURN_IF_ERROR(Taken(
        CtxApi()->allocate_temp(frame, MS_INT32, MS_Dims{&kSize, 1, 0}, MS_SPACE_HOST, &view)));
    char* const place = static_cast<char*>(view.mem.base) + view.mem.offset;
    pieces.push_back(reinterpret_cast<int32_t*>(place));
    std::fill_n(pieces.back(), kSize, kPieces * thread + i);
  }
  for (int32_t i = 0; i < kPieces; ++i) {
    const bool is_own = std::all_of(pieces[i], pieces[i] + kSize,
                                    [&](int32_t number) { return number == kPieces * thread + i; });
    if (!is_own) return absl::InternalError("somebody else has the memory");
  }
  return absl::OkStatus();
}

TEST_P(OnEachExecutor, ThreadsOfAKernelGetTemporaryMemoryAtTheSameTime) {
  constexpr int kThreads = 8;
  const Output y = AddBody(&build, BodyKind::kPlain, {}, [](MS_Frame* frame) {
    std::vector<Status> statuses(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] { statuses[i] = UseTemporaries(frame, i); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& status : statuses) MS_RETURN_IF_ERROR(status);
    return GiveScalar(frame, 1);
  });
  for (int step = 0; step < 50; ++step) EXPECT_EQ(StepOf({y}), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(Executors, OnEachExecutor, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) {
                           return std::string(info.param ? "Dynamic" : "Plan");
                         });

}  // namespace
}  // namespace millstream
