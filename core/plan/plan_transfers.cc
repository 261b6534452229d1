// PlanRun: the instructions without a kernel, which send and receive tensors of other parts of the
// step, and copy tensors between host memory and device memory.
#include <memory>
#include <utility>

#include "core/device/device_memory.h"
#include "core/partition/rendezvous.h"
#include "core/plan/plan_executor.h"
#include "core/plan/plan_wait.h"
#include "core/step/device_part.h"
#include "core/step/step_context.h"
#include "framework/plugin/host_status.h"

namespace millstream {
namespace {

MS_Status* Result(const Status& status) { return status.ok() ? nullptr : ToAbiStatus(status); }

RendezvousKey KeyOf(const Instruction& instruction) {
  return RendezvousKey{instruction.edge, 0, instruction.node};
}

const Instruction& InstructionOf(void* state) { return *static_cast<const Instruction*>(state); }

}  // namespace

PlanRun::Function PlanRun::FunctionOf(TransferKind kind) {
  switch (kind) {
    case TransferKind::kSend: return &PlanRun::Send;
    case TransferKind::kReceive: return &PlanRun::Receive;
    case TransferKind::kToDevice: return &PlanRun::ToDevice;
    case TransferKind::kToHost: return &PlanRun::ToHost;
    case TransferKind::kAwaitHost: return &PlanRun::AwaitHost;
    case TransferKind::kNone: break;
  }
  return nullptr;
}

PlanRun* PlanRun::Of(MS_Frame* frame) { return static_cast<StepState*>(frame->ctx->host)->run; }

// ---- Between parts ----

MS_Status* PlanRun::Receive(void* instruction, MS_Frame* frame) {
  PlanRun* const run = Of(frame);
  run->waits_.push_back(std::make_unique<Wait>(run));
  Wait* const wait = run->waits_.back().get();
  Parcel parcel;
  const StatusOr<bool> here =
      run->step_->rendezvous->Receive(KeyOf(InstructionOf(instruction)), wait, &parcel);
  if (!here.ok()) return ToAbiStatus(here.status());
  if (*here) wait->Keep(absl::OkStatus(), std::move(parcel));
  return nullptr;
}

MS_Status* PlanRun::Send(void* state, MS_Frame* frame) {
  const Instruction& instruction = InstructionOf(state);
  StatusOr<Tensor> tensor = frame->ctx->host->InputTensor(*frame->ctx, 0);
  if (!tensor.ok()) return ToAbiStatus(tensor.status());
  if (tensor->is_on_device()) {
    DevicePart& device = *Of(frame)->device_;
    return Result(device.Send(KeyOf(instruction), instruction.is_peer, *std::move(tensor)));
  }
  Rendezvous* const rendezvous = frame->ctx->host->step->rendezvous;
  return Result(rendezvous->Send(KeyOf(instruction), Parcel{*std::move(tensor), false, nullptr}));
}

// ---- Between a device's memory and the host's ----

// The value as it is, valid until the instruction has run.
StatusOr<Tensor> PlanRun::Borrowed(const ValueRef& value) const {
  const Root& root = plan_.roots[value.root];
  switch (root.kind) {
    case RootKind::kConstant: return root.constant;
    case RootKind::kFeed: return state_->feeds[root.index];
    case RootKind::kEscaping:
    case RootKind::kSlot: return state_->slots[root.index];
    case RootKind::kPlanned:
    case RootKind::kHandle: break;
  }
  return errors::Internal("'", root.source.name(), "' has no memory that can be copied");
}

MS_Status* PlanRun::ToDevice(void* state, MS_Frame* frame) {
  PlanRun* const run = Of(frame);
  const StatusOr<Tensor> from = run->Borrowed(InstructionOf(state).inputs[0]);
  if (!from.ok()) return ToAbiStatus(from.status());
  StatusOr<Tensor> copy = run->plan_.memory->CopyToDevice(*from, run->device_->NextCopy());
  if (!copy.ok()) return ToAbiStatus(copy.status());
  run->state_->SetOutput(frame, 0, *std::move(copy));
  return nullptr;
}

MS_Status* PlanRun::ToHost(void* state, MS_Frame* frame) {
  PlanRun* const run = Of(frame);
  const StatusOr<Tensor> from = run->Borrowed(InstructionOf(state).inputs[0]);
  if (!from.ok()) return ToAbiStatus(from.status());
  StatusOr<Tensor> copy = run->plan_.memory->CopyToHost(*from, nullptr, run->device_->NextCopy());
  if (!copy.ok()) return ToAbiStatus(copy.status());
  run->state_->SetOutput(frame, 0, *std::move(copy));
  return nullptr;
}

MS_Status* PlanRun::AwaitHost(void*, MS_Frame* frame) {
  return Result(Of(frame)->device_->AwaitCopies());
}

}  // namespace millstream
