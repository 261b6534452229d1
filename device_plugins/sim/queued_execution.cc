#include "device_plugins/sim/queued_execution.h"

#include <cstring>
#include <utility>

namespace millstream::sim {

using ms::Status;

QueuedExecution::QueuedExecution(const MS_Frame& frame, Granted granted)
    : KernelHost(frame), granted_(std::move(granted)) {
  const Memory& memory = *reinterpret_cast<Device*>(frame.device_state)->memory();
  for (MS_TensorView& input : inputs_) input = Captured(memory, input);
  for (MS_TensorView& output : outputs_) {
    if (output.mem.base != nullptr) output = Moved(output, memory.Local(output.mem));
  }
  for (Granted::Variable& variable : granted_.variables) {
    if (!variable.is_viewed) continue;
    variable.view = Moved(variable.view, memory.Local(variable.view.mem));
  }
  frame_.scratch = LocalScratch(frame, memory);
  frame_.ctx = nullptr;
}

// What the host has in its own memory may change once compute returns. Handles of variables stand
// for themselves.
MS_TensorView QueuedExecution::Captured(const Memory& memory, const MS_TensorView& view) {
  char* const address = memory.Shown(view.mem);
  if (memory.Holds(view.mem)) return Moved(view, memory.Local(view.mem));
  if (view.dtype == MS_RESOURCE || view.mem.bytes == 0) return Moved(view, address);
  void* const copy = Heap(view.mem.bytes);
  std::memcpy(copy, address, view.mem.bytes);
  return Moved(view, copy);
}

// ---- Outputs ------------------------------------------------------------------------------------

Status QueuedExecution::AllocateOutput(uint32_t index, MS_Dims dims, MS_TensorView* out) {
  if (!IsUsed(index) || ms::NumElements(dims.d, dims.rank) == 0) {
    return AllocateTemp(MS_COMPLEX128, dims, out);  // of the widest type
  }
  return ms::Internal("output ", index, " of shape ", ms::Shape(dims.d, dims.rank).ToString(),
                      " was not asked for before the kernel's work was enqueued");
}

Status QueuedExecution::ForwardOrAllocate(const uint32_t*, uint32_t, uint32_t index, MS_Dims dims,
                                          MS_TensorView* out, int32_t* which) {
  *which = -1;
  return AllocateOutput(index, dims, out);
}

Status QueuedExecution::SetOutput(uint32_t index, MS_Tensor*) {
  return ms::Internal("output ", index, " is set after the kernel's work was enqueued");
}

// ---- Random numbers and variables ---------------------------------------------------------------

Status QueuedExecution::ReserveRandom(uint64_t blocks, uint64_t* key, uint64_t counter[2]) {
  if (next_random_ == granted_.random.size() || granted_.random[next_random_].blocks != blocks) {
    return ms::Internal(blocks, " blocks of random numbers were not reserved before the kernel's ",
                        "work was enqueued");
  }
  const Granted::Random& random = granted_.random[next_random_++];
  *key = random.key;
  counter[0] = random.counter[0];
  counter[1] = random.counter[1];
  return Status();
}

Status QueuedExecution::LockVariables(const uint32_t* inputs, const uint32_t*, uint32_t n,
                                      MS_LockSet** out) {
  bool is_same = n == granted_.variables.size();
  for (uint32_t k = 0; is_same && k < n; ++k) is_same = granted_.variables[k].input == inputs[k];
  if (!is_same) return ms::Internal("other variables are locked than before the work was enqueued");
  *out = reinterpret_cast<MS_LockSet*>(this);
  return Status();
}

Status QueuedExecution::ViewVariable(MS_LockSet*, uint32_t k, MS_TensorView* out) {
  if (k >= granted_.variables.size() || !granted_.variables[k].is_viewed) {
    return ms::Internal("variable ", k, " was not asked for before the work was enqueued");
  }
  *out = granted_.variables[k].view;
  return Status();
}

Status QueuedExecution::PrepareVariable(MS_LockSet* locks, uint32_t k, MS_TensorView* out) {
  return ViewVariable(locks, k, out);
}

Status QueuedExecution::ReplaceVariable(MS_LockSet*, uint32_t k, MS_Tensor*) {
  return ms::Internal("variable ", k, " is replaced after the kernel's work was enqueued");
}

}  // namespace millstream::sim
