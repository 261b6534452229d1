#include "device_plugins/sim/kernel_host.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace millstream::sim {
namespace {

using ms::Guarded;

constexpr uint64_t kHeapAlignment = 64;

ms::HostTables real_host;
thread_local KernelHost* current = nullptr;

// ---- ms.ctx/1 -----------------------------------------------------------------------------------

MS_Status* AllocateOutput(MS_Frame* frame, uint32_t index, MS_Dims dims,
                          MS_TensorView* out) noexcept {
  if (current == nullptr) return real_host.ctx->allocate_output(frame, index, dims, out);
  return Guarded([&] { return current->AllocateOutput(index, dims, out); });
}

MS_Status* ForwardOrAllocate(MS_Frame* frame, const uint32_t* candidates, uint32_t n,
                             uint32_t index, MS_Dims dims, MS_TensorView* out,
                             int32_t* which) noexcept {
  if (current == nullptr) {
    return real_host.ctx->forward_or_allocate(frame, candidates, n, index, dims, out, which);
  }
  return Guarded(
      [&] { return current->ForwardOrAllocate(candidates, n, index, dims, out, which); });
}

MS_Status* SetOutput(MS_Frame* frame, uint32_t index, MS_Tensor* tensor) noexcept {
  if (current == nullptr) return real_host.ctx->set_output(frame, index, tensor);
  return Guarded([&] { return current->SetOutput(index, tensor); });
}

MS_Status* AllocateTemp(MS_Frame* frame, MS_DType dtype, MS_Dims dims, uint32_t space,
                        MS_TensorView* out) noexcept {
  if (current == nullptr) return real_host.ctx->allocate_temp(frame, dtype, dims, space, out);
  return Guarded([&] { return current->AllocateTemp(dtype, dims, out); });
}

MS_Status* CancelCheck(MS_Frame* frame) noexcept {
  if (current == nullptr) return real_host.ctx->cancel_check(frame);
  return Guarded([&] { return current->CheckCancelled(); });
}

void Done(MS_Done* done, MS_Status* status) noexcept { real_host.ctx->done(done, status); }

MS_Status* RngReserve(MS_Frame* frame, uint64_t blocks, uint64_t* key,
                      uint64_t counter[2]) noexcept {
  if (current == nullptr) return real_host.ctx->rng_reserve(frame, blocks, key, counter);
  return Guarded([&] { return current->ReserveRandom(blocks, key, counter); });
}

const MS_CtxApi kCtx = {{sizeof(MS_CtxApi), 1, MS_ABI_MINOR, MS_CTX_API},
                        &AllocateOutput,
                        &ForwardOrAllocate,
                        &SetOutput,
                        &AllocateTemp,
                        &CancelCheck,
                        &Done,
                        &RngReserve};

// ---- ms.resource/1 ------------------------------------------------------------------------------

MS_Status* VarsLock(MS_Frame* frame, const uint32_t* inputs, const uint32_t* modes, uint32_t n,
                    MS_LockSet** out) noexcept {
  if (current == nullptr) return real_host.resource->vars_lock(frame, inputs, modes, n, out);
  return Guarded([&] { return current->LockVariables(inputs, modes, n, out); });
}

MS_Status* VarView(MS_LockSet* locks, uint32_t k, MS_TensorView* out) noexcept {
  if (current == nullptr) return real_host.resource->var_view(locks, k, out);
  return Guarded([&] { return current->ViewVariable(locks, k, out); });
}

MS_Status* VarPrepareWrite(MS_LockSet* locks, uint32_t k, MS_TensorView* out) noexcept {
  if (current == nullptr) return real_host.resource->var_prepare_write(locks, k, out);
  return Guarded([&] { return current->PrepareVariable(locks, k, out); });
}

MS_Status* VarReplace(MS_LockSet* locks, uint32_t k, MS_Tensor* tensor) noexcept {
  if (current == nullptr) return real_host.resource->var_replace(locks, k, tensor);
  return Guarded([&] { return current->ReplaceVariable(locks, k, tensor); });
}

void VarsUnlock(MS_LockSet* locks) noexcept {
  if (current == nullptr) return real_host.resource->vars_unlock(locks);
  current->UnlockVariables(locks);
}

const MS_ResourceApi kResource = {{sizeof(MS_ResourceApi), 1, MS_ABI_MINOR, MS_RESOURCE_API},
                                  &VarsLock,
                                  &VarView,
                                  &VarPrepareWrite,
                                  &VarReplace,
                                  &VarsUnlock};

// ---- ms.threads/1 -------------------------------------------------------------------------------

uint32_t NumThreads(const MS_Frame* frame) noexcept {
  return current == nullptr ? real_host.threads->num_threads(frame) : 1;
}

void ParallelFor(MS_Frame* frame, uint64_t total, uint64_t cost_ns_per_unit,
                 void (*fn)(void* user, uint64_t begin, uint64_t end), void* user) noexcept {
  if (current == nullptr) {
    real_host.threads->parallel_for(frame, total, cost_ns_per_unit, fn, user);
  } else if (total > 0) {
    fn(user, 0, total);
  }
}

const MS_ThreadsApi kThreads = {
    {sizeof(MS_ThreadsApi), 1, MS_ABI_MINOR, MS_THREADS_API}, &NumThreads, &ParallelFor};

}  // namespace

void InterposeHostTables() {
  if (ms::host_tables.ctx == &kCtx) return;
  real_host = ms::host_tables;
  ms::host_tables.ctx = &kCtx;
  ms::host_tables.resource = &kResource;
  ms::host_tables.threads = &kThreads;
}

const ms::HostTables& RealHost() { return real_host; }

void* LocalScratch(const MS_Frame& frame, const Memory& memory) {
  if (frame.scratch != nullptr) return memory.window().Local(static_cast<char*>(frame.scratch));
  const bool has_place = MS_COVERS(&frame, scratch_mem) && frame.scratch_mem.bytes != 0;
  return has_place ? memory.Local(frame.scratch_mem) : nullptr;
}

uint64_t BytesOf(MS_DType dtype, MS_Dims dims) {
  return ms::ElementSize(dtype) * static_cast<uint64_t>(ms::NumElements(dims.d, dims.rank));
}

// ---- KernelHost ---------------------------------------------------------------------------------

KernelHost::KernelHost(const MS_Frame& frame)
    : frame_(frame),
      inputs_(frame.inputs, frame.inputs + frame.n_in),
      outputs_(frame.outputs, frame.outputs + frame.n_out),
      outputs_used_(frame.outputs_used, frame.outputs_used + (frame.n_out + 63) / 64) {
  // The writer of the frame may know more of it than this, or less.
  frame_.head.size = std::min<uint32_t>(frame.head.size, sizeof(frame_));
  frame_.head.ext = nullptr;
  frame_.inputs = inputs_.data();
  frame_.outputs = outputs_.data();
  frame_.outputs_used = outputs_used_.data();
}

ms::Status KernelHost::Run(const MS_KernelDef& kernel, void* state) {
  KernelHost* const previous = current;
  current = this;
  MS_Status* const status = kernel.compute(state, &frame_);  // which throws nothing
  current = previous;
  return ms::Status::FromAbi(status);
}

ms::Status KernelHost::AllocateTemp(MS_DType dtype, MS_Dims dims, MS_TensorView* out) {
  const uint64_t bytes = BytesOf(dtype, dims);
  *out = MS_TensorView{};
  out->mem = MS_MemRef{Heap(bytes), 0, bytes, MS_SPACE_HOST, 0};
  out->dims = KeptDims(dims.d, dims.rank);
  out->rank = dims.rank;
  out->dtype = dtype;
  out->flags = MS_VIEW_HOST;
  return ms::Status();
}

MS_TensorView KernelHost::Moved(const MS_TensorView& view, void* address) {
  MS_TensorView moved = view;
  moved.mem.base = address;
  moved.mem.offset = 0;
  moved.handle = nullptr;
  if (view.rank != MS_UNKNOWN_RANK) moved.dims = KeptDims(view.dims, view.rank);
  return moved;
}

const int64_t* KernelHost::KeptDims(const int64_t* dims, uint32_t rank) {
  return dims_.emplace_back(dims, dims + rank).data();
}

void* KernelHost::Heap(uint64_t bytes) {
  const uint64_t size = (std::max<uint64_t>(bytes, 1) + kHeapAlignment - 1) & ~(kHeapAlignment - 1);
  void* const memory = size < bytes ? nullptr : std::aligned_alloc(kHeapAlignment, size);
  if (memory == nullptr) throw std::bad_alloc();
  heap_.emplace_back(memory);
  return memory;
}

void KernelHost::FreeHeap::operator()(void* memory) const { std::free(memory); }

}  // namespace millstream::sim
