// Rules of simplify_arithmetic for operations that move elements and compute nothing.
//
// A rule must not remove a check of the kernel. The inferred shape of an output does not prove that
// the size arguments are right, so these arguments must be constants.
#include <initializer_list>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/passes/known_values.h"
#include "core/passes/rewrite_rule.h"

namespace millstream {
namespace {

using Permutation = std::vector<int64_t>;

// True if all inputs after the first are constants, and the output has the shape of the first
// input.
bool KeepsShape(const StepOps& ops, const StepOp& op) {
  for (size_t i = 1; i < op.inputs.size(); ++i) {
    if (ops.constant(op.inputs[i]) == nullptr) return false;
  }
  return HaveSameShape(ops, op.inputs[0], op.outputs[0]);
}

// Operations whose output equals the input if the shapes are equal
StatusOr<bool> KeepsAll(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);
  return KeepsShape(*ops, op) ? BecomesName(ops, i, op.inputs[0]) : false;
}

// If all strides are 1 and the shape is kept, the slice has all elements.
StatusOr<bool> StridedSliceOfAll(StepOps* ops, int i) {
  const std::optional<std::vector<int64_t>> strides = KnownIntegers(*ops, ops->op(i).inputs[3]);
  const auto is_one = [](int64_t stride) { return stride == 1; };
  return strides.has_value() && absl::c_all_of(*strides, is_one) ? KeepsAll(ops, i) : false;
}

StatusOr<bool> OtherName(StepOps* ops, int i) {
  const std::vector<Output> inputs = ops->op(i).inputs;
  const std::vector<Output> outputs = ops->op(i).outputs;
  bool changed = false;
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (ops->Readers(outputs[k]).empty()) continue;
    changed |= ops->Redirect(outputs[k], inputs[k]);
  }
  if (changed) ops->RemoveUnread(i);
  return changed;
}

StatusOr<bool> CastToOwnType(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);
  if (op.inputs[0].dtype() != op.outputs[0].dtype()) return false;
  return BecomesName(ops, i, op.inputs[0]);
}

StatusOr<bool> SplitInOne(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);  // (axis, value)
  if (op.outputs.size() != 1 || ops->constant(op.inputs[0]) == nullptr) return false;
  return BecomesName(ops, i, op.inputs[1]);
}

// ---- Transpose ----

bool IsIdentity(const Permutation& permutation) {
  for (size_t k = 0; k < permutation.size(); ++k) {
    if (permutation[k] != static_cast<int64_t>(k)) return false;
  }
  return true;
}

// The elements keep their order if the axes with more than one element do.
bool KeepsOrder(const Permutation& permutation, const PartialShape& shape) {
  int64_t last = -1;
  for (int64_t axis : permutation) {
    if (shape.dim(static_cast<int>(axis)) == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// The permutation of the Transpose if it is known and valid. The kernel reports an invalid one.
std::optional<Permutation> PermutationOf(const StepOps& ops, const StepOp& op) {
  std::optional<Permutation> permutation = KnownIntegers(ops, op.inputs[1]);
  if (!permutation.has_value()) return std::nullopt;
  Permutation sorted = *permutation;
  absl::c_sort(sorted);
  return IsIdentity(sorted) ? permutation : std::nullopt;
}

StatusOr<Output> Int32Constant(StepOps* ops, absl::Span<const int64_t> values) {
  MS_ASSIGN_OR_RETURN(
      Tensor constant,
      Tensor::Create(DataType::kInt32, Shape({static_cast<int64_t>(values.size())})));
  absl::c_transform(values, constant.data<int32_t>(),
                    [](int64_t value) { return static_cast<int32_t>(value); });
  return ops->NewConstant(std::move(constant));
}

StatusOr<bool> TransposeOfNothing(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);
  const std::optional<Permutation> permutation = PermutationOf(*ops, op);
  if (!permutation.has_value()) return false;
  const PartialShape* const shape = ops->KnownShape(op.inputs[0]);
  if (shape == nullptr || shape->rank() != static_cast<int>(permutation->size())) return false;
  if (IsIdentity(*permutation)) return BecomesName(ops, i, op.inputs[0]);
  const PartialShape* const target = ops->KnownShape(op.outputs[0]);
  if (target == nullptr || target->num_elements() > std::numeric_limits<int32_t>::max() ||
      !KeepsOrder(*permutation, *shape)) {
    return false;
  }
  AttrMap attrs;
  SetAttr(&attrs, "T", op.outputs[0].dtype());
  SetAttr(&attrs, "Tshape", DataType::kInt32);
  MS_ASSIGN_OR_RETURN(const Output dims, Int32Constant(ops, target->dims()));
  MS_RETURN_IF_ERROR(
      ops->Replace(i, {}, "Reshape", std::move(attrs), *op.node, {op.inputs[0], dims}, op.outputs));
  return true;
}

// Replaces two successive Transposes by one or none.
StatusOr<bool> TransposeOfTranspose(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);
  const int producer = ops->Producer(op.inputs[0]);
  if (producer < 0 || ops->op(producer).type() != "Transpose") return false;
  const StepOp& inner = ops->op(producer);
  const std::optional<Permutation> first = PermutationOf(*ops, inner);
  const std::optional<Permutation> second = PermutationOf(*ops, op);
  if (!first.has_value() || !second.has_value() || first->size() != second->size()) return false;
  Permutation both;
  for (int64_t axis : *second) both.push_back((*first)[axis]);
  const Output source = inner.inputs[0];
  if (IsIdentity(both)) return BecomesName(ops, i, source);
  AttrMap attrs = op.node->attrs();
  SetAttr(&attrs, "Tperm", DataType::kInt32);
  MS_ASSIGN_OR_RETURN(const Output permutation, Int32Constant(ops, both));
  MS_RETURN_IF_ERROR(ops->Replace(i, {}, "Transpose", std::move(attrs), *op.node,
                                  {source, permutation}, op.outputs));
  ops->RemoveUnread(producer);
  return true;
}

MILLSTREAM_REWRITE("Identity", OtherName);
MILLSTREAM_REWRITE("IdentityN", OtherName);
MILLSTREAM_REWRITE("StopGradient", OtherName);
MILLSTREAM_REWRITE("PreventGradient", OtherName);
MILLSTREAM_REWRITE("PlaceholderWithDefault", OtherName);
MILLSTREAM_REWRITE("Reshape", KeepsAll);
MILLSTREAM_REWRITE("Squeeze", KeepsAll);
MILLSTREAM_REWRITE("Tile", KeepsAll);
MILLSTREAM_REWRITE("Pad", KeepsAll);
MILLSTREAM_REWRITE("Slice", KeepsAll);
MILLSTREAM_REWRITE("StridedSlice", StridedSliceOfAll);
MILLSTREAM_REWRITE("Cast", CastToOwnType);
MILLSTREAM_REWRITE("Split", SplitInOne);
MILLSTREAM_REWRITE("Transpose", TransposeOfNothing);
MILLSTREAM_REWRITE("Transpose", TransposeOfTranspose);

}  // namespace
}  // namespace millstream
