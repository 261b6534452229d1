#include "core/plan/plan_copies.h"

#include <utility>

#include "core/plan/plan_executor.h"

namespace millstream {

int NewRoot(const Output& source, RootKind kind, Plan* plan) {
  Root root;
  root.source = source;
  root.kind = kind;
  root.dtype = source.dtype();
  plan->roots.push_back(std::move(root));
  return static_cast<int>(plan->roots.size()) - 1;
}

ValueRef RefTo(const Plan& plan, int root) {
  return ValueRef{root, plan.roots[root].shape_known, plan.roots[root].shape};
}

void AddExecutorCall(Instruction instruction, Plan* plan) {
  const TransferKind kind = instruction.transfer;
  const bool waits = kind == TransferKind::kReceive || kind == TransferKind::kAwaitHost;
  plan->calls.push_back(Call{PlanRun::FunctionOf(kind), nullptr, waits ? kAfterWait : 0, 0});
  plan->instructions.push_back(std::move(instruction));
}

StatusOr<ValueRef> PlanCopies::ValueIn(bool in_host, const ValueRef& value) {
  if (plan_.roots[value.root].kind == RootKind::kHandle) return value;
  ValueRef found = value;
  if (plan_.roots[value.root].in_host != in_host) {
    MS_ASSIGN_OR_RETURN(found.root, CopyInto(in_host, value.root));
  }
  if (in_host && in_flight_.erase(found.root) > 0) {
    Instruction wait;
    wait.node = plan_.roots[found.root].source.node;
    wait.transfer = TransferKind::kAwaitHost;
    wait.inputs.push_back(found);
    AddExecutorCall(std::move(wait), &plan_);
  }
  return found;
}

StatusOr<int> PlanCopies::CopyInto(bool in_host, int from) {
  auto known = copies_.find(from);
  if (known != copies_.end()) return known->second;
  const Output source = plan_.roots[from].source;
  const int index = NewRoot(source, RootKind::kSlot, &plan_);
  Root& original = plan_.roots[from];
  Root& copy = plan_.roots[index];
  copy.in_host = in_host;
  copy.shape_known = original.shape_known;
  copy.shape = original.shape;
  copies_[from] = index;
  if (original.kind == RootKind::kConstant) {
    copy.kind = RootKind::kConstant;
    copy.constant = original.constant;
    StatusOr<Tensor> copied = plan_.memory->CopyToDevice(original.constant);
    if (!copied.ok()) return AnnotateWithNode(copied.status(), *source.node);
    copy.device_constant = *std::move(copied);
    return index;
  }
  // The copy reads it while the kernels go on, so it does not lie in the slab.
  if (original.kind == RootKind::kPlanned) original.kind = RootKind::kEscaping;
  copy.first = static_cast<int>(plan_.instructions.size());
  if (in_host) in_flight_.insert(index);
  Instruction instruction;
  instruction.node = source.node;
  instruction.transfer = in_host ? TransferKind::kToHost : TransferKind::kToDevice;
  instruction.inputs.push_back(RefTo(plan_, from));
  instruction.outputs.push_back(RefTo(plan_, index));
  AddExecutorCall(std::move(instruction), &plan_);
  return index;
}

}  // namespace millstream
