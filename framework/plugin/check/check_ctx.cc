#include "framework/plugin/check/check_ctx.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "framework/plugin/check/check_dlpack.h"
#include "framework/plugin/host_status.h"

namespace millstream::plugin_check {
namespace {

// ---- Outputs and memory -------------------------------------------------------------------------

Status CheckOutputFree(MS_Frame* frame, uint32_t index) {
  if (index >= frame->n_out) {
    return Misuse("KERNEL-OUTPUTS",
                  absl::StrCat("output ", index, " of ", frame->n_out, " was asked"));
  }
  if (frame->outputs[index].mem.base != nullptr) {
    return Misuse("KERNEL-OUTPUTS", absl::StrCat("output ", index, " has memory already"));
  }
  return absl::OkStatus();
}

void SetPlaced(MS_Frame* frame, uint32_t index, std::unique_ptr<PlacedTensor> placed, int taken) {
  MS_Ctx* const ctx = frame->ctx;
  const std::lock_guard<std::mutex> lock(ctx->mutex);
  ctx->outputs[index] = std::move(placed);
  ctx->taken_inputs[index] = taken;
  frame->outputs[index] = ctx->outputs[index]->View(0);
}

Status Allocate(MS_Frame* frame, uint32_t index, const Shape& shape) {
  MS_Ctx* const ctx = frame->ctx;
  MS_RETURN_IF_ERROR(CountAllocation(ctx));
  const DataType dtype = FromAbiDataType(ctx->output_dtypes[index]);
  MS_ASSIGN_OR_RETURN(std::unique_ptr<PlacedTensor> placed,
                      PlacedTensor::Make(ctx->output_on_host[index] ? Place() : ctx->place, dtype,
                                         shape, ctx->fill));
  SetPlaced(frame, index, std::move(placed), -1);
  return absl::OkStatus();
}

MS_Status* AllocateOutput(MS_Frame* frame, uint32_t index, MS_Dims dims, MS_TensorView* out) {
  Status status = CheckOutputFree(frame, index);
  if (!status.ok()) return Give(status);
  const StatusOr<Shape> shape = ShapeFromAbi(dims);
  if (!shape.ok()) return Give(shape.status());
  status = Allocate(frame, index, *shape);
  if (!status.ok()) return Give(status);
  *out = frame->outputs[index];
  return nullptr;
}

MS_Status* ForwardOrAllocate(MS_Frame* frame, const uint32_t* candidates, uint32_t n,
                             uint32_t index, MS_Dims dims, MS_TensorView* out, int32_t* which) {
  *which = -1;
  const Status status = CheckOutputFree(frame, index);
  if (!status.ok()) return Give(status);
  const StatusOr<Shape> shape = ShapeFromAbi(dims);
  if (!shape.ok()) return Give(shape.status());
  MS_Ctx* const ctx = frame->ctx;
  const DataType dtype = FromAbiDataType(ctx->output_dtypes[index]);
  for (uint32_t k = 0; k < n && ctx->may_forward; ++k) {
    if (candidates[k] >= frame->n_in) continue;
    const PlacedTensor* input = ctx->inputs[candidates[k]];
    if (input == nullptr || input->dtype() != dtype || input->shape() != *shape) continue;
    if (!IsPlainData(dtype)) continue;
    *which = static_cast<int32_t>(candidates[k]);
    SetPlaced(frame, index, input->Over(dtype, *shape), *which);
    *out = frame->outputs[index];
    return nullptr;
  }
  return AllocateOutput(frame, index, dims, out);
}

MS_Status* SetOutput(MS_Frame* frame, uint32_t index, MS_Tensor* tensor) {
  Status status = CheckOutputFree(frame, index);
  if (!status.ok()) return Give(status);
  MS_Ctx* const ctx = frame->ctx;
  if (tensor == nullptr || ToAbiDataType(tensor->tensor.dtype()) != ctx->output_dtypes[index]) {
    return Give(
        Misuse("KERNEL-OUTPUTS",
               absl::StrCat("output ", index, " was set to no tensor, or to one of another type")));
  }
  const Place place = ctx->output_on_host[index] ? Place() : ctx->place;
  if (place.on_host() == tensor->tensor.is_on_device()) {
    return Give(
        Misuse("KERNEL-OUTPUTS", absl::StrCat("output ", index, " was set to a tensor in the ",
                                              place.on_host() ? "device's" : "host's", " memory")));
  }
  SetPlaced(frame, index, PlacedTensor::Of(tensor->tensor), -1);
  return nullptr;
}

MS_Status* AllocateTemp(MS_Frame* frame, MS_DType dtype, MS_Dims dims, uint32_t space,
                        MS_TensorView* out) {
  MS_Ctx* const ctx = frame->ctx;
  const StatusOr<Shape> shape = ShapeFromAbi(dims);
  if (!shape.ok()) return Give(shape.status());
  const DataType type = FromAbiDataType(dtype);
  const bool is_there = space == MS_SPACE_DEVICE || space == MS_SPACE_HOST ||
                        (space == MS_SPACE_HOST_PINNED && ctx->place.has_pinned);
  if (!is_there || !IsPlainData(type)) {
    return Give(errors::Unimplemented("there is no temporary memory for ", DataTypeName(type),
                                      " in space ", space));
  }
  const Status status = CountAllocation(ctx);
  if (!status.ok()) return Give(status);
  StatusOr<std::unique_ptr<PlacedTensor>> placed =
      PlacedTensor::Make(space == MS_SPACE_DEVICE ? ctx->place : Place(), type, *shape, ctx->fill);
  if (!placed.ok()) return Give(placed.status());
  *out = (*placed)->View(0);
  const std::lock_guard<std::mutex> lock(ctx->mutex);
  ctx->temporaries.push_back(*std::move(placed));
  return nullptr;
}

// ---- Cancellation, the end, random numbers ------------------------------------------------------

MS_Status* CancelCheck(MS_Frame* frame) {
  if (!frame->ctx->is_cancelled) return nullptr;
  return Give(errors::Cancelled("the step is stopping"));
}

void Done(MS_Done* done, MS_Status* status) {
  const std::lock_guard<std::mutex> lock(done->mutex);
  Status taken = Take(status);
  if (++done->calls != 1) return;
  done->status = std::move(taken);
  EndExecution(done->ctx);
}

MS_Status* RngReserve(MS_Frame* frame, uint64_t blocks, uint64_t* key, uint64_t counter[2]) {
  MS_Ctx* const ctx = frame->ctx;
  const std::lock_guard<std::mutex> lock(ctx->mutex);
  *key = ctx->philox_key;
  counter[0] = ctx->philox_counter[0];
  counter[1] = ctx->philox_counter[1];
  ctx->philox_counter[0] += blocks;
  if (ctx->philox_counter[0] < blocks) ++ctx->philox_counter[1];
  return nullptr;
}

// REQUIRES: the context is locked.
void CheckFrame(const MS_Ctx& ctx) {
  std::vector<MS_TensorView> outputs;
  for (const auto& output : ctx.outputs) {
    outputs.push_back(output == nullptr ? NullView() : output->View(0));
  }
  for (const std::string& part : ctx.frame->Changes(outputs)) {
    NoteMisuse("KERNEL-FRAME", absl::StrCat("it wrote to ", part, " of its frame"));
  }
}

// ---- What the execution is ----------------------------------------------------------------------

MS_Status* FindList(const MS_Ctx& ctx, const std::vector<ArgDef>& arguments,
                    const std::vector<int>& starts, MS_Str name, uint32_t* begin, uint32_t* end) {
  const auto found = absl::c_find_if(
      arguments, [name](const ArgDef& argument) { return argument.name == FromAbi(name); });
  if (found == arguments.end()) {
    return Give(errors::NotFound("op ", ctx.op->name, " has no argument \"", FromAbi(name), "\""));
  }
  const auto position = static_cast<size_t>(found - arguments.begin());
  *begin = static_cast<uint32_t>(starts[position]);
  *end = static_cast<uint32_t>(starts[position + 1]);
  return nullptr;
}

MS_Status* InputList(const MS_Frame* frame, MS_Str name, uint32_t* begin, uint32_t* end) {
  const MS_Ctx& ctx = *frame->ctx;
  return FindList(ctx, ctx.op->inputs, ctx.signature->input_starts, name, begin, end);
}

MS_Status* OutputList(const MS_Frame* frame, MS_Str name, uint32_t* begin, uint32_t* end) {
  const MS_Ctx& ctx = *frame->ctx;
  return FindList(ctx, ctx.op->outputs, ctx.signature->output_starts, name, begin, end);
}

MS_DType ExpectedOutputDType(const MS_Frame* frame, uint32_t index) {
  const std::vector<MS_DType>& dtypes = frame->ctx->output_dtypes;
  return index < dtypes.size() ? dtypes[index] : 0;
}

uint64_t StepId(const MS_Frame* frame) { return frame->ctx->step_id; }

// Always a copy, as of memory that is needed for something else.
StatusOr<Tensor> CopyOfInput(const MS_Frame& frame, uint32_t index) {
  MS_Ctx* const ctx = frame.ctx;
  if (index >= frame.n_in || ctx->inputs[index] == nullptr) {
    return errors::InvalidArgument("input ", index, " of ", frame.n_in,
                                   " is not there, or a handle, which has no value");
  }
  MS_RETURN_IF_ERROR(CountAllocation(ctx));
  MS_ASSIGN_OR_RETURN(Tensor value, ctx->inputs[index]->Read());
  if (ctx->inputs[index]->on_host()) return value;
  MS_ASSIGN_OR_RETURN(std::unique_ptr<PlacedTensor> copy, PlacedTensor::CopyOf(ctx->place, value));
  return TensorOver(std::move(copy));
}

MS_Status* InputTensor(MS_Frame* frame, uint32_t index, MS_Tensor** out) {
  *out = nullptr;
  StatusOr<Tensor> copy = CopyOfInput(*frame, index);
  if (!copy.ok()) return Give(copy.status());
  *out = new MS_Tensor(*std::move(copy));
  CheckSession::Watch(*out);
  return nullptr;
}

// The plugin's memory as a tensor.
StatusOr<Tensor> Wrapped(const Place& place, const MS_MemRef& memory, DataType dtype,
                         const Shape& shape, void (*release)(void* user), void* user) {
  if (release == nullptr) {
    return Misuse("KERNEL-WRAPPED", "wrap_device was called without release");
  }
  if (!IsPlainData(dtype)) {
    return errors::Unimplemented("memory of a device has types of fixed size, given was ",
                                 DataTypeName(dtype));
  }
  const auto elements = static_cast<uint64_t>(shape.num_elements());
  if (memory.bytes / DataTypeSize(dtype) < elements || (memory.base == nullptr && elements > 0)) {
    return Misuse("KERNEL-WRAPPED",
                  absl::StrCat("wrap_device was called with memory of ", memory.bytes,
                               " bytes for ", DataTypeName(dtype), shape.ToString()));
  }
  std::unique_ptr<Block> block = Block::Wrap(place, memory, elements * DataTypeSize(dtype),
                                             [release, user] { release(user); });
  return TensorOver(PlacedTensor::In(std::move(block), dtype, shape, place.on_host()));
}

// A tensor of the kernel's own memory, which the host has from now on.
MS_Status* GiveWrapped(MS_Ctx* ctx, StatusOr<Tensor> tensor, MS_Tensor** out) {
  if (!tensor.ok()) return Give(tensor.status());
  *out = new MS_Tensor(*std::move(tensor));
  CheckSession::Watch(*out);
  const std::lock_guard<std::mutex> lock(ctx->mutex);
  ctx->has_wrapped = true;
  return nullptr;
}

MS_Status* WrapDevice(MS_Frame* frame, const MS_MemRef* memory, MS_DType dtype, MS_Dims dims,
                      void (*release)(void* user), void* user, MS_Tensor** out) {
  *out = nullptr;
  const StatusOr<Shape> shape = ShapeFromAbi(dims);
  if (!shape.ok()) return Give(shape.status());
  MS_Ctx* const ctx = frame->ctx;
  return GiveWrapped(
      ctx, Wrapped(ctx->place, *memory, FromAbiDataType(dtype), *shape, release, user), out);
}

MS_Status* DlpackImport(MS_Frame* frame, DLManagedTensorVersioned* managed, MS_Tensor** out) {
  *out = nullptr;
  return GiveWrapped(frame->ctx, ImportLent(managed, frame->ctx->place), out);
}

// ---- Calls later, parts of traces ---------------------------------------------------------------

MS_Status* CancelRegister(MS_Frame* frame, void (*fn)(void* user), void* user,
                          uint64_t* out_token) {
  static std::atomic<uint64_t> tokens{0};
  *out_token = 0;
  if (fn == nullptr) return Give(errors::InvalidArgument("cancel_register: fn is NULL"));
  MS_Ctx* const ctx = frame->ctx;
  *out_token = ++tokens;
  if (ctx->is_cancelled) {
    fn(user);
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(ctx->mutex);
  ctx->cancel_calls[*out_token] = {fn, user};
  return nullptr;
}

void CancelDeregister(MS_Frame* frame, uint64_t token) {
  const std::lock_guard<std::mutex> lock(frame->ctx->mutex);
  frame->ctx->cancel_calls.erase(token);
}

MS_Status* DeferRelease(MS_Frame* frame, void (*fn)(void* user), void* user) {
  if (fn == nullptr) return Give(errors::InvalidArgument("defer_release: fn is NULL"));
  const std::lock_guard<std::mutex> lock(frame->ctx->mutex);
  frame->ctx->deferred.push_back({fn, user});
  return nullptr;
}

void TraceBegin(MS_Frame* frame, MS_Str name) {
  MS_Ctx* const ctx = frame->ctx;
  if (!ctx->is_traced) return;
  const std::lock_guard<std::mutex> lock(ctx->mutex);
  ctx->open_parts[std::this_thread::get_id()].emplace_back(FromAbi(name));
}

void TraceEnd(MS_Frame* frame) {
  MS_Ctx* const ctx = frame->ctx;
  if (!ctx->is_traced) return;
  const std::lock_guard<std::mutex> lock(ctx->mutex);
  std::vector<std::string>& parts = ctx->open_parts[std::this_thread::get_id()];
  if (parts.empty()) {
    NoteMisuse("KERNEL-TRACE", "trace_end was called without a part of its thread");
  } else {
    parts.pop_back();
  }
}

}  // namespace

const MS_CtxApi* CheckCtxApi() {
  static const MS_CtxApi api = {
      {sizeof(MS_CtxApi), 1, MS_ABI_MINOR, MS_CTX_API},
      &AllocateOutput,
      &ForwardOrAllocate,
      &SetOutput,
      &AllocateTemp,
      &CancelCheck,
      &Done,
      &RngReserve,
      &InputList,
      &OutputList,
      &ExpectedOutputDType,
      &StepId,
      &InputTensor,
      &CancelRegister,
      &CancelDeregister,
      &DeferRelease,
      &TraceBegin,
      &TraceEnd,
      &WrapDevice,
      &DlpackImport,
  };
  return &api;
}

Status CountAllocation(MS_Ctx* ctx) {
  const std::lock_guard<std::mutex> lock(ctx->mutex);
  if (++ctx->allocations == ctx->fail_allocation) {
    return errors::ResourceExhausted("the check lets allocation ", ctx->allocations, " fail");
  }
  return absl::OkStatus();
}

Status Misuse(const char* rule, std::string text) {
  NoteMisuse(rule, text);
  return errors::Internal(text);
}

void EndExecution(MS_Ctx* ctx) {
  const std::lock_guard<std::mutex> lock(ctx->mutex);
  if (ctx->frame != nullptr) CheckFrame(*ctx);
  for (const auto& [thread, parts] : ctx->open_parts) {
    for (const std::string& part : parts) {
      NoteMisuse("KERNEL-TRACE", absl::StrCat("part \"", part, "\" was begun and not ended"));
    }
  }
  if (!ctx->cancel_calls.empty()) {
    NoteMisuse("KERNEL-CANCEL",
               "a function that it registered for cancellation is still registered");
  }
}

}  // namespace millstream::plugin_check
