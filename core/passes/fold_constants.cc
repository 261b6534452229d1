// fold_constants: runs operations whose inputs are all constants when the plan is compiled. Their
// outputs become constants of the plan. It also folds OnesLike and ZerosLike of a known shape. It
// runs the operation's kernel, so no bit changes. If the kernel fails, the operation stays and
// fails in the step.
//
// What reads an Identity of a constant reads the constant. So the iterations of a loop that was
// unrolled have one matrix of weights, of which there is an Identity in each, and passes that look
// for products with the same one find them.
//
// A value of more than a megabyte is kept only if it is no larger than the inputs of the operation.
// So a large Fill or Tile stays an operation.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/graph/structural_role.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr int64_t kAlwaysKept = int64_t{1} << 20;

bool IsPlain(const Output& value) { return IsPlainData(value.dtype()); }

bool MayBeFolded(const StepOp& op) {
  if (op.must_run || op.outputs.empty() || op.node->op().is_stateful) return false;
  switch (RoleOf(op.type())) {
    case StructuralRole::kKernel:
    case StructuralRole::kIdentity:
    case StructuralRole::kReshape: break;
    default: return false;
  }
  return absl::c_all_of(op.outputs, IsPlain) && absl::c_all_of(op.inputs, IsPlain);
}

// The value of the input; for OnesLike and ZerosLike, any tensor of its shape. None if it is not
// known.
std::optional<Tensor> InputOf(const StepOps& ops, const StepOp& op, const Output& input) {
  if (const Tensor* value = ops.constant(input)) return *value;
  if (op.type() != "OnesLike" && op.type() != "ZerosLike") return std::nullopt;
  const PartialShape* const shape = ops.KnownShape(input);
  if (shape == nullptr || !ValidateShape(shape->ToShape()).ok()) return std::nullopt;
  const int64_t most = kAlwaysKept / static_cast<int64_t>(DataTypeSize(input.dtype()));
  if (shape->num_elements() > most) return std::nullopt;
  StatusOr<Tensor> any = Tensor::Create(input.dtype(), shape->ToShape());
  if (!any.ok()) return std::nullopt;
  if (any->bytes() > 0) std::memset(any->raw(), 0, any->bytes());
  return *std::move(any);
}

bool IsNameOfConstant(const StepOps& ops, const StepOp& op) {
  return op.type() == "Identity" && !op.names_kernel() && ops.constant(op.inputs[0]) != nullptr &&
         !ops.IsVisible(op.outputs[0]);
}

Status Fold(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);
  if (!MayBeFolded(op)) return absl::OkStatus();
  if (IsNameOfConstant(*ops, op)) {
    const Output constant = op.inputs[0];
    return ops->Forward(i, constant);
  }
  std::vector<Tensor> inputs;
  int64_t bytes = 0;
  for (const Output& input : op.inputs) {
    std::optional<Tensor> value = InputOf(*ops, op, input);
    if (!value.has_value()) return absl::OkStatus();
    bytes += static_cast<int64_t>(value->bytes());
    inputs.push_back(*std::move(value));
  }
  StatusOr<std::vector<Tensor>> values = ops->Evaluate(i, inputs, std::max(bytes, kAlwaysKept));
  if (absl::IsCancelled(values.status()) || absl::IsDeadlineExceeded(values.status())) {
    return values.status();
  }
  if (values.ok()) ops->Fold(i, *std::move(values));
  return absl::OkStatus();
}

Status FoldConstants(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (!ops->IsGone(i)) MS_RETURN_IF_ERROR(Fold(ops, i));
  }
  return absl::OkStatus();
}

MILLSTREAM_PASS("fold_constants", 5, FoldConstants);

}  // namespace
}  // namespace millstream
