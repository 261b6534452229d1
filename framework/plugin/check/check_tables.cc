#include "framework/plugin/check/check_tables.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/plugin/check/check_host.h"
#include "framework/plugin/host_interfaces.h"

// Variables that one execution locked.
struct MS_LockSet {
  MS_Ctx* ctx;
  std::vector<millstream::plugin_check::CheckVariable*> variables;
  std::vector<uint32_t> modes;
};

namespace millstream::plugin_check {
namespace {

thread_local MS_Ctx* current_ctx = nullptr;

// Counts an allocation; the status of one that fails on purpose.
Status CountAllocation(MS_Ctx* ctx) {
  const std::lock_guard<std::mutex> lock(ctx->mutex);
  if (++ctx->allocations == ctx->fail_allocation) {
    return errors::ResourceExhausted("the check lets allocation ", ctx->allocations, " fail");
  }
  return absl::OkStatus();
}

Status Misuse(MS_Ctx* ctx, std::string text) {
  const std::lock_guard<std::mutex> lock(ctx->mutex);
  ctx->misuse.push_back(text);
  return errors::Internal(text);
}

// ---- ms.ctx/1 -----------------------------------------------------------------------------------

Status CheckOutputFree(MS_Frame* frame, uint32_t index) {
  if (index >= frame->n_out) {
    return Misuse(frame->ctx, absl::StrCat("output ", index, " of ", frame->n_out, " was asked"));
  }
  if (frame->outputs[index].mem.base != nullptr) {
    return Misuse(frame->ctx, absl::StrCat("output ", index, " has memory already"));
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
    return Give(Misuse(ctx, absl::StrCat("output ", index,
                                         " was set to a tensor of no or of "
                                         "another type")));
  }
  StatusOr<std::unique_ptr<PlacedTensor>> placed = PlacedTensor::CopyOf(Place(), tensor->tensor);
  if (!placed.ok()) return Give(placed.status());
  SetPlaced(frame, index, *std::move(placed), -1);
  return nullptr;
}

MS_Status* AllocateTemp(MS_Frame* frame, MS_DType dtype, MS_Dims dims, uint32_t space,
                        MS_TensorView* out) {
  MS_Ctx* const ctx = frame->ctx;
  const StatusOr<Shape> shape = ShapeFromAbi(dims);
  if (!shape.ok()) return Give(shape.status());
  const Status status = CountAllocation(ctx);
  if (!status.ok()) return Give(status);
  StatusOr<std::unique_ptr<PlacedTensor>> placed = PlacedTensor::Make(
      space == MS_SPACE_DEVICE ? ctx->place : Place(), FromAbiDataType(dtype), *shape, ctx->fill);
  if (!placed.ok()) return Give(placed.status());
  *out = (*placed)->View(0);
  const std::lock_guard<std::mutex> lock(ctx->mutex);
  ctx->temporaries.push_back(*std::move(placed));
  return nullptr;
}

MS_Status* CancelCheck(MS_Frame*) { return nullptr; }

void Done(MS_Done* done, MS_Status* status) {
  const std::lock_guard<std::mutex> lock(done->mutex);
  Status taken = Take(status);
  if (++done->calls == 1) done->status = std::move(taken);
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

// ---- ms.tensor/1 --------------------------------------------------------------------------------

const MS_TensorApi& RealTensors() {
  return *reinterpret_cast<const MS_TensorApi*>(TensorInterface());
}

MS_Status* TensorCreate(uint32_t space, MS_DType dtype, MS_Dims dims, MS_Tensor** out) {
  *out = nullptr;
  if (current_ctx != nullptr) {
    const Status status = CountAllocation(current_ctx);
    if (!status.ok()) return Give(status);
  }
  const Status status = Take(RealTensors().create(space, dtype, dims, out));
  if (!status.ok()) return Give(status);
  if (current_ctx != nullptr) {
    RealTensors().retain(*out);
    const std::lock_guard<std::mutex> lock(current_ctx->mutex);
    current_ctx->created.push_back(*out);
  }
  return nullptr;
}

// ---- ms.resource/1 ------------------------------------------------------------------------------

MS_Status* VarsLock(MS_Frame* frame, const uint32_t* inputs, const uint32_t* modes, uint32_t n,
                    MS_LockSet** out) {
  MS_Ctx* const ctx = frame->ctx;
  auto set = std::make_unique<MS_LockSet>();
  set->ctx = ctx;
  for (uint32_t k = 0; k < n; ++k) {
    if (inputs[k] >= frame->n_in || ctx->variables[inputs[k]] == nullptr) {
      return Give(Misuse(ctx, absl::StrCat("input ", inputs[k], " is locked and no variable")));
    }
    set->variables.push_back(ctx->variables[inputs[k]]);
    set->modes.push_back(modes[k]);
  }
  const std::lock_guard<std::mutex> lock(ctx->mutex);
  ++ctx->held_lock_sets;
  *out = set.release();
  return nullptr;
}

MS_Status* VarView(MS_LockSet* set, uint32_t k, MS_TensorView* out) {
  if (k >= set->variables.size()) return Give(errors::InvalidArgument("no variable ", k));
  const CheckVariable& variable = *set->variables[k];
  if (variable.value == nullptr) {
    return Give(errors::FailedPrecondition("variable ", k, " was never assigned"));
  }
  *out = variable.value->View(0);
  return nullptr;
}

MS_Status* VarPrepareWrite(MS_LockSet* set, uint32_t k, MS_TensorView* out) {
  if (k < set->modes.size() && set->modes[k] != MS_LOCK_WRITE) {
    return Give(Misuse(set->ctx, absl::StrCat("variable ", k, " is locked for reading only")));
  }
  return VarView(set, k, out);
}

MS_Status* VarReplace(MS_LockSet* set, uint32_t k, MS_Tensor* tensor) {
  if (k >= set->variables.size() || tensor == nullptr) {
    return Give(errors::InvalidArgument("no variable ", k, ", or no tensor"));
  }
  StatusOr<std::unique_ptr<PlacedTensor>> placed =
      PlacedTensor::CopyOf(set->ctx->place, tensor->tensor);
  if (!placed.ok()) return Give(placed.status());
  set->variables[k]->value = *std::move(placed);
  return nullptr;
}

void VarsUnlock(MS_LockSet* set) {
  {
    const std::lock_guard<std::mutex> lock(set->ctx->mutex);
    --set->ctx->held_lock_sets;
  }
  delete set;
}

// ---- ms.threads/1 -------------------------------------------------------------------------------

uint32_t NumThreads(const MS_Frame* frame) { return frame->ctx->threads; }

// With several threads even small ranges are cut, unevenly, and run at the same time.
void ParallelFor(MS_Frame* frame, uint64_t total, uint64_t, void (*fn)(void*, uint64_t, uint64_t),
                 void* user) {
  const uint64_t pieces = std::min<uint64_t>(frame->ctx->threads, total);
  if (pieces <= 1) {
    if (total > 0) fn(user, 0, total);
    return;
  }
  std::vector<std::thread> team;
  uint64_t begin = 0;
  for (uint64_t piece = 1; piece <= pieces; ++piece) {
    // The first pieces are the smaller ones.
    const uint64_t share = total * piece * piece / (pieces * pieces);
    const uint64_t end = piece == pieces ? total : std::min(total, std::max(begin + 1, share));
    if (begin < end) team.emplace_back(fn, user, begin, end);
    begin = end;
  }
  for (std::thread& thread : team) thread.join();
}

// ---- What the ABI has and this host does not ----------------------------------------------------

MS_Status* RefuseUnknown() {
  return Give(errors::Unimplemented("the check's host does not have this function"));
}

// Plugins look for all functions of a table before they run. One that they call all the same ends
// as any function that fails.
template <typename Table>
void RefuseTheRest(Table* table) {
  MS_Status* (*const refuse)() = &RefuseUnknown;
  for (size_t at = sizeof(MS_Table); at < sizeof(Table); at += sizeof(refuse)) {
    char* const slot = reinterpret_cast<char*>(table) + at;
    void* function = nullptr;
    std::memcpy(&function, slot, sizeof(function));
    if (function == nullptr) std::memcpy(slot, &refuse, sizeof(refuse));
  }
}

}  // namespace

const MS_CtxApi* CheckCtxApi() {
  static const MS_CtxApi api = [] {
    MS_CtxApi table = {{sizeof(MS_CtxApi), 1, MS_ABI_MINOR, MS_CTX_API}};
    table.allocate_output = &AllocateOutput;
    table.forward_or_allocate = &ForwardOrAllocate;
    table.set_output = &SetOutput;
    table.allocate_temp = &AllocateTemp;
    table.cancel_check = &CancelCheck;
    table.done = &Done;
    table.rng_reserve = &RngReserve;
    RefuseTheRest(&table);
    return table;
  }();
  return &api;
}

const MS_TensorApi* CheckTensorApi() {
  static const MS_TensorApi api = [] {
    MS_TensorApi table = RealTensors();
    table.create = &TensorCreate;
    return table;
  }();
  return &api;
}

const MS_ResourceApi* CheckResourceApi() {
  static const MS_ResourceApi api = [] {
    MS_ResourceApi table = {{sizeof(MS_ResourceApi), 1, MS_ABI_MINOR, MS_RESOURCE_API}};
    table.vars_lock = &VarsLock;
    table.var_view = &VarView;
    table.var_prepare_write = &VarPrepareWrite;
    table.var_replace = &VarReplace;
    table.vars_unlock = &VarsUnlock;
    RefuseTheRest(&table);
    return table;
  }();
  return &api;
}

const MS_ThreadsApi* CheckThreadsApi() {
  static const MS_ThreadsApi api = [] {
    MS_ThreadsApi table = {{sizeof(MS_ThreadsApi), 1, MS_ABI_MINOR, MS_THREADS_API}};
    table.num_threads = &NumThreads;
    table.parallel_for = &ParallelFor;
    RefuseTheRest(&table);
    return table;
  }();
  return &api;
}

void SetCurrentCtx(MS_Ctx* ctx) { current_ctx = ctx; }

}  // namespace millstream::plugin_check
