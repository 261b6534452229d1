// PlanRun: instructions that wait, for another part of the step, an asynchronous kernel or the
// device.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/error_details.h"
#include "core/host/host_ctx.h"
#include "core/numerics/numeric_checks.h"
#include "core/plan/plan_executor.h"
#include "core/plan/plan_wait.h"

namespace millstream {

// True if the instruction at `position` waits only for the device.
bool PlanRun::AwaitsDevice() const {
  return plan_.instructions[state_->position].transfer == TransferKind::kAwaitHost;
}

// True if the result that the waiting instruction needs has arrived. REQUIRES: the instruction
// started.
bool PlanRun::HasArrived() const {
  if (AwaitsDevice()) return !device_->IsWaiting();
  return waits_.back()->arrived.load(std::memory_order_acquire);
}

// Takes the result for the instruction at `position`.
Status PlanRun::FinishWait() {
  waiting_ = false;
  Relaxed<int>& position = state_->position;
  if (AwaitsDevice()) {
    if (trace_ != nullptr) Trace(position, wait_start_);
    MS_RETURN_IF_ERROR(AfterCall(position, plan_.calls[position].after & ~kAfterWait));
    ++position;
    return absl::OkStatus();
  }
  Wait& wait = *waits_.back();
  const bool left_locked = ReleaseLeftLocks(&state_->contexts[position]);
  if (!wait.status.ok()) return Annotate(position, wait.status);
  if (left_locked) return Annotate(position, LeftLockedError());
  const Instruction& instruction = plan_.instructions[position];
  if (instruction.checks != nullptr) {
    const Status checked =
        instruction.checks->CheckResults(*instruction.kernel, &state_->frames[position]);
    if (!checked.ok()) return Annotate(position, checked);
  }
  if (wait.parcel.tensor.has_value()) {
    Tensor tensor = std::move(wait.parcel.tensor);
    if (device_ != nullptr) {
      const Root& root = plan_.roots[instruction.outputs[0].root];
      StatusOr<Tensor> unpacked = device_->Unpack(
          *instruction.node, Parcel{std::move(tensor), false, wait.parcel.ready}, root.in_host);
      if (!unpacked.ok()) return Annotate(position, unpacked.status());
      tensor = *std::move(unpacked);
    }
    state_->SetOutput(&state_->frames[position], 0, std::move(tensor));
  }
  if (trace_ != nullptr) Trace(position, wait_start_);
  MS_RETURN_IF_ERROR(AfterCall(position, plan_.calls[position].after & ~kAfterWait));
  state_->temps.clear();
  ++position;
  return absl::OkStatus();
}

MS_Status* PlanRun::StartAsync(void* kernel_instance, MS_Frame* frame) {
  auto* const kernel = static_cast<KernelInstance*>(kernel_instance);
  PlanRun* const run = static_cast<StepState*>(frame->ctx->host)->run;
  run->waits_.push_back(std::make_unique<Wait>(run, frame->ctx->node));
  frame->ctx->is_beside = true;  // another part of the step may use the team
  run->step_->scheduler->StartOutside({frame->ctx->node, run, run->device_name_});
  kernel->registration().compute_async(kernel->state(), frame, run->waits_.back().get());
  return nullptr;
}

bool PlanRun::Advance() {
  const bool awaits_device = device_ != nullptr && device_->IsWaiting();
  if (awaits_device && step_->IsStopping()) {
    step_->Fail(step_->CheckInterruption());
    device_->LetGo();
    return true;
  }
  Status status = RunCalls();
  if (!status.ok()) {
    step_->Fail(status);
    // An asynchronous kernel that has not ended writes to this run's memory.
    if (waiting_ && !HasArrived()) return false;
    if (device_ != nullptr) device_->LetGo();
    return true;
  }
  if (waiting_) return false;
  return device_ == nullptr || device_->Drain();
}

std::vector<std::string> PlanRun::WaitsFor() const {
  if (device_ != nullptr && device_->IsWaiting()) return {device_->WaitsFor()};
  return {DescribeWait(*plan_.instructions[state_->position].node, device_name_)};
}

std::string PlanRun::RunsNow() const {
  const int position = state_->position;
  if (position >= static_cast<int>(plan_.instructions.size())) return "";
  return absl::StrCat(plan_.instructions[position].node->Describe(), ", on ", device_name_);
}

}  // namespace millstream
