// compile_elementwise: the kernel of operations that fuse_elementwise made may have machine code
// made for them, which keeps in registers what one step passes to the next. Which bits a result has
// does not depend on it, but for which of two NaNs passes on.
#include <vector>

#include "core/passes/pass.h"

namespace millstream {
namespace {

Status CompileElementwise(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (ops->IsGone(i) || ops->op(i).type() != "_FusedElementwise") continue;
    const StepOp op = ops->op(i);
    AttrMap attrs = op.node->attrs();
    SetAttr(&attrs, "compile", true);
    MS_RETURN_IF_ERROR(
        ops->Replace(i, {i}, op.type(), std::move(attrs), *op.node, op.inputs, op.outputs));
  }
  return absl::OkStatus();
}

MILLSTREAM_PASS("compile_elementwise", 35, CompileElementwise);

}  // namespace
}  // namespace millstream
