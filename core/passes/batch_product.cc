#include "core/passes/batch_product.h"

namespace millstream {

bool IsReplaceable(const StepOps& ops, int i) {
  return i >= 0 && !ops.IsGone(i) && !ops.op(i).names_kernel() && ops.op(i).outputs.size() == 1 &&
         ops.op(i).outputs[0].dtype() == DataType::kFloat;
}

std::optional<BatchProduct> BatchProductAt(const StepOps& ops, int i) {
  if (!IsReplaceable(ops, i)) return std::nullopt;
  const StepOp& op = ops.op(i);
  const bool is_plain = op.type() == "MatMul";
  if (!is_plain && op.type() != "BatchMatMul" && op.type() != "BatchMatMulV2") return std::nullopt;
  const StatusOr<bool> x = op.node->Attr<bool>(is_plain ? "transpose_a" : "adj_x");
  const StatusOr<bool> y = op.node->Attr<bool>(is_plain ? "transpose_b" : "adj_y");
  if (!x.ok() || !y.ok()) return std::nullopt;
  return BatchProduct{op.inputs[0], op.inputs[1], *x, *y};
}

}  // namespace millstream
