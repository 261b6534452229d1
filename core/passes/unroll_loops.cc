// unroll_loops: what becomes possible where loops became their iterations (core/loops/
// unroll_loops.h, which this name switches off as well): an element that is pushed to a list and
// popped from it is passed on without the list.
#include <vector>

#include "core/passes/pass.h"

namespace millstream {
namespace {

// The operation that pushed what operation i pops; -1 if it is not known.
int PushFor(const StepOps& ops, int i) {
  const StepOp& pop = ops.op(i);
  if (pop.type() != "TensorListPopBack" || pop.names_kernel() || pop.must_run) return -1;
  const int push = ops.Producer(pop.inputs[0]);
  if (push < 0 || ops.op(push).type() != "TensorListPushBack") return -1;
  const Output& element = ops.op(push).inputs[1];
  const PartialShape* const pushed = ops.KnownShape(element);
  const PartialShape* const popped = ops.KnownShape(pop.outputs[1]);
  const bool is_same = element.dtype() == pop.outputs[1].dtype() && pushed != nullptr &&
                       popped != nullptr && *pushed == *popped;
  const bool is_visible = ops.IsVisible(pop.outputs[0]) || ops.IsVisible(pop.outputs[1]);
  return is_same && !is_visible ? push : -1;
}

Status PassElementsOn(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (ops->IsGone(i)) continue;
    const int push = PushFor(*ops, i);
    if (push < 0) continue;
    const std::vector<Output> pushed = ops->op(push).inputs;
    const std::vector<Output> popped = ops->op(i).outputs;
    ops->Redirect(popped[0], pushed[0]);
    ops->Redirect(popped[1], pushed[1]);
    ops->RemoveUnread(i);
  }
  return absl::OkStatus();
}

// After fold_constants, because equal shapes may have to be computed.
MILLSTREAM_PASS("unroll_loops", 6, PassElementsOn);

}  // namespace
}  // namespace millstream
