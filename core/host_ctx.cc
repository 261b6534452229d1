#include "core/host_ctx.h"

#include <algorithm>
#include <utility>

#include "core/thread_team.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"

namespace millstream {

void SetOutputTensor(MS_Frame* frame, uint32_t index, Tensor tensor) {
  MS_Ctx* ctx = frame->ctx;
  const Root& root = ctx->step->plan->roots[ctx->instruction->outputs[index].root];
  Tensor& slot = ctx->step->slots[root.index];
  slot = std::move(tensor);
  frame->outputs[index] = MakeView(slot, nullptr);
}

namespace {

Status CheckOutputIndex(const MS_Frame* frame, uint32_t index) {
  if (index >= frame->n_out) {
    return errors::Internal("kernel asked for output ", index, " of ", frame->n_out);
  }
  const Root& root = frame->ctx->step->plan->roots[frame->ctx->instruction->outputs[index].root];
  if (root.kind != RootKind::kSlot) {
    return errors::Internal("output ", index, " has planned memory of shape ",
                            root.shape.ToString(), "; the kernel asked for other memory");
  }
  return absl::OkStatus();
}

// What the plan found of the output's shape must hold.
Status CheckOutputShape(const MS_Frame* frame, uint32_t index, const Shape& shape) {
  const ValueRef& output = frame->ctx->instruction->outputs[index];
  if (output.shape_known && output.shape != shape) {
    return errors::Internal("output ", index, " has shape ", shape.ToString(),
                            "; shape inference found ", output.shape.ToString());
  }
  return absl::OkStatus();
}

MS_Status* AllocateOutput(MS_Frame* frame, uint32_t index, MS_Dims dims, MS_TensorView* out) {
  Status status = CheckOutputIndex(frame, index);
  if (!status.ok()) return ToAbiStatus(status);
  StatusOr<Shape> shape = ShapeFromAbi(dims);
  if (!shape.ok()) return ToAbiStatus(shape.status());
  status = CheckOutputShape(frame, index, *shape);
  if (!status.ok()) return ToAbiStatus(status);
  const DataType dtype = frame->ctx->instruction->node->output_type(index);
  StatusOr<Tensor> tensor = Tensor::Create(dtype, *shape);
  if (!tensor.ok()) return ToAbiStatus(tensor.status());
  SetOutputTensor(frame, index, *std::move(tensor));
  *out = frame->outputs[index];
  return nullptr;
}

// True when this instruction is the last reader of a tensor that nobody else holds.
bool MayTakeOver(const MS_Frame* frame, uint32_t input, const Shape& shape, DataType dtype) {
  const MS_Ctx& ctx = *frame->ctx;
  const Root& root = ctx.step->plan->roots[ctx.instruction->inputs[input].root];
  if (root.kind != RootKind::kSlot || root.dtype != dtype) return false;
  // A tensor that the kernel reads in two places must keep its value until it has read both.
  const std::vector<ValueRef>& inputs = ctx.instruction->inputs;
  const int root_index = inputs[input].root;
  const auto is_same = [&](const ValueRef& other) { return other.root == root_index; };
  if (std::count_if(inputs.begin(), inputs.end(), is_same) != 1) return false;
  const int position = static_cast<int>(ctx.instruction - ctx.step->plan->instructions.data());
  const Tensor& tensor = ctx.step->slots[root.index];
  return root.last == position && tensor.shape() == shape && tensor.offset() == 0 &&
         tensor.buffer() && tensor.buffer()->IsUnique() && tensor.buffer()->writable();
}

MS_Status* ForwardOrAllocate(MS_Frame* frame, const uint32_t* candidates, uint32_t n,
                             uint32_t index, MS_Dims dims, MS_TensorView* out, int32_t* which) {
  *which = -1;
  Status status = CheckOutputIndex(frame, index);
  if (!status.ok()) return ToAbiStatus(status);
  StatusOr<Shape> shape = ShapeFromAbi(dims);
  if (!shape.ok()) return ToAbiStatus(shape.status());
  const MS_Ctx& ctx = *frame->ctx;
  const DataType dtype = ctx.instruction->node->output_type(index);
  for (uint32_t k = 0; k < n; ++k) {
    if (candidates[k] >= frame->n_in || !MayTakeOver(frame, candidates[k], *shape, dtype)) continue;
    const Root& root = ctx.step->plan->roots[ctx.instruction->inputs[candidates[k]].root];
    SetOutputTensor(frame, index, ctx.step->slots[root.index]);
    *which = static_cast<int32_t>(candidates[k]);
    *out = frame->outputs[index];
    return nullptr;
  }
  return AllocateOutput(frame, index, dims, out);
}

MS_Status* SetOutput(MS_Frame* frame, uint32_t index, MS_Tensor* tensor) {
  Status status = CheckOutputIndex(frame, index);
  if (!status.ok()) return ToAbiStatus(status);
  status = CheckOutputShape(frame, index, tensor->tensor.shape());
  if (!status.ok()) return ToAbiStatus(status);
  SetOutputTensor(frame, index, tensor->tensor);
  return nullptr;
}

MS_Status* AllocateTemp(MS_Frame* frame, MS_DType dtype, MS_Dims dims, uint32_t space,
                        MS_TensorView* out) {
  StatusOr<Shape> shape = ShapeFromAbi(dims);
  if (!shape.ok()) return ToAbiStatus(shape.status());
  StatusOr<Tensor> tensor = Tensor::Create(FromAbiDataType(dtype), *shape);
  if (!tensor.ok()) return ToAbiStatus(tensor.status());
  std::vector<Tensor>& temps = frame->ctx->step->temps;
  // The view borrows the Tensor object, so the vector must not move it: its capacity is fixed when
  // the step's state is made.
  if (temps.size() == temps.capacity()) {
    return ToAbiStatus(errors::ResourceExhausted("a kernel asked for more than ", temps.capacity(),
                                                 " pieces of temporary memory"));
  }
  temps.push_back(*std::move(tensor));
  *out = MakeView(temps.back(), nullptr);
  return nullptr;
}

MS_Status* CancelCheck(MS_Frame* frame) {
  const RunOptions* options = frame->ctx->step->options;
  if (options->cancellation != nullptr && options->cancellation->IsCancelled()) {
    return ToAbiStatus(errors::Cancelled("the step was cancelled"));
  }
  return nullptr;
}

void Done(MS_Done* done, MS_Status* status) {
  HostLog(MS_LOG_ERROR, "ms.ctx/1 done was called, but no kernel of this host is asynchronous");
  TakeAbiStatus(status).IgnoreError();
}

MS_Status* RngReserve(MS_Frame* frame, uint64_t blocks, uint64_t* key, uint64_t counter[2]) {
  frame->ctx->instruction->kernel->random()->Reserve(blocks, key, counter);
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
  };
  return &api;
}

Status RegisterRuntimeInterfaces() {
  MS_RETURN_IF_ERROR(RegisterHostInterface(&CtxApi()->head));
  MS_RETURN_IF_ERROR(RegisterHostInterface(&ResourceApi()->head));
  return RegisterHostInterface(&ThreadsApi()->head);
}

}  // namespace millstream
