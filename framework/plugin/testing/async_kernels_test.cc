// What the kernels for executors' tests do, against a host of a few lines.
#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "absl/synchronization/notification.h"
#include "framework/op_registry.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/kernel_info.h"
#include "framework/plugin/testing/async_kernel_ops.h"
#include "framework/plugin/testing/stub_interfaces.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

struct MS_Ctx {
  std::array<float, 3> output = {};
  std::atomic<bool> cancelled{false};
  int64_t cancelled_when_asked = 0;  // so many times; 0: never
  std::atomic<int64_t> asked{0};
};

struct MS_Done {
  absl::Notification called;
  millstream::Status status;
};

namespace millstream {
namespace {

using ::testing::ElementsAre;

MS_Status* AllocateOutput(MS_Frame* frame, uint32_t index, MS_Dims dims, MS_TensorView* out) {
  MS_TensorView* const view = &frame->outputs[index];
  *view = {};
  view->mem = MS_MemRef{frame->ctx->output.data(), 0, sizeof(frame->ctx->output), MS_SPACE_HOST, 0};
  view->dims = dims.d;
  view->rank = dims.rank;
  *out = *view;
  return nullptr;
}

MS_Status* CancelCheck(MS_Frame* frame) {
  MS_Ctx* const ctx = frame->ctx;
  if (++ctx->asked == ctx->cancelled_when_asked) ctx->cancelled = true;
  return ctx->cancelled ? MakeAbiStatus(MS_CANCELLED, "cancelled") : nullptr;
}

void Done(MS_Done* done, MS_Status* status) {
  done->status = TakeAbiStatus(status);
  done->called.Notify();
}

const MS_CtxApi* HostCtx() {
  static const MS_CtxApi ctx = [] {
    MS_CtxApi api = StubCtxApi();
    api.allocate_output = &AllocateOutput;
    api.cancel_check = &CancelCheck;
    api.done = &Done;
    return api;
  }();
  return &ctx;
}

// One node of the given op with three inputs values in one tensor.
class AsyncKernelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RegisterStubInterfaces(HostCtx());
    const Status loaded = LoadAsyncKernels();
    ASSERT_TRUE(loaded.ok()) << loaded;
    input_.mem = MS_MemRef{x_.data(), 0, sizeof(x_), MS_SPACE_HOST, 0};
    input_.dims = &dim_;
    input_.rank = 1;
    frame_.head.size = sizeof(frame_);
    frame_.ctx = &ctx_;
    frame_.inputs = &input_;
    frame_.outputs = &output_;
    frame_.n_in = 1;
    frame_.n_out = 1;
  }
  void TearDown() override {
    if (state_ != nullptr) kernel_->destroy(state_);
  }

  void Create(const std::string& op, int64_t delay_ms, const std::string& error = "") {
    AttrMap attrs;
    SetAttr(&attrs, "T", DataType::kFloat);
    SetAttr(&attrs, "delay_ms", delay_ms);
    SetAttr(&attrs, "error", error);
    const OpDef* const definition = OpRegistry::Global()->Find(op).value();
    const NodeSignature signature = ExpandSignature(*definition, attrs).value();
    const MS_KernelInfo info({definition, &attrs, &signature, "node"}, "/device:CPU:0");
    kernel_ = KernelRegistry::Global()->Find(op, "CPU", attrs).value();
    const Status created = TakeAbiStatus(kernel_->create(kernel_->user, &info, &state_));
    ASSERT_TRUE(created.ok()) << created;
  }

  Status Compute() { return TakeAbiStatus(kernel_->compute(state_, &frame_)); }
  void Start() { kernel_->compute_async(state_, &frame_, &done_); }
  Status Wait() {
    done_.called.WaitForNotification();
    return done_.status;
  }

  std::array<float, 3> x_ = {1, 2, 3};
  const int64_t dim_ = 3;
  MS_Ctx ctx_;
  MS_Done done_;
  MS_TensorView input_ = {};
  MS_TensorView output_ = {};
  MS_Frame frame_ = {};
  const KernelRegistration* kernel_ = nullptr;
  void* state_ = nullptr;
};

TEST_F(AsyncKernelsTest, AsyncGivesItsInputLater) {
  Create("TestAsync", /*delay_ms=*/1);
  EXPECT_NE(kernel_->flags & MS_KERNEL_ASYNC, 0u);
  Start();
  EXPECT_TRUE(Wait().ok());
  EXPECT_THAT(ctx_.output, ElementsAre(1, 2, 3));
}

TEST_F(AsyncKernelsTest, AsyncFailsWithTheTextThatItsNodeSays) {
  Create("TestAsync", /*delay_ms=*/0, "as told");
  Start();
  EXPECT_EQ(Wait(), absl::AbortedError("as told"));
}

TEST_F(AsyncKernelsTest, AsyncReturnsAtOnceAndEndsWhenItsStepIsCancelled) {
  Create("TestAsync", /*delay_ms=*/3600 * 1000);
  Start();
  EXPECT_FALSE(done_.called.HasBeenNotified());
  ctx_.cancelled = true;
  EXPECT_EQ(Wait().code(), absl::StatusCode::kCancelled);
}

TEST_F(AsyncKernelsTest, BlockingHoldsItsThread) {
  Create("TestBlocking", /*delay_ms=*/3600 * 1000);
  EXPECT_EQ(kernel_->flags, MS_KERNEL_BLOCKING);
  ctx_.cancelled_when_asked = 10;
  EXPECT_EQ(Compute().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(ctx_.asked, 10) << "it went on until then";
}

TEST_F(AsyncKernelsTest, BlockingGivesItsInput) {
  Create("TestBlocking", /*delay_ms=*/1);
  EXPECT_TRUE(Compute().ok());
  EXPECT_THAT(ctx_.output, ElementsAre(1, 2, 3));
}

TEST_F(AsyncKernelsTest, AllocateAndFailLeavesAnAllocatedOutput) {
  Create("TestAllocateAndFail", /*delay_ms=*/0);
  EXPECT_EQ(Compute().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(output_.mem.base, ctx_.output.data());
  EXPECT_NE(ctx_.output[2], 0);
}

}  // namespace
}  // namespace millstream
