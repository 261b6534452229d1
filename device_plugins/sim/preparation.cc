#include "device_plugins/sim/preparation.h"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <new>

namespace millstream::sim {
namespace {

using ms::Status;

// At least `bytes` zeros that nobody can change. They take no memory: all pages are one.
void* Zeros(uint64_t bytes) {
  static std::mutex mutex;
  static void* zeros = nullptr;
  static uint64_t size = 0;
  constexpr uint64_t kLeast = 1 << 30;
  const std::lock_guard<std::mutex> lock(mutex);
  if (zeros == nullptr || bytes > size) {
    // Earlier ones may be in use, and stay.
    const uint64_t wanted = std::max({bytes, 2 * size, kLeast});
    void* const mapped =
        mmap(nullptr, wanted, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    zeros = mapped;
    size = wanted;
  }
  return zeros;
}

}  // namespace

Preparation::Preparation(MS_Frame* frame, bool is_random)
    : KernelHost(*frame), real_frame_(frame), misses_random_(is_random) {
  const Memory& memory = *reinterpret_cast<Device*>(frame->device_state)->memory();
  for (MS_TensorView& input : inputs_) {
    has_variables_ = has_variables_ || input.dtype == MS_RESOURCE;
    if (memory.Holds(input.mem)) input = Moved(input, Zeros(input.mem.bytes));
  }
  for (uint32_t i = 0; i < frame_.n_out; ++i) {
    is_planned_.push_back(outputs_[i].mem.base != nullptr);
    if (IsWanted(i)) ++missing_outputs_;
    // All outputs are asked for, so that none is touched.
    outputs_[i] = MS_TensorView{};
    outputs_[i].rank = MS_UNKNOWN_RANK;
  }
  frame_.shape_state = nullptr;
  frame_.scratch = nullptr;
}

Preparation::~Preparation() {
  if (locks_ != nullptr) RealHost().resource->vars_unlock(locks_);
}

bool Preparation::IsNeeded() const {
  return missing_outputs_ != 0 || has_variables_ || misses_random_;
}

bool Preparation::Prepare(const MS_KernelDef& kernel, void* state) {
  const Status status = Run(kernel, state);
  return is_stopped_ || (status.ok() && missing_outputs_ == 0);
}

Status Preparation::StopWhenComplete() {
  const auto& variables = granted_.variables;
  const bool has_all_variables =
      !has_variables_ || (locks_ != nullptr && std::all_of(variables.begin(), variables.end(),
                                                           [](const Granted::Variable& variable) {
                                                             return variable.is_viewed;
                                                           }));
  if (missing_outputs_ != 0 || misses_random_ || !has_all_variables) return Status();
  is_stopped_ = true;
  return Status(MS_ABORTED, "the kernel is only prepared");
}

Status Preparation::Answer(MS_Status* status) {
  Status answer = Status::FromAbi(status);
  if (answer.code() == MS_RESOURCE_EXHAUSTED) {
    is_out_of_memory_ = true;
    host_message_ = answer.message();
  }
  return answer;
}

// ---- Outputs ------------------------------------------------------------------------------------

Status Preparation::AllocateOutput(uint32_t index, MS_Dims dims, MS_TensorView* out) {
  int32_t which = -1;
  return ForwardOrAllocate(nullptr, 0, index, dims, out, &which);
}

Status Preparation::ForwardOrAllocate(const uint32_t* candidates, uint32_t n, uint32_t index,
                                      MS_Dims dims, MS_TensorView* out, int32_t* which) {
  *which = -1;
  if (IsWanted(index)) {
    const MS_CtxApi& ctx = *RealHost().ctx;
    MS_TensorView made{};
    MS_TRY(Answer(
        n == 0 ? ctx.allocate_output(real_frame_, index, dims, &made)
               : ctx.forward_or_allocate(real_frame_, candidates, n, index, dims, &made, which)));
    is_planned_[index] = true;
    --missing_outputs_;
    MS_TRY(StopWhenComplete());
  }
  *which = -1;
  // What a kernel writes before it has asked for everything goes nowhere.
  const MS_TensorView& known = real_frame_->outputs[index];
  return AllocateTemp(known.dtype == 0 ? MS_COMPLEX128 : known.dtype, dims, out);
}

Status Preparation::SetOutput(uint32_t index, MS_Tensor*) {
  return ms::Unimplemented("output ", index, " is set to a tensor");
}

// ---- Random numbers -----------------------------------------------------------------------------

Status Preparation::ReserveRandom(uint64_t blocks, uint64_t* key, uint64_t counter[2]) {
  MS_TRY(Answer(RealHost().ctx->rng_reserve(real_frame_, blocks, key, counter)));
  granted_.random.push_back({blocks, *key, {counter[0], counter[1]}});
  misses_random_ = false;
  return StopWhenComplete();
}

// ---- Variables ----------------------------------------------------------------------------------

Status Preparation::LockVariables(const uint32_t* inputs, const uint32_t* modes, uint32_t n,
                                  MS_LockSet** out) {
  if (locks_ != nullptr) return ms::Unimplemented("variables are locked a second time");
  MS_TRY(Answer(RealHost().resource->vars_lock(real_frame_, inputs, modes, n, &locks_)));
  for (uint32_t k = 0; k < n; ++k) granted_.variables.push_back({inputs[k]});
  *out = locks_;
  return StopWhenComplete();
}

Status Preparation::ViewVariable(MS_LockSet*, uint32_t k, MS_TensorView* out) {
  MS_TensorView view{};
  MS_TRY(Answer(RealHost().resource->var_view(locks_, k, &view)));
  return KeepVariable(k, view, out);
}

Status Preparation::PrepareVariable(MS_LockSet*, uint32_t k, MS_TensorView* out) {
  MS_TensorView view{};
  MS_TRY(Answer(RealHost().resource->var_prepare_write(locks_, k, &view)));
  return KeepVariable(k, view, out);
}

Status Preparation::KeepVariable(uint32_t k, const MS_TensorView& view, MS_TensorView* out) {
  granted_.variables[k].is_viewed = true;
  granted_.variables[k].view = view;
  MS_TRY(StopWhenComplete());
  // It is not written before the last of them is known.
  *out = Moved(view, Zeros(view.mem.bytes));
  return Status();
}

Status Preparation::ReplaceVariable(MS_LockSet*, uint32_t k, MS_Tensor*) {
  return ms::Unimplemented("variable ", k, " is replaced by a tensor");
}

}  // namespace millstream::sim
