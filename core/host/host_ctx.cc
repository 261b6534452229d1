#include "core/host/host_ctx.h"

#include <utility>

#include "core/host/host_execution.h"
#include "core/host/host_trace.h"
#include "core/host/thread_team.h"
#include "framework/plugin/dlpack.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"

namespace millstream {

namespace {

Status CheckOutputIndex(const MS_Frame* frame, uint32_t index) {
  if (index >= frame->n_out) {
    return errors::Internal("kernel asked for output ", index, " of ", frame->n_out);
  }
  const MS_Ctx& ctx = *frame->ctx;
  if (ctx.host->HasPlannedOutput(ctx, index)) {
    return errors::Internal("output ", index, " has planned memory of shape ",
                            ctx.host->KnownOutputShape(ctx, index)->ToString(),
                            "; the kernel asked for other memory");
  }
  return absl::OkStatus();
}

// What inference found of the output's shape must hold.
Status CheckOutputShape(const MS_Frame* frame, uint32_t index, const Shape& shape) {
  const Shape* known = frame->ctx->host->KnownOutputShape(*frame->ctx, index);
  if (known != nullptr && *known != shape) {
    return errors::Internal("output ", index, " has shape ", shape.ToString(),
                            "; shape inference found ", known->ToString());
  }
  return absl::OkStatus();
}

StatusOr<Tensor> NewOutput(const MS_Ctx& ctx, uint32_t index, const Shape& shape) {
  const DataType dtype = ctx.call().output_type(static_cast<int>(index));
  DeviceMemory* const memory = ctx.host->memory;
  if (memory == nullptr || ctx.host->OutputIsInHost(ctx, index)) {
    return Tensor::Create(dtype, shape);
  }
  return memory->Allocate(dtype, shape);
}

MS_Status* AllocateOutput(MS_Frame* frame, uint32_t index, MS_Dims dims, MS_TensorView* out) {
  Status status = CheckOutputIndex(frame, index);
  if (!status.ok()) return ToAbiStatus(status);
  StatusOr<Shape> shape = ShapeFromAbi(dims);
  if (!shape.ok()) return ToAbiStatus(shape.status());
  status = CheckOutputShape(frame, index, *shape);
  if (!status.ok()) return ToAbiStatus(status);
  StatusOr<Tensor> tensor = NewOutput(*frame->ctx, index, *shape);
  if (!tensor.ok()) return ToAbiStatus(tensor.status());
  frame->ctx->host->SetOutput(frame, index, *std::move(tensor));
  *out = frame->outputs[index];
  return nullptr;
}

MS_Status* ForwardOrAllocate(MS_Frame* frame, const uint32_t* candidates, uint32_t n,
                             uint32_t index, MS_Dims dims, MS_TensorView* out, int32_t* which) {
  *which = -1;
  Status status = CheckOutputIndex(frame, index);
  if (!status.ok()) return ToAbiStatus(status);
  StatusOr<Shape> shape = ShapeFromAbi(dims);
  if (!shape.ok()) return ToAbiStatus(shape.status());
  const MS_Ctx& ctx = *frame->ctx;
  const DataType dtype = ctx.call().output_type(static_cast<int>(index));
  for (uint32_t k = 0; k < n; ++k) {
    if (candidates[k] >= frame->n_in) continue;
    const Tensor* input = ctx.host->TakeableInput(ctx, candidates[k]);
    if (input == nullptr || input->dtype() != dtype || input->shape() != *shape) continue;
    ctx.host->SetOutput(frame, index, *input);
    *which = static_cast<int32_t>(candidates[k]);
    *out = frame->outputs[index];
    return nullptr;
  }
  return AllocateOutput(frame, index, dims, out);
}

MS_Status* SetOutput(MS_Frame* frame, uint32_t index, MS_Tensor* tensor) {
  Status status = CheckOutputIndex(frame, index);
  if (!status.ok()) return ToAbiStatus(status);
  const DataType dtype = frame->ctx->call().output_type(static_cast<int>(index));
  if (tensor == nullptr) {
    return ToAbiStatus(errors::InvalidArgument("output ", index, " must be a tensor of type ",
                                               DataTypeName(dtype), ", the kernel gave NULL"));
  }
  if (tensor->tensor.dtype() != dtype) {
    return ToAbiStatus(errors::InvalidArgument("output ", index, " must be ", DataTypeName(dtype),
                                               ", the kernel gave ",
                                               DataTypeName(tensor->tensor.dtype())));
  }
  status = CheckOutputShape(frame, index, tensor->tensor.shape());
  if (!status.ok()) return ToAbiStatus(status);
  frame->ctx->host->SetOutput(frame, index, tensor->tensor);
  return nullptr;
}

// What is in a device's memory goes back as the call returns, and is used again by what is enqueued
// later.
StatusOr<Tensor> NewTemp(const MS_Ctx& ctx, DataType dtype, const Shape& shape, uint32_t space) {
  DeviceMemory* const memory = ctx.host->memory;
  if (!IsPlainData(dtype)) {
    return errors::Unimplemented("temporary memory is for types of fixed size, asked was ",
                                 DataTypeName(dtype));
  }
  if (space == MS_SPACE_HOST) return Tensor::Create(dtype, shape);
  if (space == MS_SPACE_DEVICE) {
    return memory == nullptr ? Tensor::Create(dtype, shape) : memory->Allocate(dtype, shape);
  }
  if (space == MS_SPACE_HOST_PINNED && memory != nullptr && memory->has_pinned()) {
    return memory->AllocatePinned(dtype, shape);
  }
  return errors::Unimplemented("temporary memory in space ", space, ", which the device lacks");
}

// What a later replay of recorded work would not get again; null in other executions.
MS_Status* RefuseWhileRecording(const MS_Frame& frame, absl::string_view what) {
  if ((frame.flags & MS_FRAME_CAPTURE) == 0) return nullptr;
  return ToAbiStatus(errors::FailedPrecondition("a kernel with MS_KERNEL_CAPTURE_SAFE asks for ",
                                                what, " while its work is recorded"));
}

MS_Status* AllocateTemp(MS_Frame* frame, MS_DType dtype, MS_Dims dims, uint32_t space,
                        MS_TensorView* out) {
  if (MS_Status* refused = RefuseWhileRecording(*frame, "temporary memory")) return refused;
  StatusOr<Shape> shape = ShapeFromAbi(dims);
  if (!shape.ok()) return ToAbiStatus(shape.status());
  StatusOr<Tensor> tensor = NewTemp(*frame->ctx, FromAbiDataType(dtype), *shape, space);
  if (!tensor.ok()) return ToAbiStatus(tensor.status());
  KernelHost* const host = frame->ctx->host;
  const absl::MutexLock lock(&host->temps_mutex);
  StatusOr<MS_TensorView> view = host->KeepTemp(*frame->ctx, *std::move(tensor));
  if (!view.ok()) return ToAbiStatus(view.status());
  *out = *view;
  return nullptr;
}

// Memory of the plugin as a tensor; on success the tensor calls release.
StatusOr<Tensor> Wrapped(DeviceMemory* device, const MS_MemRef& memory, DataType dtype,
                         const Shape& shape, void (*release)(void* user), void* user) {
  if (release == nullptr) return errors::InvalidArgument("wrap_device without a release");
  if (!IsPlainData(dtype)) {
    return errors::Unimplemented("memory of a device has types of fixed size, given was ",
                                 DataTypeName(dtype));
  }
  size_t bytes = 0;
  MS_RETURN_IF_ERROR(ValidateShape(shape));
  if (__builtin_mul_overflow(shape.num_elements(), DataTypeSize(dtype), &bytes) ||
      memory.bytes < bytes) {
    return errors::InvalidArgument("memory of ", memory.bytes, " bytes for ", DataTypeName(dtype),
                                   shape.ToString());
  }
  if (memory.base == nullptr && bytes > 0) {
    return errors::InvalidArgument("the memory has no address");
  }
  const auto give_back = [release, user] { release(user); };
  if (device != nullptr) return device->Wrap(dtype, shape, memory, give_back);
  void* const address = static_cast<char*>(memory.base) + memory.offset;
  return Tensor(dtype, shape, BorrowBuffer(address, bytes, false, give_back));
}

// Why the step stops is the step's to say; the kernel only learns that it does.
MS_Status* CancelCheck(MS_Frame* frame) {
  const MS_Ctx& ctx = *frame->ctx;
  StepContext* const step = ctx.host->step;
  // The front end may run a step of its own meanwhile, which must not wait for variables held here.
  const Status interrupted = step->CheckInterruption(/*may_ask=*/!ctx.locks.held);
  if (interrupted.ok()) return nullptr;
  const bool names_node = absl::IsDeadlineExceeded(interrupted) && ctx.node != nullptr;
  step->Fail(names_node ? AnnotateWithNode(interrupted, *ctx.node) : interrupted);
  return ToAbiStatus(errors::Cancelled("the step is stopping"));
}

void Done(MS_Done* done, MS_Status* status) {
  if (done->called.exchange(true, std::memory_order_acq_rel)) {
    HostLog(MS_LOG_ERROR, "a kernel called done twice for one execution; the second is ignored");
    TakeAbiStatus(status).IgnoreError();
    return;
  }
  done->complete(done, TakeAbiStatus(status));
}

MS_Status* DlpackImport(MS_Frame* frame, DLManagedTensorVersioned* managed, MS_Tensor** out) {
  *out = nullptr;
  DeviceMemory* const memory = frame->ctx->host->memory;
  DLPackDevice device;
  if (memory != nullptr) {
    device.type = memory->dlpack_device_type();
    device.id = static_cast<int32_t>(memory->ordinal());
    device.wrap = [memory](DataType dtype, const Shape& shape, void* data, size_t bytes,
                           std::function<void()> release) {
      const MS_MemRef place = {data, 0, bytes, MS_SPACE_DEVICE, memory->ordinal()};
      return memory->Wrap(dtype, shape, place, std::move(release));
    };
  }
  StatusOr<Tensor> tensor = ImportDLPack(managed, device);
  if (!tensor.ok()) return ToAbiStatus(tensor.status());
  *out = new MS_Tensor(*std::move(tensor));
  return nullptr;
}

MS_Status* WrapDevice(MS_Frame* frame, const MS_MemRef* memory, MS_DType dtype, MS_Dims dims,
                      void (*release)(void* user), void* user, MS_Tensor** out) {
  *out = nullptr;
  const StatusOr<Shape> shape = ShapeFromAbi(dims);
  if (!shape.ok()) return ToAbiStatus(shape.status());
  StatusOr<Tensor> tensor =
      Wrapped(frame->ctx->host->memory, *memory, FromAbiDataType(dtype), *shape, release, user);
  if (!tensor.ok()) return ToAbiStatus(tensor.status());
  *out = new MS_Tensor(*std::move(tensor));
  return nullptr;
}

MS_Status* RngReserve(MS_Frame* frame, uint64_t blocks, uint64_t* key, uint64_t counter[2]) {
  if (MS_Status* refused = RefuseWhileRecording(*frame, "random numbers")) return refused;
  frame->ctx->kernel->random()->Reserve(blocks, key, counter);
  return nullptr;
}

}  // namespace

const MS_CtxApi* CtxApi() {
  static const MS_CtxApi api = {
      {sizeof(MS_CtxApi), 1, 0, MS_CTX_API},
      &AllocateOutput,
      &ForwardOrAllocate,
      &SetOutput,
      &AllocateTemp,
      &CancelCheck,
      &Done,
      &RngReserve,
      &host_execution::InputList,
      &host_execution::OutputList,
      &host_execution::ExpectedOutputDType,
      &host_execution::StepId,
      &host_execution::InputTensor,
      &host_execution::CancelRegister,
      &host_execution::CancelDeregister,
      &host_execution::Defer,
      &host_execution::TraceBegin,
      &host_execution::TraceEnd,
      &WrapDevice,
      &DlpackImport,
  };
  return &api;
}

Status RegisterRuntimeInterfaces() {
  MS_RETURN_IF_ERROR(RegisterHostInterface(&CtxApi()->head));
  MS_RETURN_IF_ERROR(RegisterHostInterface(&ResourceApi()->head));
  MS_RETURN_IF_ERROR(RegisterHostInterface(&TraceApi()->head));
  return RegisterHostInterface(&ThreadsApi()->head);
}

}  // namespace millstream
