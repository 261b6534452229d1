// What kernels of plugins can do while they run, through the C++ layer and both executors.
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/host/host_ctx.h"
#include "core/step/run_metadata.h"
#include "core/testing/session_fixture.h"
#include "framework/held_time_limits_for_tests.h"
#include "framework/op_registry.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/plugin_entry.hpp"
#include "framework/plugin/plugin_execution.hpp"
#include "framework/plugin/plugin_resource.hpp"
#include "framework/plugin/plugin_tensor.hpp"
#include "framework/plugin/registrar.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Nobody waits longer for what must come.

// What the kernels do; set by each test.
std::function<ms::Status(ms::Frame&)> call;

struct Call {
  ms::Status Compute(ms::Frame& frame) const {
    MS_TRY(call(frame));
    for (uint32_t i = 0; i < frame.num_outputs(); ++i) {
      ms::View y;
      MS_TRY(frame.Output(i, {}, &y));
      std::memset(y.raw(), 0, y.bytes());
    }
    return ms::Status();
  }
};

// Counts those that live.
struct Box {
  static constexpr char kTypeName[] = "Test.Box";
  static std::atomic<int> living;
  explicit Box(int content) : value(content) { ++living; }
  ~Box() { --living; }
  int value;
};
std::atomic<int> Box::living{0};
// Nobody registered it.
struct Other {
  static constexpr char kTypeName[] = "Test.Other";
};

ms::Status Scalars(ms::ShapeContext& context) {
  for (uint32_t i = 0; i < context.num_outputs(); ++i) MS_TRY(context.SetOutputDims(i, {}));
  return ms::Status();
}

ms::Status RegisterAll(MS_Registrar* registrar) {
  for (const char* name : {"TestCall", "TestCallBeside"}) {
    MS_TRY(ms::OpDefinition(name)
               .Input("xs: N * float")
               .Input("last: float")
               .Output("y: float")
               .Output("total: double")
               .Attr("N: int >= 1")
               .Flags(MS_OP_STATEFUL)
               .Shape(&Scalars)
               .RegisterWith(registrar));
  }
  MS_TRY(ms::OpDefinition("TestCallHandle")
             .Input("handle: resource")
             .Output("y: float")
             .Flags(MS_OP_STATEFUL)
             .Shape(&Scalars)
             .RegisterWith(registrar));
  MS_TRY(ms::KernelEntry::Of<Call>("TestCall", ms::KernelOptions()).RegisterWith(registrar));
  MS_TRY(ms::KernelEntry::Of<Call>("TestCallHandle", ms::KernelOptions()).RegisterWith(registrar));
  MS_TRY(ms::KernelEntry::Of<Call>("TestCallBeside", ms::KernelOptions().Flags(MS_KERNEL_BLOCKING))
             .RegisterWith(registrar));
  return ms::RegisterResourceType<Box>(registrar);
}

enum class Executor { kPlan, kDynamic };

class PluginKernelsTest : public SessionTest, public ::testing::WithParamInterface<Executor> {
 protected:
  static void SetUpTestSuite() {
    static bool done = false;
    if (std::exchange(done, true)) return;
    ASSERT_TRUE(RegisterRuntimeInterfaces().ok());
    ASSERT_TRUE(ms::BindHost(HostBase()).ok());
    MS_Registrar registrar("test", OpRegistry::Global());
    const ms::Status registered = RegisterAll(&registrar);
    ASSERT_TRUE(registered.ok()) << registered.message();
    ASSERT_TRUE(
        CommitRegistrations(&registrar, OpRegistry::Global(), KernelRegistry::Global(), nullptr)
            .ok());
  }
  ~PluginKernelsTest() override { call = nullptr; }

  // Two inputs and one, behind a Switch where the dynamic executor shall run the step.
  Output CallNode(const char* op = "TestCall") {
    Output x = Placeholder(graph.UniqueName("x"), DataType::kFloat, PartialShape({2}));
    feeds_ = {{x, Values<float>({3, 4})}};
    if (GetParam() == Executor::kDynamic) {
      const Output way =
          Placeholder(graph.UniqueName("way"), DataType::kBool, PartialShape::Scalar());
      feeds_.push_back({way, Tensor::Scalar<bool>(true)});
      x = Output{build.NodeOf("Switch", {x, way}), 1};
    }
    const Output twice = Op("Add", {x, x});
    const Node* const node = build.Variadic(op, {{x, twice}, {Op("Neg", {x})}});
    EXPECT_TRUE(build.ok()) << build.status();
    return node->output(0);
  }
  Status RunCall(const char* op = "TestCall", const RunOptions& options = RunOptions()) {
    if (!node_) node_ = CallNode(op);
    return Run({node_}, feeds_, {}, options).status();
  }
  // Of two calls, one after the other. The second releases `held`.
  void ExpectTimeLimitNamesSecondCall() {
    const Output first = CallNode();
    node_ = build.Variadic("TestCall", {{first}, {first}})->output(0);
    RunOptions options;
    options.timeout_ms = 20;
    ExpectError(RunCall("TestCall", options), absl::StatusCode::kDeadlineExceeded,
                {"the step took longer than 20 ms\n  node '" + node_.node->name() + "'"});
  }

  Output node_;
  std::vector<Feed> feeds_;
};

TEST_P(PluginKernelsTest, AskAboutNodeAndStep) {
  std::vector<uint64_t> steps;
  call = [&](ms::Frame& frame) -> ms::Status {
    uint32_t begin = 9, end = 9;
    MS_TRY(ms::InputList(frame, "xs", &begin, &end));
    EXPECT_EQ(begin, 0u);
    EXPECT_EQ(end, 2u);
    MS_TRY(ms::InputList(frame, "last", &begin, &end));
    EXPECT_EQ(begin, 2u);
    EXPECT_EQ(end, 3u);
    MS_TRY(ms::OutputList(frame, "total", &begin, &end));
    EXPECT_EQ(begin, 1u);
    EXPECT_EQ(end, 2u);
    EXPECT_EQ(ms::host_tables.ctx->expected_output_dtype(frame.raw(), 1), MS_FLOAT64);
    EXPECT_EQ(ms::host_tables.ctx->expected_output_dtype(frame.raw(), 2), 0u);
    steps.push_back(ms::host_tables.ctx->step_id(frame.raw()));
    return steps.size() < 2 ? ms::Status() : ms::InputList(frame, "ys", &begin, &end);
  };
  ASSERT_TRUE(RunCall().ok());
  EXPECT_THAT(std::string(RunCall().message()), HasSubstr("op TestCall has no argument \"ys\""));
  EXPECT_NE(steps.at(0), steps.at(1));
}

TEST_P(PluginKernelsTest, KeepInputsBeyondTheStep) {
  std::vector<ms::Tensor> kept;
  call = [&](ms::Frame& frame) -> ms::Status {
    for (uint32_t i = 0; i < frame.num_inputs(); ++i) {
      MS_TRY(ms::Tensor::OfInput(frame, i, &kept.emplace_back()));
    }
    return ms::Tensor::OfInput(frame, 3, &kept[0]);
  };
  EXPECT_THAT(std::string(RunCall().message()), HasSubstr("kernel asked for input 3 of 3"));
  const Status overwritten = [&] {
    call = [](ms::Frame&) { return ms::Status(); };
    feeds_[0].value = Values<float>({-1, -1});
    return RunCall();
  }();
  ASSERT_TRUE(overwritten.ok()) << overwritten;
  const auto floats = [](const ms::Tensor& tensor) {
    const ms::View view = tensor.view();
    return std::vector<float>(view.data<float>(), view.data<float>() + view.size());
  };
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_THAT(floats(kept[0]), ElementsAre(3, 4));
  EXPECT_THAT(floats(kept[1]), ElementsAre(6, 8));
  EXPECT_THAT(floats(kept[2]), ElementsAre(-3, -4));
}

TEST_P(PluginKernelsTest, AreToldOfACancellationWhileTheyWait) {
  Cancellation cancellation;
  absl::Notification waiting;
  bool was_told = false;
  call = [&](ms::Frame& frame) -> ms::Status {
    absl::Notification told;
    ms::CancelCallback callback;
    MS_TRY(callback.Register(frame, [&] { told.Notify(); }));
    waiting.Notify();
    was_told = Eventually(told);
    return frame.CheckCancelled();
  };
  std::thread canceller([&] {
    waiting.WaitForNotification();
    cancellation.Cancel();
  });
  RunOptions options;
  options.cancellation = &cancellation;
  EXPECT_EQ(RunCall("TestCall", options).code(), absl::StatusCode::kCancelled);
  canceller.join();
  EXPECT_TRUE(was_told || HangGuardFailure());
}

TEST_P(PluginKernelsTest, AreToldOfTheTimeLimitWhileTheyWait) {
  bool was_told = false;
  std::optional<HeldTimeLimits> held;
  call = [&](ms::Frame& frame) -> ms::Status {
    absl::Notification told;
    ms::CancelCallback callback;
    MS_TRY(callback.Register(frame, [&] { told.Notify(); }));
    held->Release();
    was_told = Eventually(told);
    return frame.CheckCancelled();
  };
  RunOptions options;
  options.timeout_ms = 20;
  for (const char* op : {"TestCall", "TestCallBeside"}) {
    node_ = CallNode(op);
    was_told = false;
    held.emplace();
    ExpectError(RunCall(op, options), absl::StatusCode::kDeadlineExceeded,
                {"the step took longer than 20 ms\n  node '" + node_.node->name() + "'"});
    EXPECT_TRUE(was_told || HangGuardFailure()) << op;
  }
}

// Another one asked to be told first, and has ended.
TEST_P(PluginKernelsTest, TheTimeLimitNamesTheOneThatWaitsNow) {
  std::atomic<int> calls{0};
  HeldTimeLimits held;
  call = [&](ms::Frame& frame) -> ms::Status {
    absl::Notification told;
    ms::CancelCallback callback;
    MS_TRY(callback.Register(frame, [&] { told.Notify(); }));
    if (++calls == 1) return ms::Status();
    held.Release();
    EXPECT_TRUE(Eventually(told));
    return frame.CheckCancelled();
  };
  ExpectTimeLimitNamesSecondCall();
}

// Told of nothing, since it ended in time, and another does not ask.
TEST_P(PluginKernelsTest, TheTimeLimitNamesTheOneThatRunsNow) {
  std::atomic<int> calls{0};
  HeldTimeLimits held;
  call = [&](ms::Frame& frame) -> ms::Status {
    if (++calls == 1) {
      ms::CancelCallback callback;
      return callback.Register(frame, [] {});
    }
    held.Release();
    while (true) MS_TRY(frame.CheckCancelled());
  };
  ExpectTimeLimitNamesSecondCall();
}

TEST_P(PluginKernelsTest, AListenerThatWasTakenBackIsNotCalled) {
  int calls = 0;
  Cancellation cancellation;
  call = [&](ms::Frame& frame) -> ms::Status {
    {
      ms::CancelCallback callback;
      MS_TRY(callback.Register(frame, [&] { ++calls; }));
    }
    cancellation.Cancel();
    ms::CancelCallback late;
    MS_TRY(late.Register(frame, [&] { calls += 10; }));
    return frame.CheckCancelled();
  };
  RunOptions options;
  options.cancellation = &cancellation;
  EXPECT_EQ(RunCall("TestCall", options).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(calls, 10) << "only the one that came when the step was stopping, at once";
}

TEST_P(PluginKernelsTest, DeferredReleasesRunWhenTheExecutionHasEnded) {
  for (const bool fails : {false, true}) {
    std::atomic<int> released{0};
    call = [&](ms::Frame& frame) -> ms::Status {
      for (int i = 0; i < 3; ++i) {
        MS_TRY(ms::DeferRelease(frame, [&] { ++released; }));
      }
      EXPECT_EQ(released, 0);
      return fails ? ms::Internal("fails after it deferred") : ms::Status();
    };
    EXPECT_EQ(RunCall().ok(), !fails);
    EXPECT_EQ(released, 3) << (fails ? "failed" : "went well");
  }
}

TEST_P(PluginKernelsTest, AReleaseThatIsRefusedIsNotCalled) {
  int accepted = 0;
  std::atomic<int> released{0};
  call = [&](ms::Frame& frame) -> ms::Status {
    ms::Status status;
    while (accepted < 10000) {
      status = ms::DeferRelease(frame, [&] { ++released; });
      if (!status.ok()) break;
      ++accepted;
    }
    return status;
  };
  EXPECT_EQ(RunCall().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GT(accepted, 0);
  EXPECT_EQ(released, accepted);
}

TEST_P(PluginKernelsTest, PartsOfAnExecutionAreTraced) {
  call = [](ms::Frame& frame) -> ms::Status {
    const bool is_traced = (frame.raw()->flags & MS_FRAME_TRACING) != 0;
    const ms::TraceScope outer(frame, is_traced ? "outer" : "untraced");
    const ms::TraceScope inner(frame, "inner");
    return ms::Status();
  };
  StepReport report;
  report.want_trace = true;
  RunOptions options;
  options.report = &report;
  ASSERT_TRUE(RunCall("TestCall", options).ok());
  const std::vector<TracedRange> ranges = report.trace.ranges();
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].name, "inner");
  EXPECT_EQ(ranges[1].name, "outer");
  EXPECT_EQ(ranges[0].node, "TestCall");
  EXPECT_LE(ranges[1].start, ranges[0].start);
  EXPECT_LE(ranges[0].end, ranges[1].end);
  const StatusOr<std::string> metadata = RunMetadataOf(report);
  ASSERT_TRUE(metadata.ok());
  EXPECT_THAT(*metadata, HasSubstr("TestCall:outer = outer()"));
  // A step that nobody traces runs as before.
  StepReport none;
  options.report = &none;
  call = [](ms::Frame& frame) -> ms::Status {
    EXPECT_EQ(frame.raw()->flags & MS_FRAME_TRACING, 0u);
    const ms::TraceScope scope(frame, "untraced");
    return ms::Status();
  };
  ASSERT_TRUE(RunCall("TestCall", options).ok());
  EXPECT_TRUE(none.trace.ranges().empty());
}

TEST_P(PluginKernelsTest, WhatTheyScheduleMayWaitForEachOther) {
  bool met = false;
  call = [&](ms::Frame& frame) -> ms::Status {
    absl::Notification first, second, both;
    ms::Schedule(frame, [&] {
      first.Notify();
      second.WaitForNotification();
      both.Notify();
    });
    ms::Schedule(frame, [&] {
      first.WaitForNotification();
      second.Notify();
    });
    met = Eventually(both);
    return ms::Status();
  };
  EXPECT_TRUE(RunCall().ok());
  EXPECT_TRUE(met || HangGuardFailure());
}

TEST_P(PluginKernelsTest, ObjectsLiveInTheSessionUntilItCloses) {
  std::vector<int> made;
  call = [&](ms::Frame& frame) -> ms::Status {
    ms::ResourceRef<Box> box;
    const auto make = [&] {
      made.push_back(7);
      return new Box(7);
    };
    MS_TRY(ms::LookupOrCreate<Box>(frame, "", "shared", make, &box));
    EXPECT_EQ(box->value++, static_cast<int>(6 + made.size()));
    made.push_back(box->value);
    return ms::Status();
  };
  ASSERT_TRUE(RunCall().ok());
  EXPECT_THAT(made, ElementsAre(7, 8));
  call = [&](ms::Frame& frame) -> ms::Status {
    ms::ResourceRef<Box> box;
    MS_TRY(ms::Lookup<Box>(frame, "localhost", "shared", &box));
    EXPECT_EQ(box->value, 8);
    return ms::Lookup<Box>(frame, "", "absent", &box);
  };
  EXPECT_THAT(std::string(RunCall().message()), HasSubstr("has no Test.Box called 'absent'"));
  EXPECT_EQ(Box::living, 1);
  session.reset();
  EXPECT_EQ(Box::living, 0);
}

TEST_P(PluginKernelsTest, ANameThatIsTakenLeavesTheObjectToWhoMadeIt) {
  ms::ResourceRef<Box> first;
  call = [&](ms::Frame& frame) -> ms::Status {
    auto box = std::make_unique<Box>(1);
    MS_TRY(ms::Create(frame, "mine", "box", &box, &first));
    EXPECT_EQ(box, nullptr);
    auto second = std::make_unique<Box>(2);
    ms::ResourceRef<Box> out;
    const ms::Status taken = ms::Create(frame, "mine", "box", &second, &out);
    EXPECT_EQ(taken.code(), MS_ALREADY_EXISTS);
    EXPECT_EQ(second->value, 2);
    return ms::Status();
  };
  ASSERT_TRUE(RunCall().ok());
  EXPECT_EQ(Box::living, 1);
  session.reset();
  EXPECT_EQ(Box::living, 1) << "the test holds a reference";
  EXPECT_EQ(first->value, 1);
  first = ms::ResourceRef<Box>();
  EXPECT_EQ(Box::living, 0);
}

TEST_P(PluginKernelsTest, ObjectsThatCannotBeMadeAreErrors) {
  call = [](ms::Frame& frame) -> ms::Status {
    ms::ResourceRef<Box> box;
    const auto fail = []() -> Box* { throw std::runtime_error("no memory for boxes"); };
    return ms::LookupOrCreate<Box>(frame, "", "never", fail, &box);
  };
  EXPECT_THAT(std::string(RunCall().message()), HasSubstr("no memory for boxes"));
  call = [](ms::Frame& frame) -> ms::Status {
    ms::ResourceRef<Other> other;
    return ms::Lookup<Other>(frame, "", "x", &other);
  };
  EXPECT_THAT(std::string(RunCall().message()),
              HasSubstr("no plugin registered the resource type \"Test.Other\""));
}

TEST_P(PluginKernelsTest, AnExceptionInAParallelLoopIsTheKernelsError) {
  std::atomic<uint64_t> done{0};
  call = [&](ms::Frame& frame) -> ms::Status {
    frame.ParallelFor(4096, 1000, [&](uint64_t begin, uint64_t end) {
      if (begin <= 2000 && 2000 < end) throw std::runtime_error("unit 2000 is bad");
      done += end - begin;
    });
    return ms::Status();
  };
  EXPECT_THAT(std::string(RunCall().message()), HasSubstr("unit 2000 is bad"));
  EXPECT_LT(done, 4096u);
  call = [](ms::Frame& frame) -> ms::Status {
    frame.ParallelFor(16, 1, [](uint64_t, uint64_t) { throw 7; });
    return ms::Status();
  };
  EXPECT_THAT(std::string(RunCall().message()), HasSubstr("an exception of unknown type"));
}

INSTANTIATE_TEST_SUITE_P(Executors, PluginKernelsTest,
                         ::testing::Values(Executor::kPlan, Executor::kDynamic),
                         [](const ::testing::TestParamInfo<Executor>& info) {
                           return info.param == Executor::kPlan ? "Plan" : "Dynamic";
                         });

using PluginHandlesTest = PluginKernelsTest;
INSTANTIATE_TEST_SUITE_P(Plan, PluginHandlesTest, ::testing::Values(Executor::kPlan));

TEST_P(PluginHandlesTest, ReadWhatTheyAreOf) {
  const Output handle = Variable("weights", DataType::kFloat, PartialShape({2}));
  std::string read;
  call = [&](ms::Frame& frame) -> ms::Status {
    std::string_view container, name, type;
    MS_TRY(ms::ReadHandle(frame.input(0), &container, &name, &type));
    read = ms::StrCat("[", container, "] ", name, " ", type);
    ms::Tensor tensor;
    return ms::Tensor::OfInput(frame, 0, &tensor);
  };
  ExpectError(Error(Op("TestCallHandle", {handle})), absl::StatusCode::kInvalidArgument,
              {"input 0 is a handle, which has no value"});
  EXPECT_EQ(read, "[] weights Variable");
}

}  // namespace
}  // namespace millstream
