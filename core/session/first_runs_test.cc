// Steps that run for the first time: what is compiled by which thread, and what goes on meanwhile.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "core/session/session.h"
#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "framework/op_registry.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/shape_context.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Each;

// After so long in which a step stood still, it asks the front end.
constexpr auto kUntilDue = std::chrono::milliseconds(80);

constexpr int kThreads = 4;

// Registers a kernel of a test.
bool Commit(KernelRegistration kernel) {
  kernel.device_type = kAnyDevice;
  kernel.plugin = "test";
  EXPECT_EQ(KernelRegistry::Global()->Commit({kernel}), absl::OkStatus());
  return true;
}

// A kernel whose making, within the compilation of a step, takes as long as the test wants.
struct HeldWhileMade {
  static inline absl::Notification begun;
  static inline absl::Notification may_end;

  static MS_Status* Create(void*, const MS_KernelInfo*, void**) {
    begun.Notify();
    EXPECT_TRUE(Eventually(may_end)) << "steps of another thread wait for the compilation";
    return nullptr;
  }
  static void Register() {
    KernelRegistration kernel;
    kernel.op = "TestHeldWhileMade";
    kernel.create = &Create;
    kernel.compute = [](void*, MS_Frame*) -> MS_Status* { return nullptr; };
    Commit(kernel);
  }
};
MILLSTREAM_OP("TestHeldWhileMade").Output("y: float").Stateful().Shape(ScalarShape).Doc("Is held.");

// A kernel without state, which a compilation may run: it takes so long that the front end is due.
struct StandsStill {
  static MS_Status* Compute(void*, MS_Frame* frame) {
    std::this_thread::sleep_for(kUntilDue);
    *static_cast<float*>(frame->outputs[0].mem.base) = 7;
    return nullptr;
  }
  static void Register() {
    KernelRegistration kernel;
    kernel.op = "TestStandsStill";
    kernel.compute = &Compute;
    Commit(kernel);
  }
};
MILLSTREAM_OP("TestStandsStill")
    .Input("x: float")
    .Output("y: float")
    .Shape(ScalarShape)
    .Doc("Stands still for a while.");

// A kernel without state that a compilation runs, as its input is a constant: it counts, and calls
// what the test wants.
struct CountsCompilations {
  static inline std::atomic<int> count{0};
  static inline std::function<void()> during;

  static MS_Status* Compute(void*, MS_Frame* frame) {
    ++count;
    during();
    *static_cast<float*>(frame->outputs[0].mem.base) = 7;
    return nullptr;
  }
  static void Register() {
    static const bool is_registered = [] {
      KernelRegistration kernel;
      kernel.op = "TestCountsCompilations";
      kernel.compute = &Compute;
      return Commit(kernel);
    }();
    EXPECT_TRUE(is_registered);
    count = 0;
    during = [] {};
  }
};
MILLSTREAM_OP("TestCountsCompilations")
    .Input("x: float")
    .Output("y: float")
    .Shape(ScalarShape)
    .Doc("Counts its executions.");

// A kernel with state: it counts how often its state is made, and calls what the test wants.
struct CountsKernels {
  static inline std::atomic<int> count{0};
  static inline std::function<void()> during;

  static MS_Status* Create(void*, const MS_KernelInfo*, void**) {
    ++count;
    during();
    return nullptr;
  }
  static MS_Status* Compute(void*, MS_Frame* frame) {
    *static_cast<float*>(frame->outputs[0].mem.base) = 5;
    return nullptr;
  }
  static void Register() {
    static const bool is_registered = [] {
      KernelRegistration kernel;
      kernel.op = "TestCountsKernels";
      kernel.create = &Create;
      kernel.compute = &Compute;
      return Commit(kernel);
    }();
    EXPECT_TRUE(is_registered);
    count = 0;
    during = [] {};
  }
};
MILLSTREAM_OP("TestCountsKernels")
    .Output("y: float")
    .Stateful()
    .Shape(ScalarShape)
    .Doc("Counts how often it is made.");

// A kernel that blocks, so that it is made before the step counts as compiled. Meanwhile it calls
// what the test wants.
struct CallsWhileMade {
  static inline std::function<void()> during;

  static MS_Status* Create(void*, const MS_KernelInfo*, void**) {
    during();
    return nullptr;
  }
  static MS_Status* Compute(void*, MS_Frame* frame) {
    EXPECT_EQ(GiveScalar(frame, 5), absl::OkStatus());
    return nullptr;
  }
  static void Register() {
    KernelRegistration kernel;
    kernel.op = "TestCallsWhileMade";
    kernel.flags = MS_KERNEL_BLOCKING;
    kernel.create = &Create;
    kernel.compute = &Compute;
    Commit(kernel);
  }
};
MILLSTREAM_OP("TestCallsWhileMade")
    .Output("y: float")
    .Stateful()
    .Shape(ScalarShape)
    .Doc("Calls back while it is made.");

class FirstRunsTest : public SessionTest {
 protected:
  // Registers before the session begins.
  FirstRunsTest() {
    CountsCompilations::Register();
    CountsKernels::Register();
  }

  // Computed once in each compilation: its inputs are constants.
  Output Counted() { return Op("TestCountsCompilations", {Constant(Values<float>({0}))}); }
};

TEST_F(FirstRunsTest, ThreadsThatRunAStepForTheFirstTimeCompileItOnce) {
  const Output x = Placeholder("x", DataType::kFloat, {-1});
  const Output y = Op("AddV2", {x, Op("Neg", {Counted()})});
  StartSession();
  std::atomic<int> running{0};
  CountsCompilations::during = [&] {
    EXPECT_TRUE(Eventually([&] { return running == kThreads; }));
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      ++running;
      EXPECT_THAT(Elements<float>(Value(y, {{x, Values<float>({1, 1})}})), Each(-6));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(CountsCompilations::count, 1);
}

TEST_F(FirstRunsTest, StepsThatShareANodeMakeItsKernelOnce) {
  const Output node = Op("TestCountsKernels", {});
  const Output negated = Op("Neg", {node});
  const Output squared = Op("Square", {node});
  StartSession();
  std::atomic<int> running{0};
  CountsKernels::during = [&] { EXPECT_TRUE(Eventually([&] { return running == 2; })); };
  std::thread other([&] {
    ++running;
    EXPECT_THAT(Elements<float>(Value(negated)), Each(-5));
  });
  ++running;
  EXPECT_THAT(Elements<float>(Value(squared)), Each(25));
  other.join();
  EXPECT_EQ(CountsKernels::count, 1);
}

TEST_F(FirstRunsTest, StepsAreCompiledWhileAKernelIsMade) {
  const Output held = Op("TestCountsKernels", {});
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Scalar());
  const Output y = Op("Neg", {x});
  StartSession();
  CountsKernels::during = [&] {
    std::thread other([&] {
      EXPECT_THAT(Elements<float>(Value(y, {{x, Tensor::Scalar<float>(2)}})), Each(-2));
    });
    other.join();
  };
  EXPECT_THAT(Elements<float>(Value(held)), Each(5));
  EXPECT_EQ(CountsKernels::count, 1);
}

// The error is that of the step that compiled, and of no other.
TEST_F(FirstRunsTest, AStepThatIsCancelledWhileItCompilesFailsNoOther) {
  const Output y = Op("Neg", {Counted()});
  StartSession();
  Cancellation cancellation;
  std::atomic<bool> has_begun{false};
  std::atomic<bool> is_other_there{false};
  CountsCompilations::during = [&] {
    if (has_begun.exchange(true)) return;
    EXPECT_TRUE(Eventually([&] { return is_other_there.load(); }));
    cancellation.Cancel();
  };
  Status cancelled;
  std::thread first([&] {
    RunOptions options;
    options.cancellation = &cancellation;
    cancelled = Run({y}, {}, {}, options).status();
  });
  EXPECT_TRUE(Eventually([&] { return has_begun.load(); }));
  std::thread second([&] {
    is_other_there = true;
    EXPECT_THAT(Elements<float>(Value(y)), Each(-7));
  });
  first.join();
  second.join();
  EXPECT_EQ(cancelled.code(), absl::StatusCode::kCancelled) << cancelled;
}

// What may stop a step may stop it while it waits for another thread's compilation.
TEST_F(FirstRunsTest, AStepThatWaitsForACompilationIsCancelled) {
  const Output y = Op("Neg", {Counted()});
  StartSession();
  Cancellation cancellation;
  cancellation.Cancel();
  RunOptions options;
  options.cancellation = &cancellation;
  std::thread waiting;
  Status cancelled;
  absl::Notification has_ended;
  CountsCompilations::during = [&] {
    waiting = std::thread([&] {
      cancelled = Run({y}, {}, {}, options).status();
      has_ended.Notify();
    });
    EXPECT_TRUE(Eventually(has_ended));
  };
  EXPECT_THAT(Elements<float>(Value(y)), Each(-7));
  waiting.join();
  EXPECT_EQ(cancelled.code(), absl::StatusCode::kCancelled) << cancelled;
  EXPECT_EQ(CountsCompilations::count, 1);
}

// A signature names nodes, and a node that has run does not change.
TEST_F(FirstRunsTest, AGraphThatGrowsLeavesItsCompiledSteps) {
  const Output y = Op("Neg", {Counted()});
  EXPECT_THAT(Elements<float>(Value(y)), Each(-7));
  const Output z = Op("Square", {y});
  EXPECT_THAT(Elements<float>(Value(z)), Each(49));
  EXPECT_EQ(CountsCompilations::count, 2) << "another step has constants of its own";
  EXPECT_THAT(Elements<float>(Value(y)), Each(-7));
  EXPECT_THAT(Elements<float>(Value(z)), Each(49));
  EXPECT_EQ(CountsCompilations::count, 2);
  ExpectError(graph.AddControlInput(y.node, Op("Neg", {Constant(1.0f)}).node),
              absl::StatusCode::kFailedPrecondition, {"has run"});
  ExpectError(graph.SetDevice(y.node, "/cpu:0"), absl::StatusCode::kFailedPrecondition,
              {"has run"});
}

TEST_F(FirstRunsTest, ANodeMayChangeUntilItRuns) {
  const Output w = Variable("w", DataType::kFloat, PartialShape::Scalar());
  const Node* const assign = Assign(w, Constant(3.0f));
  const Output late = Read(w);
  const Output other = Op("Neg", {Constant(1.0f)});
  EXPECT_THAT(Elements<float>(Value(other)), Each(-1)) << "a step of other nodes";
  ASSERT_EQ(graph.AddControlInput(late.node, assign), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(late)), Each(3));
}

// The compilation has looked at the node when the change comes.
TEST_F(FirstRunsTest, AChangeWhileTheStepIsCompiledCounts) {
  CallsWhileMade::Register();
  const Output w = Variable("w", DataType::kFloat, PartialShape::Scalar());
  const Node* const assign = Assign(w, Constant(3.0f));
  const Output late = Read(w);
  const Output made = Op("TestCallsWhileMade", {});
  CallsWhileMade::during = [&] {
    EXPECT_EQ(graph.AddControlInput(late.node, assign), absl::OkStatus());
  };
  const StatusOr<std::vector<Tensor>> results = Run({late, made});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(*(*results)[0].data<float>(), 3);
  EXPECT_EQ(*(*results)[1].data<float>(), 5);
  ExpectError(graph.SetDevice(late.node, "/cpu:0"), absl::StatusCode::kFailedPrecondition,
              {"has run"});
}

TEST_F(FirstRunsTest, AStepThatWasTrimmedIsCompiledAgain) {
  const Output y = Op("Neg", {Counted()});
  EXPECT_THAT(Elements<float>(Value(y)), Each(-7));
  ASSERT_EQ(session->Trim(), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(y)), Each(-7));
  EXPECT_EQ(CountsCompilations::count, 2);
}

TEST_F(FirstRunsTest, StepsGoOnWhileAnotherSignatureIsCompiled) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Scalar());
  const Output small = Op("Neg", {x});
  const Output held = Op("TestHeldWhileMade", {});
  Value(small, {{x, Tensor::Scalar<float>(1)}});
  HeldWhileMade::Register();
  std::thread compiler([&] { EXPECT_TRUE(Run({held}).ok()); });
  EXPECT_TRUE(Eventually(HeldWhileMade::begun));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(*Value(small, {{x, Tensor::Scalar<float>(2)}}).data<float>(), -2);
  }
  HeldWhileMade::may_end.Notify();
  compiler.join();
}

// What a handler of a signal does, for example. The compilation computes constants, of which one
// stands still until the front end is due.
TEST_F(FirstRunsTest, TheFrontEndMayRunTheStepThatIsBeingCompiled) {
  StandsStill::Register();
  std::atomic<int> ran = 0;
  const Output runs = AddBody(&build, BodyKind::kPlain, {}, [&ran](MS_Frame* frame) {
    ++ran;
    return GiveScalar(frame, 1);
  });
  const Output still = Op("TestStandsStill", {Constant(Values<float>({0}))});
  struct Asked {
    Session* session;
    Output fetch;
    std::atomic<int>* ran;
    int ran_before;
    Tensor value;
  } asked{nullptr, Op("AddV2", {runs, Op("Neg", {still})}), &ran, -1, {}};
  StartSession();
  asked.session = session.get();
  RunOptions options;
  options.should_stop_argument = &asked;
  options.should_stop = [](void* argument) {
    auto* const self = static_cast<Asked*>(argument);
    if (self->ran_before >= 0) return false;  // once
    self->ran_before = *self->ran;
    EXPECT_EQ(self->session->Run({{}, {self->fetch}, {}}, {}, absl::MakeSpan(&self->value, 1),
                                 RunOptions()),
              absl::OkStatus());
    return false;
  };
  const StatusOr<std::vector<Tensor>> results = Run({asked.fetch}, {}, {}, options);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(asked.ran_before, 0) << "the front end was not asked, or not while it was compiled";
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(*(*results)[0].data<float>(), -6);
  ASSERT_EQ(asked.value.dtype(), DataType::kFloat);
  EXPECT_EQ(*asked.value.data<float>(), -6);
}

// The compilation goes on after the question, and another thread's step goes on waiting for it.
TEST_F(FirstRunsTest, AStepWhoseFrontEndIsAskedIsCompiledOnce) {
  StandsStill::Register();
  const Output still = Op("TestStandsStill", {Constant(Values<float>({0}))});
  const Output y = Op("Neg", {Op("TestCountsCompilations", {still})});
  StartSession();
  struct Asked {
    static bool Note(void* argument) {
      static_cast<Asked*>(argument)->is_asked = true;
      return false;
    }
    RunOptions Options() {
      RunOptions options;
      options.should_stop = &Note;
      options.should_stop_argument = this;
      return options;
    }
    std::atomic<bool> is_asked{false};
  } first;
  Asked second;
  const auto run = [&](Asked* asked) {
    const StatusOr<std::vector<Tensor>> results = Run({y}, {}, {}, asked->Options());
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ(*(*results)[0].data<float>(), -7);
  };
  std::thread other;
  CountsCompilations::during = [&] {
    if (CountsCompilations::count > 1) return;
    EXPECT_TRUE(first.is_asked) << "the front end was not asked before";
    other = std::thread([&] { run(&second); });
    EXPECT_TRUE(Eventually([&] { return second.is_asked.load(); }));
  };
  run(&first);
  other.join();
  EXPECT_EQ(CountsCompilations::count, 1);
}

}  // namespace
}  // namespace millstream
