// Sessions that look for NaN and infinities: what kernels do that no op of ours does.
#include "core/numerics/numeric_checks.h"

#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/host/host_ctx.h"
#include "core/resources/variable.h"
#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "framework/op_registry.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/shape_context.h"
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

// What is known of the bounds of a variable, as of a step.
class BoundsTest : public NumericChecksTest {
 protected:
  void SetUp() override {
    NumericChecksTest::SetUp();
    w_ = Weights();
    look_ = AddBody(&build, BodyKind::kPlain, {w_}, [this](MS_Frame* frame) {
      auto* const resource = static_cast<Resource*>(frame->inputs[0].mem.base);
      bounds_ = ResourceAs<millstream::Variable>(resource)->BoundsOfValue().bounds;
      return GiveScalar(frame, 0);
    });
  }
  // Adds `number` to each element.
  const Node* Addition(float number, const char* kernel = "") {
    return build.NodeOf("AssignAddVariableOp", {w_, Constant(Values<float>({number, number}))},
                        {{"_kernel", kernel}});
  }
  std::optional<NumericBounds> Bounds() {
    EXPECT_EQ(Execute({look_.node}), absl::OkStatus());
    return bounds_;
  }

  Output w_;

 private:
  Output look_;
  std::optional<NumericBounds> bounds_;
};

TEST_F(BoundsTest, AreSeenOnceAndThenFollowed) {
  const Node* const add = Addition(1);
  EXPECT_FALSE(Bounds().has_value());
  EXPECT_EQ(Execute({add}), absl::OkStatus());
  EXPECT_EQ(Bounds()->low, 2);  // which the values are
  EXPECT_EQ(Bounds()->high, 3);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Execute({add}), absl::OkStatus());
  EXPECT_NEAR(Bounds()->low, -13, 1e-3);  // nobody has looked
  EXPECT_NEAR(Bounds()->high, 13, 1e-3);
  EXPECT_THAT(Elements<float>(Value(Read(w_))), ElementsAre(12, 13));
  EXPECT_EQ(Execute({Assign(w_, Constant(Values<float>({5, 7})))}), absl::OkStatus());
  EXPECT_FALSE(Bounds().has_value());
}

TEST_F(BoundsTest, DoNotHideTheUpdateThatLeavesThem) {
  const Node* const add = Addition(1);
  const Node* const grow = Addition(3e38f);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Execute({add}), absl::OkStatus());
  EXPECT_EQ(Execute({grow}), absl::OkStatus());
  EXPECT_EQ(Bounds()->low, 3e38f);  // too large to be followed: looked at
  ExpectError(Execute({grow}), absl::StatusCode::kInvalidArgument,
              {"in the variable w: 2 infinities of 2", "(op AssignAddVariableOp)"});
  EXPECT_FALSE(Bounds().has_value());
}

TEST_F(BoundsTest, AnUpdateByWhatIsNotFiniteIsNotFollowed) {
  const Node* const add = Addition(1);
  const Node* const spoil = Addition(kInfinity);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Execute({add}), absl::OkStatus());
  EXPECT_EQ(Execute({spoil}), absl::OkStatus());  // an infinity that was meant
  EXPECT_FALSE(Bounds().has_value());
  ExpectError(Run({Read(w_)}).status(), absl::StatusCode::kInvalidArgument, {"2 infinities of 2"});
}

// Writes an infinity to the variable that is input 0, and as often as `user` says to input 1.
MS_Status* Spoil(void* user, MS_Frame* frame) {
  const int num_more = *static_cast<const int*>(user);
  const uint32_t inputs[] = {0, 1};
  const uint32_t modes[] = {MS_LOCK_WRITE, MS_LOCK_WRITE};
  MS_LockSet* locks = nullptr;
  MS_TensorView value = {};
  MS_Status* failed = ResourceApi()->vars_lock(frame, inputs, modes, num_more == 0 ? 1 : 2, &locks);
  for (int i = 0; failed == nullptr && i < num_more; ++i) {
    failed = ResourceApi()->var_prepare_write(locks, 1, &value);
  }
  if (failed == nullptr) failed = ResourceApi()->var_prepare_write(locks, 0, &value);
  if (failed != nullptr) return failed;
  static_cast<float*>(value.mem.base)[0] = kInfinity;
  ResourceApi()->vars_unlock(locks);
  return nullptr;
}

void RegisterSpoiling(const char* op, bool keeps_bounds, int num_more) {
  KernelRegistration kernel;
  kernel.op = op;
  kernel.device_type = kAnyDevice;
  kernel.label = "spoiling";
  kernel.plugin = "test";
  kernel.keeps_update_bounds = keeps_bounds;
  kernel.user = new int(num_more);  // lives as long as the registration
  kernel.create = [](void* user, const MS_KernelInfo*, void** state) -> MS_Status* {
    *state = user;
    return nullptr;
  };
  kernel.compute = &Spoil;
  ASSERT_EQ(KernelRegistry::Global()->Commit({kernel}), absl::OkStatus());
}

// One that bears the name of an op need not compute it.
TEST_F(BoundsTest, AKernelThatDeclaresNoBoundsIsAlwaysLookedAt) {
  RegisterSpoiling("AssignAddVariableOp", /*keeps_bounds=*/false, 0);
  const Node* const add = Addition(1);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Execute({add}), absl::OkStatus());
  ASSERT_TRUE(Bounds().has_value());
  ExpectError(Execute({Addition(1, "spoiling")}), absl::StatusCode::kInvalidArgument,
              {"in the variable w: 4 to 4, 1 infinity of 2"});
}

// Writes what is in variable 0.
MS_Status* WriteAgain(void*, MS_Frame* frame) {
  const uint32_t input = 0;
  const uint32_t mode = MS_LOCK_WRITE;
  MS_LockSet* locks = nullptr;
  MS_TensorView value = {};
  MS_Status* failed = ResourceApi()->vars_lock(frame, &input, &mode, 1, &locks);
  if (failed == nullptr) failed = ResourceApi()->var_prepare_write(locks, 0, &value);
  if (failed == nullptr) ResourceApi()->vars_unlock(locks);
  return failed;
}

KernelRegistration WritingKernel(const char* op) {
  KernelRegistration kernel;
  kernel.op = op;
  kernel.device_type = kAnyDevice;
  kernel.plugin = "test";
  kernel.keeps_update_bounds = true;
  kernel.create = [](void*, const MS_KernelInfo*, void**) -> MS_Status* { return nullptr; };
  kernel.compute = &WriteAgain;
  return kernel;
}

NumericBoundsList UpToAHundred(absl::Span<const NumericBounds>) {
  return {NumericBounds{-100, 100}};
}

MILLSTREAM_OP("TestBoundedUpdate")
    .Input("resource: resource")
    .Stateful()
    .UpdateBounds([](const AttrMap&) -> BoundsRule { return &UpToAHundred; })
    .Shape(NoOutputs)
    .Doc("Leaves no number above 100.");
MILLSTREAM_OP("TestUpdate")
    .Input("resource: resource")
    .Stateful()
    .Shape(NoOutputs)
    .Doc("Leaves any numbers.");

TEST_F(BoundsTest, AreThoseOfTheRuleThatTheOpDeclares) {
  ASSERT_EQ(KernelRegistry::Global()->Commit(
                {WritingKernel("TestBoundedUpdate"), WritingKernel("TestUpdate")}),
            absl::OkStatus());
  const auto high_after = [&](const char* op) {
    EXPECT_EQ(Execute({Assign(w_, Constant(Values<float>({1, 2})))}), absl::OkStatus());
    const Node* const update = build.NodeOf(op, {w_});
    for (int i = 0; i < 2; ++i) EXPECT_EQ(Execute({update}), absl::OkStatus());
    return Bounds().value_or(NumericBounds()).high;
  };
  EXPECT_EQ(high_after("TestUpdate"), 2) << "it was looked at";
  EXPECT_EQ(high_after("TestBoundedUpdate"), 100) << "nobody has looked";
}

// The bounds hold of what several steps made at once, or nobody claims to know any.
TEST_F(BoundsTest, HoldOfWhatStepsDoBesideEachOther) {
  const Node* const up = Addition(1);
  const Node* const down = Addition(-3);
  EXPECT_EQ(Execute({up}), absl::OkStatus());
  EXPECT_EQ(Execute({down}), absl::OkStatus());
  constexpr int kSteps = 500;
  const auto steps = [&](const Node* node) {
    for (int i = 0; i < kSteps; ++i) EXPECT_EQ(Execute({node}), absl::OkStatus());
  };
  std::thread first(steps, up);
  std::thread second(steps, down);
  first.join();
  second.join();
  const float sum = -1 - 2 * kSteps;
  EXPECT_THAT(Elements<float>(Value(Read(w_))), ElementsAre(sum, sum + 1));
  const std::optional<NumericBounds> bounds = Bounds();
  if (bounds) {
    EXPECT_LE(bounds->low, sum);
    EXPECT_GE(bounds->high, sum + 1);
  }
  EXPECT_EQ(Execute({up}), absl::OkStatus());
  EXPECT_TRUE(Bounds().has_value());
}

TEST_F(BoundsTest, AreFollowedThroughTheStepsOfOptimizers) {
  const Output gradient = Constant(Values<float>({1, 1}));
  const auto slot = [&](const char* name) {
    const Output handle = Variable(name, DataType::kFloat, {2});
    EXPECT_EQ(Execute({Assign(handle, Constant(Values<float>({1, 1})))}), absl::OkStatus());
    return handle;
  };
  const auto number = [&](float value) { return Constant(value); };
  const Output rate = number(0.01f);
  const Node* const steps[] = {
      build.NodeOf("ResourceApplyGradientDescent", {w_, rate, gradient}),
      build.NodeOf("ResourceApplyMomentum", {w_, slot("a"), rate, gradient, number(0.5f)}),
      build.NodeOf("ResourceApplyAdagrad", {w_, slot("b"), rate, gradient}),
      build.NodeOf("ResourceApplyAdam", {w_, slot("c"), slot("d"), number(0.5f), number(0.5f), rate,
                                         number(0.9f), number(0.999f), number(1e-3f), gradient})};
  for (const Node* const step : steps) {
    EXPECT_EQ(Execute({Assign(w_, Constant(Values<float>({1, 2})))}), absl::OkStatus());
    EXPECT_EQ(Execute({step}), absl::OkStatus());
    EXPECT_GT(Bounds()->low, 0) << step->op().name;  // which was seen
    EXPECT_EQ(Execute({step}), absl::OkStatus());
    EXPECT_LT(Bounds()->low, 0) << step->op().name;  // nobody has looked
  }
}

// Who else wrote a slot may have made of the variable what the bounds do not say: here a kernel
// that writes the slot twice, as if somebody had come between.
TEST_F(BoundsTest, AnUpdateBesideAnotherOneIsLookedAtInAllItsVariables) {
  RegisterSpoiling("ResourceApplyAdagrad", /*keeps_bounds=*/true, 2);
  const Output accum = Variable("accum", DataType::kFloat, {2});
  EXPECT_EQ(Execute({Assign(accum, Constant(Values<float>({1, 1})))}), absl::OkStatus());
  const Output gradient = Constant(Values<float>({1, 1}));
  const auto update = [&](const char* kernel) {
    return build.NodeOf("ResourceApplyAdagrad", {w_, accum, Constant(0.5f), gradient},
                        {{"_kernel", kernel}});
  };
  const Node* const step = update("");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Execute({step}), absl::OkStatus());
  ASSERT_TRUE(Bounds().has_value());
  ExpectError(Execute({update("spoiling")}), absl::StatusCode::kInvalidArgument,
              {"in the variable w: ", "1 infinity of 2"});
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
