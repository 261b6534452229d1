// Calls without a node compute what nodes of a step compute, bit for bit, and fail with a sentence.
#include "core/host/run_op_call.h"

#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "core/graph/structural_role.h"
#include "core/host/host_ctx.h"
#include "core/host/thread_team.h"
#include "core/resources/run_time_handle.h"
#include "core/resources/variable.h"
#include "core/step/float_control.h"
#include "core/structural/structural.h"
#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "framework/op_registry.h"
#include "framework/plugin/host_status.h"
#include "framework/shape_context.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kDevice[] = "/job:localhost/replica:0/task:0/device:CPU:0";

std::atomic<int> counted_runs{0};

// Gives what is not the kernel's: the memory of its input.
Status GiveBorrowed(StructuralFrame* frame) {
  ++counted_runs;
  return frame->SetOutput(0, frame->BorrowInput(0));
}

Status GiveNothing(StructuralFrame*) { return absl::OkStatus(); }

MILLSTREAM_OP("TestGivesBorrowed").Input("x: float").Output("y: float").Doc("Gives x.");
MILLSTREAM_OP("TestGivesBorrowedOfKnownShape")
    .Input("x: float")
    .Output("y: float")
    .Shape(UnchangedShape)
    .Doc("Gives x.");
MILLSTREAM_OP("TestGivesNothing").Input("x: float").Output("y: float").Doc("Gives nothing.");
MILLSTREAM_STRUCTURAL("TestGivesBorrowed", StructuralRole::kKernel, GiveBorrowed);
MILLSTREAM_STRUCTURAL("TestGivesBorrowedOfKnownShape", StructuralRole::kKernel, GiveBorrowed);
MILLSTREAM_STRUCTURAL("TestGivesNothing", StructuralRole::kKernel, GiveNothing);

Tensor Ramp(const Shape& shape) {
  std::vector<float> values(shape.num_elements());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i) + 0.5f) * 3;
  }
  return Tensor::FromValues<float>(shape, values);
}

class RunOpCallTest : public SessionTest {
 protected:
  RunOpCallTest() { StartSession(); }

  static OwnedOpCall Made(const std::string& op, const std::vector<Tensor>& inputs,
                          GraphBuilder::Attrs attrs, std::vector<int> counts) {
    DataTypeList types;
    for (const Tensor& input : inputs) types.push_back(input.dtype());
    AttrMap all;
    for (const auto& [name, value] : attrs) SetAttr(&all, name, value);
    if (counts.empty()) counts.assign(inputs.size(), 1);
    const OpDef* const definition = OpRegistry::Global()->Find(op).value();
    StatusOr<OwnedOpCall> made = MakeOpCall(*definition, std::move(all), types, counts);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? *std::move(made) : OwnedOpCall();
  }
  StatusOr<std::vector<Tensor>> Call(const OwnedOpCall& made, const std::vector<Tensor>& inputs) {
    return RunOpCall(made.call(), inputs, {"CPU", kDevice, kNoDevice, settings_, run_, max_bytes_});
  }
  StatusOr<std::vector<Tensor>> Call(const std::string& op, const std::vector<Tensor>& inputs,
                                     GraphBuilder::Attrs attrs = {}) {
    return Call(Made(op, inputs, attrs, {}), inputs);
  }
  Status CallError(const std::string& op, const std::vector<Tensor>& inputs) {
    return Call(op, inputs).status();
  }

  // What a node gives for fed inputs in a step.
  std::vector<Tensor> OfNode(const std::string& op, const std::vector<Tensor>& inputs,
                             GraphBuilder::Attrs attrs, std::vector<int> counts) {
    if (counts.empty()) counts.assign(inputs.size(), 1);
    std::vector<Feed> feeds;
    std::vector<std::vector<Output>> arguments;
    size_t next = 0;
    for (int count : counts) {
      std::vector<Output>& argument = arguments.emplace_back();
      for (int i = 0; i < count; ++i, ++next) {
        const std::string name = graph.UniqueName("x");
        argument.push_back(Placeholder(name, inputs[next].dtype()));
        feeds.push_back({argument.back(), inputs[next]});
      }
    }
    const Node* const node = build.Variadic(op, arguments, attrs);
    EXPECT_TRUE(build.ok()) << build.status();
    if (node == nullptr) return {};
    std::vector<Output> fetches;
    for (int i = 0; i < node->num_outputs(); ++i) fetches.push_back(node->output(i));
    StatusOr<std::vector<Tensor>> values = Run(fetches, feeds);
    EXPECT_TRUE(values.ok()) << values.status();
    return values.ok() ? *std::move(values) : std::vector<Tensor>();
  }
  void ExpectSameAsNode(const std::string& op, const std::vector<Tensor>& inputs,
                        GraphBuilder::Attrs attrs = {}, const std::vector<int>& counts = {}) {
    SCOPED_TRACE(op);
    const auto called = Call(Made(op, inputs, attrs, counts), inputs);
    ASSERT_TRUE(called.ok()) << called.status();
    const std::vector<Tensor> expected = OfNode(op, inputs, attrs, counts);
    ASSERT_EQ(called->size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(TensorsEqual((*called)[i], expected[i]))
          << (*called)[i].DebugString() << " and " << expected[i].DebugString();
    }
  }

  // A call of a kernel whose body the test writes.
  StatusOr<std::vector<Tensor>> CallBody(BodyKind kind, KernelBody body) {
    const Node* const node = AddBody(&build, kind, {}, std::move(body)).node;
    const OwnedOpCall made = {&node->op(), node->attrs(), node->signature(), ""};
    return Call(made, {});
  }

  SessionSettings settings_;
  RunOptions run_;
  int64_t max_bytes_ = std::numeric_limits<int64_t>::max();
};

TEST_F(RunOpCallTest, GivesWhatANodeGives) {
  const Tensor image = Ramp({2, 6, 6, 3});
  ExpectSameAsNode("Exp", {Ramp({17})});
  ExpectSameAsNode("Add", {Ramp({3, 1, 5}), Ramp({4, 1})});
  ExpectSameAsNode("MatMul", {Ramp({7, 13}), Ramp({5, 13})}, {{"transpose_b", true}});
  ExpectSameAsNode("Conv2D", {image, Ramp({3, 3, 3, 4})},
                   {{"strides", std::vector<int64_t>{1, 2, 2, 1}}, {"padding", "SAME"}});
  ExpectSameAsNode("Sum", {Ramp({9, 31}), Values<int32_t>({1})}, {{"keep_dims", true}});
  ExpectSameAsNode("Cast", {Ramp({8})}, {{"DstT", DataType::kInt32}});
  ExpectSameAsNode("Shape", {image});
  ExpectSameAsNode("RandomUniform", {Values<int32_t>({100})},
                   {{"dtype", DataType::kFloat}, {"seed", 3}, {"seed2", 4}});
}

TEST_F(RunOpCallTest, GivesWhatANodeOfSeveralTensorsGives) {
  ExpectSameAsNode("Split", {Tensor::Scalar<int32_t>(1), Ramp({2, 6})}, {{"num_split", 3}});
  ExpectSameAsNode("ConcatV2", {Ramp({2, 2}), Ramp({2, 5}), Tensor::Scalar<int32_t>(1)}, {},
                   {2, 1});
  ExpectSameAsNode("Unique", {Values<float>({1, 2, 1, 3})});
}

TEST_F(RunOpCallTest, GivesWhatANodeGivesForEmptyTensors) {
  ExpectSameAsNode("Exp", {Tensor::Vector<float>({})});
  ExpectSameAsNode("Sum", {Ramp({0, 3}), Values<int32_t>({0})});
}

TEST_F(RunOpCallTest, ACallThatRenamesSharesTheMemoryOfItsInput) {
  const Tensor x = Ramp({6});
  const auto same = Call("Identity", {x});
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ((*same)[0].raw(), x.raw());
  const auto matrix = Call("Reshape", {x, Values<int32_t>({2, 3})});
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  EXPECT_EQ((*matrix)[0].raw(), x.raw());
  EXPECT_EQ((*matrix)[0].shape(), Shape({2, 3}));
}

TEST_F(RunOpCallTest, NoOutputIsMemoryThatTheKernelBorrowed) {
  for (const char* op : {"TestGivesBorrowed", "TestGivesBorrowedOfKnownShape"}) {
    const Tensor x = Ramp({6});
    const auto y = Call(op, {x});
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_NE((*y)[0].raw(), x.raw());
    EXPECT_TRUE(TensorsEqual((*y)[0], x));
    EXPECT_TRUE((*y)[0].buffer()->writable());
  }
}

TEST_F(RunOpCallTest, InputsKeepTheirValues) {
  const Tensor x = Ramp({6});
  const Tensor before = x.DeepCopy().value();
  ASSERT_TRUE(Call("Neg", {x}).ok());
  EXPECT_TRUE(TensorsEqual(x, before));
}

TEST_F(RunOpCallTest, TheKernelSeesNoNodeAndTheSettings) {
  settings_.options.deterministic = true;
  settings_.intra_op_threads = 3;
  const auto value = CallBody(BodyKind::kPlain, [](MS_Frame* frame) {
    EXPECT_EQ(frame->ctx->node, nullptr);
    EXPECT_NE(frame->flags & MS_FRAME_DETERMINISTIC, 0u);
    EXPECT_EQ(ThreadsApi()->num_threads(frame), 3u);
    EXPECT_EQ(CtxApi()->expected_output_dtype(frame, 0), static_cast<MS_DType>(MS_FLOAT32));
    uint32_t begin = 7;
    uint32_t end = 7;
    EXPECT_EQ(Taken(CtxApi()->input_list(frame, ToAbi("inputs"), &begin, &end)), absl::OkStatus());
    EXPECT_EQ(end, 0u);
    return GiveScalar(frame, 5);
  });
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_THAT(Elements<float>((*value)[0]), ElementsAre(5));
}

TEST_F(RunOpCallTest, AKernelWithoutANodeMaySchedule) {
  absl::Notification ran;
  const auto value = CallBody(BodyKind::kPlain, [&](MS_Frame* frame) {
    const auto notify = [](void* user) { static_cast<absl::Notification*>(user)->Notify(); };
    ThreadsApi()->schedule(frame, notify, &ran);
    ran.WaitForNotification();
    return GiveScalar(frame, 5);
  });
  EXPECT_TRUE(value.ok()) << value.status();
}

#if defined(__x86_64__)
TEST_F(RunOpCallTest, TheFloatingPointEnvironmentIsAsBeforeTheKernel) {
  const uint32_t before = FloatControl();
  uint32_t during = before;
  const auto value = CallBody(BodyKind::kPlain, [&](MS_Frame* frame) {
    _mm_setcsr(_mm_getcsr() | 0x8000 | 0x4000);  // flushes what is nearly zero, and rounds up
    during = FloatControl();
    return GiveScalar(frame, 5);
  });
  EXPECT_TRUE(value.ok()) << value.status();
  EXPECT_NE(during, before);
  EXPECT_EQ(FloatControl(), before);
}
#endif

TEST_F(RunOpCallTest, RefusesInputsOfAnotherNumberOrType) {
  const OwnedOpCall sum = Made("Add", {Ramp({2}), Ramp({2})}, {}, {});
  EXPECT_EQ(Call(sum, {Ramp({2})}).status().message(),
            absl::StrCat("expected 2 inputs, got 1\n  op Add\n  inputs: float32[2]\n  device: ",
                         kDevice));
  EXPECT_EQ(Call(sum, {Ramp({2}), Values<int32_t>({1, 2})}).status().message(),
            absl::StrCat("input 'y' expected float32, got int32[2]\n  op Add\n  inputs: "
                         "float32[2], int32[2]\n  device: ",
                         kDevice));
  const Status none = Call(sum, {Ramp({2}), Tensor()}).status();
  ExpectError(none, absl::StatusCode::kInvalidArgument,
              {"input 'y' expected a tensor in host memory, got none"});
}

TEST_F(RunOpCallTest, RefusesShapesThatDoNotFit) {
  ExpectError(CallError("MatMul", {Ramp({2, 3}), Ramp({4, 5})}), absl::StatusCode::kInvalidArgument,
              {"op MatMul", "inputs: float32[2,3], float32[4,5]", kDevice});
}

TEST_F(RunOpCallTest, RefusesACallWithoutKernel) {
  const OwnedOpCall sum = Made("Add", {Ramp({2}), Ramp({2})}, {{"_kernel", "made_up"}}, {});
  ExpectError(Call(sum, {Ramp({2}), Ramp({2})}).status(), absl::StatusCode::kInvalidArgument,
              {"made_up", "op Add"});
  const Status elsewhere =
      RunOpCall(Made("Add", {Ramp({2}), Ramp({2})}, {}, {}).call(), {Ramp({2}), Ramp({2})},
                {"TPU", kDevice, kNoDevice, settings_, run_})
          .status();
  ExpectError(elsewhere, absl::StatusCode::kInvalidArgument, {"TPU", "op Add"});
}

TEST_F(RunOpCallTest, RefusesHandles) {
  const OwnedOpCall handle =
      Made("VarHandleOp", {}, {{"dtype", DataType::kFloat}, {"shape", PartialShape({2})}}, {});
  ExpectError(Call(handle, {}).status(), absl::StatusCode::kUnimplemented,
              {"resource handles belong to a session", "op VarHandleOp"});
}

TEST_F(RunOpCallTest, TakesHandlesThatAreTensors) {
  auto variable = MakeResource<millstream::Variable>("", "v", DataType::kFloat, PartialShape());
  ASSERT_EQ(variable->Assign(Values<float>({1, 2, 3})), absl::OkStatus());
  const Tensor handle = MakeRunTimeHandle(variable).value();
  const auto rows =
      Call("ResourceGather", {handle, Values<int32_t>({2, 0})}, {{"dtype", DataType::kFloat}});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(Elements<float>((*rows)[0]), ElementsAre(3, 1));
  const auto none =
      Call("ResourceScatterUpdate", {handle, Values<int32_t>({1}), Values<float>({5})});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_THAT(Elements<float>(variable->Read().value()), ElementsAre(1, 5, 3));
}

TEST_F(RunOpCallTest, RefusesKernelsThatEndLater) {
  const auto value =
      CallBody(BodyKind::kAsync, [](MS_Frame* frame) { return GiveScalar(frame, 1); });
  ExpectError(value.status(), absl::StatusCode::kUnimplemented,
              {"needs a step", "op TestAsyncBody"});
}

TEST_F(RunOpCallTest, ErrorsOfKernelsNameTheCall) {
  ExpectError(CallError("FloorDiv", {Values<int32_t>({1, 2}), Tensor::Scalar<int32_t>(0)}),
              absl::StatusCode::kInvalidArgument,
              {"op FloorDiv", "inputs: int32[2], int32[]", kDevice});
  ExpectError(CallError("TestGivesNothing", {Ramp({2})}), absl::StatusCode::kInternal,
              {"the kernel did not set output 0", "op TestGivesNothing"});
  OwnedOpCall named = Made("TestGivesNothing", {Ramp({2})}, {}, {});
  named.name = "layer/x";
  ExpectError(Call(named, {Ramp({2})}).status(), absl::StatusCode::kInternal,
              {"node 'layer/x' (op TestGivesNothing)"});
}

TEST_F(RunOpCallTest, ACallOfAKernelLeavesTheNameToItsNode) {
  const OwnedOpCall divided =
      Made("FloorDiv", {Values<int32_t>({1}), Tensor::Scalar<int32_t>(0)}, {}, {});
  const Status status =
      RunOpCall(divided.call(), {Values<int32_t>({1}), Tensor::Scalar<int32_t>(0)},
                {"CPU", kDevice, kNoDevice, settings_, run_, max_bytes_, /*names_call=*/false})
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
}

TEST_F(RunOpCallTest, TheLimitOfBytesHoldsBeforeTheKernelRuns) {
  max_bytes_ = 23;
  const int before = counted_runs;
  ExpectError(CallError("TestGivesBorrowedOfKnownShape", {Ramp({6})}),
              absl::StatusCode::kOutOfRange, {"more than 23 bytes"});
  EXPECT_EQ(counted_runs - before, 0);
  max_bytes_ = 24;
  EXPECT_TRUE(Call("TestGivesBorrowedOfKnownShape", {Ramp({6})}).ok());
}

TEST_F(RunOpCallTest, TheLimitOfBytesHoldsForShapesThatTheKernelFinds) {
  max_bytes_ = 23;
  const int before = counted_runs;
  ExpectError(CallError("TestGivesBorrowed", {Ramp({6})}), absl::StatusCode::kOutOfRange,
              {"more than 23 bytes"});
  EXPECT_EQ(counted_runs - before, 1);
}

TEST_F(RunOpCallTest, ACancelledCallDoesNotRun) {
  Cancellation cancellation;
  cancellation.Cancel();
  run_.cancellation = &cancellation;
  const int before = counted_runs;
  EXPECT_TRUE(absl::IsCancelled(CallError("TestGivesBorrowed", {Ramp({6})})));
  EXPECT_EQ(counted_runs - before, 0);
}

TEST_F(RunOpCallTest, AKernelLearnsThatTheTimeIsOver) {
  run_.timeout_ms = 1;
  const auto value = CallBody(BodyKind::kPlain, [](MS_Frame* frame) {
    Status go_on;
    while (go_on.ok()) go_on = CheckCancelled(frame);
    return go_on;
  });
  EXPECT_EQ(value.status(), absl::DeadlineExceededError("the step took longer than 1 ms"));
}

TEST_F(RunOpCallTest, AListenerOfAKernelIsToldThatTheTimeIsOver) {
  run_.timeout_ms = 1;
  const auto value = CallBody(BodyKind::kPlain, [](MS_Frame* frame) {
    absl::Notification told;
    const auto tell = [](void* user) { static_cast<absl::Notification*>(user)->Notify(); };
    uint64_t token = 0;
    MS_RETURN_IF_ERROR(Taken(CtxApi()->cancel_register(frame, tell, &told, &token)));
    told.WaitForNotification();
    CtxApi()->cancel_deregister(frame, token);
    return Status(absl::AbortedError("the listener was told"));
  });
  EXPECT_EQ(value.status(), absl::DeadlineExceededError("the step took longer than 1 ms"));
}

}  // namespace
}  // namespace millstream
