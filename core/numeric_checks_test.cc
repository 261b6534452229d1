// Sessions that look for NaN and infinities: what kernels do that no op of ours does.
#include "core/numeric_checks.h"

#include <limits>
#include <string>
#include <vector>

#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class NumericChecksTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionOptions options;
    options.check_numerics = true;
    StartSession(options);
  }

  // The error of a step. `dynamic`: fetching a Merge as well takes all of it to that executor.
  Status StepOf(const Output& fetch, bool dynamic) {
    std::vector<Output> fetches = {fetch};
    if (dynamic) {
      const Node* branch =
          build.NodeOf("Switch", {Constant(1.0f), build.Const(Tensor::Scalar(true))});
      fetches.push_back(
          build.Variadic("Merge", {{branch->output(0), branch->output(1)}})->output(0));
    }
    return Run(fetches).status();
  }
  Output Weights() {
    const Output handle = Variable("w", DataType::kFloat, {2});
    EXPECT_EQ(Execute({Assign(handle, Constant(Values<float>({1, 2})))}), absl::OkStatus());
    return handle;
  }
};

class OnEachExecutor : public NumericChecksTest, public ::testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(Executor, OnEachExecutor, ::testing::Bool(),
                         [](const auto& run) { return run.param ? "Dynamic" : "Plan"; });

TEST_P(OnEachExecutor, AKernelThatEndsByItselfIsLookedAtOnceItHas) {
  const Output y = AddBody(&build, BodyKind::kAsync, {Constant(1.0f)},
                           [](MS_Frame* frame) { return GiveScalar(frame, kInfinity); });
  ExpectError(
      StepOf(Op("Exp", {y}), GetParam()), absl::StatusCode::kInvalidArgument,
      {"not finite, in output 0: 1 infinity of 1", "(op TestAsyncBody)", "ranges: inputs 1"});
  const Output finite = AddBody(&build, BodyKind::kAsync, {Constant(1.0f)},
                                [](MS_Frame* frame) { return GiveScalar(frame, 3); });
  EXPECT_EQ(StepOf(finite, GetParam()), absl::OkStatus());
}

TEST_P(OnEachExecutor, AKernelThatForgetsItsLockIsFoundAndNotWaitedFor) {
  const Output w = Weights();
  const Output y = AddBody(&build, BodyKind::kPlain, {w}, [](MS_Frame* frame) {
    MS_LockSet* locks = nullptr;
    MS_RETURN_IF_ERROR(LockFirstInput(frame, &locks));
    return GiveScalar(frame, 1);
  });
  ExpectError(StepOf(y, GetParam()), absl::StatusCode::kInternal, {"left variables locked"});
  EXPECT_THAT(Elements<float>(Value(Read(w))), ElementsAre(1, 2));
}

TEST_P(OnEachExecutor, AVariableThatWasFiniteIsLookedAtAgainOnceItWasWritten) {
  const Output w = Weights();
  const Output read = Read(w);
  const Node* const spoil = Assign(w, Constant(Values<float>({1, kInfinity})));
  const Node* const mend = Assign(w, Constant(Values<float>({1, 2})));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(StepOf(read, GetParam()), absl::OkStatus());
    EXPECT_EQ(StepOf(read, GetParam()), absl::OkStatus());
    EXPECT_EQ(Execute({spoil}), absl::OkStatus());  // of an infinity that was meant
    ExpectError(StepOf(read, GetParam()), absl::StatusCode::kInvalidArgument,
                {"in output 0: 1 to 1, 1 infinity of 2", "(op ReadVariableOp)"});
    EXPECT_EQ(Execute({mend}), absl::OkStatus());
  }
}

// A kernel may leave what is in its memory as it is.
TEST_P(OnEachExecutor, AnOutputThatNobodyUsesIsNotLookedAt) {
  const Output unused = AddBody(&build, BodyKind::kPlain, {},
                                [](MS_Frame* frame) { return GiveScalar(frame, kInfinity); });
  build.set_control_inputs({unused.node});
  const Output after = Op("Exp", {Constant(1.0f)});
  build.set_control_inputs({});
  EXPECT_EQ(StepOf(after, GetParam()), absl::OkStatus());
  EXPECT_FALSE(StepOf(unused, GetParam()).ok());
}

TEST_F(NumericChecksTest, EveryReadOfAVariableGetsWhatWasFound) {
  const Output w = Weights();
  // Both reads share the memory of the one value.
  const Output sum = Op("Add", {Read(w), Read(w)});
  EXPECT_THAT(Elements<float>(Value(sum)), ElementsAre(2, 4));
  const Node* const grow =
      build.NodeOf("AssignAddVariableOp", {w, Constant(Values<float>({3e38f, 0}))});
  EXPECT_EQ(Execute({grow}), absl::OkStatus());
  ExpectError(Execute({grow}), absl::StatusCode::kInvalidArgument,
              {"in the variable w: 2 to 2, 1 infinity of 2"});
  ExpectError(Run({sum}).status(), absl::StatusCode::kInvalidArgument, {"(op ReadVariableOp)"});
}

// Of large tensors every thread looks at a part.
TEST(NumericChecksThreadsTest, TheErrorIsTheSameForAnyNumberOfThreads) {
  struct Threaded : NumericChecksTest {
    void TestBody() override {}
    std::string Message(int threads) {
      SessionOptions options;
      options.check_numerics = true;
      options.intra_op_threads = threads;
      StartSession(options);
      const Output x = Placeholder("x", DataType::kFloat);
      Tensor value = *Tensor::Create(DataType::kFloat, Shape({1 << 20}));
      for (int i = 0; i < 1 << 20; ++i) value.data<float>()[i] = static_cast<float>(i % 100 + 1);
      const Output y = Op("Log", {x});
      EXPECT_EQ(Run({y}, {{x, value}}).status(), absl::OkStatus());
      value.data<float>()[1000] = -1;
      value.data<float>()[(1 << 20) - 1] = 0;
      return std::string(Run({y}, {{x, value}}).status().message());
    }
  };
  const std::string message = Threaded().Message(1);
  EXPECT_THAT(message, ::testing::HasSubstr("1 NaN, 1 infinity of 1048576"));
  EXPECT_EQ(Threaded().Message(2), message);
  EXPECT_EQ(Threaded().Message(3), message);
}

}  // namespace
}  // namespace millstream
