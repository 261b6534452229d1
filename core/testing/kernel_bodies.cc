#include "core/testing/kernel_bodies.h"

#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "core/host/host_ctx.h"
#include "framework/op_registry.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/kernel_registry.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

struct Bodies {
  absl::Mutex mutex;
  std::deque<KernelBody> all ABSL_GUARDED_BY(mutex);
};

Bodies* TheBodies() {
  static auto* const bodies = new Bodies();
  return bodies;
}

MS_Status* RunBody(void*, MS_Frame* frame) {
  const StatusOr<int64_t> number = frame->ctx->call().Attr<int64_t>("body");
  if (!number.ok()) return ToAbiStatus(number.status());
  const KernelBody* body = nullptr;
  {
    absl::MutexLock lock(&TheBodies()->mutex);
    body = &TheBodies()->all[*number];
  }
  const Status status = (*body)(frame);
  return status.ok() ? nullptr : ToAbiStatus(status);
}

void StartBody(void*, MS_Frame* frame, MS_Done* done) {
  std::thread([frame, done] { CtxApi()->done(done, RunBody(nullptr, frame)); }).detach();
}

KernelRegistration Kernel(const char* op, uint32_t flags) {
  KernelRegistration kernel;
  kernel.op = op;
  kernel.device_type = kAnyDevice;
  kernel.plugin = "kernel_bodies";
  kernel.flags = flags;
  const bool is_async = (flags & MS_KERNEL_ASYNC) != 0;
  kernel.compute = is_async ? nullptr : &RunBody;
  kernel.compute_async = is_async ? &StartBody : nullptr;
  return kernel;
}

void RegisterKernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::vector<KernelRegistration> kernels = {Kernel("TestBody", 0),
                                               Kernel("TestBlockingBody", MS_KERNEL_BLOCKING),
                                               Kernel("TestAsyncBody", MS_KERNEL_ASYNC)};
    EXPECT_EQ(KernelRegistry::Global()->Commit(std::move(kernels)), absl::OkStatus());
  });
}

#define TEST_BODY_OP(name)        \
  MILLSTREAM_OP(name)             \
      .Input("inputs: T")         \
      .Output("output: float")    \
      .Attr("T: list(type) >= 0") \
      .Attr("body: int")          \
      .Stateful()                 \
      .Doc("Runs a body that the test gave.")
TEST_BODY_OP("TestBody");
TEST_BODY_OP("TestBlockingBody");
TEST_BODY_OP("TestAsyncBody");

const char* OpOf(BodyKind kind) {
  switch (kind) {
    case BodyKind::kPlain: return "TestBody";
    case BodyKind::kBlocking: return "TestBlockingBody";
    case BodyKind::kAsync: return "TestAsyncBody";
  }
  return "";
}

}  // namespace

Output AddBody(GraphBuilder* build, BodyKind kind, const std::vector<Output>& inputs,
               KernelBody body) {
  RegisterKernels();
  int64_t number = 0;
  {
    absl::MutexLock lock(&TheBodies()->mutex);
    number = static_cast<int64_t>(TheBodies()->all.size());
    TheBodies()->all.push_back(std::move(body));
  }
  const Node* const node = build->Variadic(OpOf(kind), {inputs}, {{"body", number}});
  EXPECT_TRUE(build->ok()) << build->status();
  return node == nullptr ? Output() : node->output(0);
}

Status Taken(MS_Status* failed) {
  return failed == nullptr ? absl::OkStatus() : TakeAbiStatus(failed);
}

Status GiveScalar(MS_Frame* frame, float value) {
  MS_TensorView view = {};
  MS_RETURN_IF_ERROR(Taken(CtxApi()->allocate_output(frame, 0, MS_Dims{nullptr, 0, 0}, &view)));
  *static_cast<float*>(view.mem.base) = value;
  return absl::OkStatus();
}

Status CheckCancelled(MS_Frame* frame) { return Taken(CtxApi()->cancel_check(frame)); }

Status LockFirstInput(MS_Frame* frame, MS_LockSet** locks) {
  const uint32_t input = 0;
  const uint32_t mode = MS_LOCK_WRITE;
  return Taken(ResourceApi()->vars_lock(frame, &input, &mode, 1, locks));
}

}  // namespace millstream
