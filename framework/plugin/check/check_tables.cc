#include "framework/plugin/check/check_tables.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/plugin/check/check_ctx.h"
#include "framework/plugin/check/check_dlpack.h"
#include "framework/plugin/check/check_host.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"

// Variables that one execution locked.
struct MS_LockSet {
  MS_Ctx* ctx;
  std::vector<millstream::plugin_check::CheckVariable*> variables;
  std::vector<uint32_t> modes;
  bool is_held = true;
};

namespace millstream::plugin_check {
namespace {

thread_local MS_Ctx* current_ctx = nullptr;

// ---- ms.tensor/1 --------------------------------------------------------------------------------

const MS_TensorApi& RealTensors() {
  return *reinterpret_cast<const MS_TensorApi*>(TensorInterface());
}

// Looks, in the end, whether the tensor that a function gave was released.
MS_Status* Watched(MS_Status* status, MS_Tensor** tensor) {
  if (status != nullptr) return Give(Take(status));
  CheckSession::Watch(*tensor);
  return nullptr;
}

MS_Status* TensorCreate(uint32_t space, MS_DType dtype, MS_Dims dims, MS_Tensor** out) {
  *out = nullptr;
  if (current_ctx != nullptr) {
    const Status status = CountAllocation(current_ctx);
    if (!status.ok()) return Give(status);
  }
  return Watched(RealTensors().create(space, dtype, dims, out), out);
}

MS_Status* TensorSlice(MS_Tensor* tensor, int64_t begin, int64_t end, MS_Tensor** out) {
  return Watched(RealTensors().slice(tensor, begin, end, out), out);
}

MS_Status* TensorReshape(MS_Tensor* tensor, MS_Dims dims, MS_Tensor** out) {
  return Watched(RealTensors().reshape(tensor, dims, out), out);
}

MS_Status* TensorExport(MS_Tensor* tensor, DLManagedTensorVersioned** out) {
  return Give(Take(RealTensors().dlpack_export(tensor, out)));
}

MS_Status* TensorImport(DLManagedTensorVersioned* managed, MS_Tensor** out) {
  *out = nullptr;
  StatusOr<Tensor> tensor = ImportLent(managed, Place());
  if (!tensor.ok()) return Give(tensor.status());
  *out = new MS_Tensor(*std::move(tensor));
  CheckSession::Watch(*out);
  return nullptr;
}

void TensorView(MS_Tensor* tensor, MS_TensorView* out) {
  RealTensors().view(tensor, out);
  out->mem = PlacedTensor::Of(tensor->tensor)->memory();
}

// ---- ms.resource/1 ------------------------------------------------------------------------------

MS_Status* VarsLock(MS_Frame* frame, const uint32_t* inputs, const uint32_t* modes, uint32_t n,
                    MS_LockSet** out) {
  MS_Ctx* const ctx = frame->ctx;
  auto set = std::make_shared<MS_LockSet>();
  set->ctx = ctx;
  for (uint32_t k = 0; k < n; ++k) {
    if (inputs[k] >= frame->n_in || ctx->variables[inputs[k]] == nullptr) {
      return Give(
          Misuse("KERNEL-LOCKS", absl::StrCat("input ", inputs[k], " is locked and no variable")));
    }
    set->variables.push_back(ctx->variables[inputs[k]]);
    set->modes.push_back(modes[k]);
  }
  const std::lock_guard<std::mutex> lock(ctx->mutex);
  if (ctx->held_lock_sets > 0) {
    return Give(errors::FailedPrecondition("the kernel holds a lock set already"));
  }
  ++ctx->held_lock_sets;
  *out = set.get();
  ctx->lock_sets.push_back(std::move(set));
  return nullptr;
}

// Whether the set is still held, and has a variable k.
Status CheckHeld(const MS_LockSet& set, uint32_t k) {
  if (!set.is_held) return Misuse("KERNEL-LOCKS", "a lock set was used after it was unlocked");
  return k < set.variables.size() ? absl::OkStatus() : errors::InvalidArgument("no variable ", k);
}

MS_Status* VarView(MS_LockSet* set, uint32_t k, MS_TensorView* out) {
  const Status held = CheckHeld(*set, k);
  if (!held.ok()) return Give(held);
  const CheckVariable& variable = *set->variables[k];
  if (variable.value == nullptr) {
    return Give(errors::FailedPrecondition("variable ", k, " was never assigned"));
  }
  *out = variable.value->View(0);
  return nullptr;
}

MS_Status* VarPrepareWrite(MS_LockSet* set, uint32_t k, MS_TensorView* out) {
  if (k < set->modes.size() && set->modes[k] != MS_LOCK_WRITE) {
    return Give(
        Misuse("KERNEL-LOCKS", absl::StrCat("variable ", k, " is locked for reading only")));
  }
  const Status held = CheckHeld(*set, k);
  if (!held.ok()) return Give(held);
  std::unique_ptr<PlacedTensor>& value = set->variables[k]->value;
  if (value != nullptr && value->is_shared()) {
    StatusOr<Tensor> read = value->Read();
    if (!read.ok()) return Give(read.status());
    StatusOr<std::unique_ptr<PlacedTensor>> copy = PlacedTensor::CopyOf(set->ctx->place, *read);
    if (!copy.ok()) return Give(copy.status());
    value = *std::move(copy);
  }
  return VarView(set, k, out);
}

MS_Status* VarReplace(MS_LockSet* set, uint32_t k, MS_Tensor* tensor) {
  const Status held = CheckHeld(*set, k);
  if (!held.ok()) return Give(held);
  if (tensor == nullptr || tensor->tensor.dtype() != set->variables[k]->dtype) {
    return Give(errors::InvalidArgument("variable ", k, " is given no tensor of its type"));
  }
  set->variables[k]->value = PlacedTensor::Of(tensor->tensor);
  return nullptr;
}

void VarsUnlock(MS_LockSet* set) {
  const std::lock_guard<std::mutex> lock(set->ctx->mutex);
  if (std::exchange(set->is_held, false)) {
    --set->ctx->held_lock_sets;
  } else {
    NoteMisuse("KERNEL-LOCKS", "a lock set was unlocked twice");
  }
}

MS_Status* HandleRead(const MS_TensorView* handle, MS_Str* container, MS_Str* name, MS_Str* type) {
  if (handle->dtype != MS_RESOURCE || handle->mem.base == nullptr) {
    return Give(errors::InvalidArgument("the tensor is the handle of no variable"));
  }
  *container = ToAbi("");
  *name = ToAbi(static_cast<const CheckVariable*>(handle->mem.base)->name);
  *type = ToAbi("Variable");
  return nullptr;
}

MS_Status* ObjectCreate(MS_Frame* frame, MS_Str container, MS_Str name, MS_Str type, void* object,
                        MS_Resource** out) {
  *out = nullptr;
  return Give(frame->ctx->session->Create(container, name, type, object, out));
}

MS_Status* ObjectLookupOrCreate(MS_Frame* frame, MS_Str container, MS_Str name, MS_Str type,
                                MS_Status* (*make)(void* user, void** out_object), void* user,
                                void** out_object, MS_Resource** out) {
  *out = nullptr;
  return Give(
      frame->ctx->session->LookupOrCreate(container, name, type, make, user, out_object, out));
}

MS_Status* ObjectLookup(MS_Frame* frame, MS_Str container, MS_Str name, MS_Str type,
                        void** out_object, MS_Resource** out) {
  return ObjectLookupOrCreate(frame, container, name, type, nullptr, nullptr, out_object, out);
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

// Nobody waits for it: the kernel has to, before the execution ends.
void Schedule(MS_Frame*, void (*fn)(void* user), void* user) { std::thread(fn, user).detach(); }

// ---- ms.grad/1 ----------------------------------------------------------------------------------

// Plugins may want to see the table when they are loaded; there are no graphs here that gradients
// could be added to, so that nobody calls its functions.
MS_Status* RefuseGradients() {
  return Give(errors::Unimplemented("the check's host builds no graphs"));
}

template <typename Table>
void RefuseAll(Table* table) {
  MS_Status* (*const refuse)() = &RefuseGradients;
  for (size_t at = sizeof(MS_Table); at < sizeof(Table); at += sizeof(refuse)) {
    std::memcpy(reinterpret_cast<char*>(table) + at, &refuse, sizeof(refuse));
  }
}

}  // namespace

const MS_TensorApi* CheckTensorApi() {
  static const MS_TensorApi api = [] {
    MS_TensorApi table = RealTensors();
    table.retain = &CheckSession::Retain;
    table.release = &CheckSession::Release;
    table.view = &TensorView;
    table.create = &TensorCreate;
    table.slice = &TensorSlice;
    table.reshape = &TensorReshape;
    table.dlpack_export = &TensorExport;
    table.dlpack_import = &TensorImport;
    return table;
  }();
  return &api;
}

const MS_ResourceApi* CheckResourceApi() {
  static const MS_ResourceApi api = {
      {sizeof(MS_ResourceApi), 1, MS_ABI_MINOR, MS_RESOURCE_API},
      &VarsLock,
      &VarView,
      &VarPrepareWrite,
      &VarReplace,
      &VarsUnlock,
      &HandleRead,
      &ObjectCreate,
      &ObjectLookup,
      &ObjectLookupOrCreate,
      &CheckSession::Release,
  };
  return &api;
}

const MS_ThreadsApi* CheckThreadsApi() {
  static const MS_ThreadsApi api = {
      {sizeof(MS_ThreadsApi), 1, MS_ABI_MINOR, MS_THREADS_API},
      &NumThreads,
      &ParallelFor,
      &Schedule,
  };
  return &api;
}

const MS_GradApi* CheckGradApi() {
  static const MS_GradApi api = [] {
    MS_GradApi table = {{sizeof(MS_GradApi), 1, MS_ABI_MINOR, MS_GRAD_API}};
    RefuseAll(&table);
    return table;
  }();
  return &api;
}

void SetCurrentCtx(MS_Ctx* ctx) { current_ctx = ctx; }

}  // namespace millstream::plugin_check
