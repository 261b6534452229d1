#include "device_plugins/sim/awaited_execution.h"

namespace millstream::sim {

using ms::Status;

AwaitedExecution::AwaitedExecution(MS_Frame* frame)
    : KernelHost(*frame),
      real_frame_(frame),
      memory_(*reinterpret_cast<Device*>(frame->device_state)->memory()) {
  for (MS_TensorView& input : inputs_) input = Touchable(input);
  for (MS_TensorView& output : outputs_) output = Touchable(output);
  frame_.scratch = LocalScratch(*frame, memory_);
}

MS_TensorView AwaitedExecution::Touchable(const MS_TensorView& view) {
  return memory_.Holds(view.mem) ? Moved(view, memory_.Local(view.mem)) : view;
}

// What the host gives may have to wait on the stream: for a copy, or for another stream that had
// the memory before.
Status AwaitedExecution::Await() { return reinterpret_cast<Stream*>(real_frame_->stream)->Sync(); }

Status AwaitedExecution::AllocateOutput(uint32_t index, MS_Dims dims, MS_TensorView* out) {
  MS_TensorView made{};
  MS_TRY(Status::FromAbi(RealHost().ctx->allocate_output(real_frame_, index, dims, &made)));
  *out = outputs_[index] = Touchable(made);
  return Await();
}

Status AwaitedExecution::ForwardOrAllocate(const uint32_t* candidates, uint32_t n, uint32_t index,
                                           MS_Dims dims, MS_TensorView* out, int32_t* which) {
  MS_TensorView made{};
  MS_TRY(Status::FromAbi(
      RealHost().ctx->forward_or_allocate(real_frame_, candidates, n, index, dims, &made, which)));
  *out = outputs_[index] = Touchable(made);
  return Await();
}

Status AwaitedExecution::SetOutput(uint32_t index, MS_Tensor* tensor) {
  return Status::FromAbi(RealHost().ctx->set_output(real_frame_, index, tensor));
}

Status AwaitedExecution::CheckCancelled() {
  return Status::FromAbi(RealHost().ctx->cancel_check(real_frame_));
}

Status AwaitedExecution::ReserveRandom(uint64_t blocks, uint64_t* key, uint64_t counter[2]) {
  return Status::FromAbi(RealHost().ctx->rng_reserve(real_frame_, blocks, key, counter));
}

Status AwaitedExecution::LockVariables(const uint32_t* inputs, const uint32_t* modes, uint32_t n,
                                       MS_LockSet** out) {
  return Status::FromAbi(RealHost().resource->vars_lock(real_frame_, inputs, modes, n, out));
}

Status AwaitedExecution::ViewVariable(MS_LockSet* locks, uint32_t k, MS_TensorView* out) {
  MS_TensorView view{};
  MS_TRY(Status::FromAbi(RealHost().resource->var_view(locks, k, &view)));
  *out = Touchable(view);
  return Status();
}

Status AwaitedExecution::PrepareVariable(MS_LockSet* locks, uint32_t k, MS_TensorView* out) {
  MS_TensorView view{};
  MS_TRY(Status::FromAbi(RealHost().resource->var_prepare_write(locks, k, &view)));
  *out = Touchable(view);
  return Await();
}

Status AwaitedExecution::ReplaceVariable(MS_LockSet* locks, uint32_t k, MS_Tensor* tensor) {
  return Status::FromAbi(RealHost().resource->var_replace(locks, k, tensor));
}

void AwaitedExecution::UnlockVariables(MS_LockSet* locks) {
  RealHost().resource->vars_unlock(locks);
}

}  // namespace millstream::sim
