// Rules of simplify_arithmetic that reduce arithmetic.
//
// Rules about numbers exclude 16-bit and complex types. Their kernels convert elements, or multiply
// real and imaginary parts with each other, so even x * 1 may change the bits of a NaN.
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/passes/known_values.h"
#include "core/passes/rewrite_rule.h"

namespace millstream {
namespace {

// True if all elements of operand k are this number, and it does not broaden the shape of the
// other.
bool IsNeutral(const StepOps& ops, const StepOp& op, int k, double number) {
  const Output& other = op.inputs[1 - k];
  const PartialShape* const shape = ops.KnownShape(op.inputs[k]);
  const bool is_scalar = shape != nullptr && shape->rank() == 0;
  if (!is_scalar && !HaveSameShape(ops, other, op.outputs[0])) return false;
  const std::optional<Tensor> value = UniformValue(ops, op.inputs[k]);
  return value.has_value() && IsNumber(*value, number);
}

bool IsInteger(const Output& value) {
  return value.dtype() == DataType::kInt32 || value.dtype() == DataType::kInt64;
}

// x * 1 and 1 * x
StatusOr<bool> TimesOne(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);
  for (int k : {0, 1}) {
    if (IsNeutral(*ops, op, k, 1)) return BecomesName(ops, i, op.inputs[1 - k]);
  }
  return false;
}

// x / 1
StatusOr<bool> OverOne(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);
  if (!IsNeutral(*ops, op, 1, 1)) return false;
  return BecomesName(ops, i, op.inputs[0]);
}

// Rounding down changes other quotients by 1.
StatusOr<bool> IntegerOverOne(StepOps* ops, int i) {
  return IsInteger(ops->op(i).outputs[0]) ? OverOne(ops, i) : false;
}

// -0 + 0 is 0: of floating-point numbers, only -0 may be added.
StatusOr<bool> PlusZero(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);
  const double zero = IsInteger(op.outputs[0]) ? 0.0 : -0.0;
  for (int k : {0, 1}) {
    if (IsNeutral(*ops, op, k, zero)) return BecomesName(ops, i, op.inputs[1 - k]);
  }
  return false;
}

StatusOr<bool> MinusZero(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);
  if (!IsNeutral(*ops, op, 1, 0)) return false;
  return BecomesName(ops, i, op.inputs[0]);
}

// 1 / x if x is a power of two whose inverse is a normal number. Then quotients by x and products
// with the inverse are the same real numbers, and are rounded equally.
template <typename T>
std::optional<Tensor> InversePowerOfTwo(const Tensor& scalar) {
  const T value = *scalar.data<T>();
  int exponent = 0;
  if (!std::isnormal(value) || std::abs(std::frexp(value, &exponent)) != T(0.5))
    return std::nullopt;
  const T inverse = T(1) / value;
  if (!std::isnormal(inverse)) return std::nullopt;
  StatusOr<Tensor> tensor = Tensor::Create(scalar.dtype(), Shape());
  if (!tensor.ok()) return std::nullopt;  // the quotient stays as it is
  *tensor->data<T>() = inverse;
  return *std::move(tensor);
}

StatusOr<bool> OverPowerOfTwo(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);
  const std::optional<Tensor> divisor = UniformValue(*ops, op.inputs[1]);
  const PartialShape* const shape = ops->KnownShape(op.inputs[1]);
  if (!divisor.has_value() || shape == nullptr || shape->rank() != 0) return false;
  std::optional<Tensor> inverse;
  if (divisor->dtype() == DataType::kFloat) inverse = InversePowerOfTwo<float>(*divisor);
  if (divisor->dtype() == DataType::kDouble) inverse = InversePowerOfTwo<double>(*divisor);
  if (!inverse.has_value() || !ops->HasKernel("Mul", op.node->attrs())) return false;
  MS_ASSIGN_OR_RETURN(const Output factor, ops->NewConstant(*std::move(inverse)));
  MS_RETURN_IF_ERROR(
      ops->Replace(i, {}, "Mul", op.node->attrs(), *op.node, {op.inputs[0], factor}, op.outputs));
  return true;
}

// Replaces an operand whose elements are all equal, and that does not broaden the shape, by a
// scalar. A scalar is read once, and fits every fused operation. The number must not be NaN: which
// of two NaNs an operation returns depends on the loop that runs.
StatusOr<bool> WithScalar(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);
  for (int k : {0, 1}) {
    const PartialShape* const shape = ops->KnownShape(op.inputs[k]);
    if (shape == nullptr || shape->rank() == 0 ||
        !HaveSameShape(*ops, op.inputs[1 - k], op.outputs[0])) {
      continue;
    }
    const std::optional<Tensor> value = UniformValue(*ops, op.inputs[k]);
    if (!value.has_value() || !IsNoNaN(*value)) continue;
    const Output wide = op.inputs[k];
    std::vector<Output> inputs = op.inputs;
    MS_ASSIGN_OR_RETURN(Tensor scalar, value->DeepCopy());
    MS_ASSIGN_OR_RETURN(inputs[k], ops->NewConstant(std::move(scalar)));
    MS_RETURN_IF_ERROR(
        ops->Replace(i, {}, op.type(), op.node->attrs(), *op.node, std::move(inputs), op.outputs));
    ops->RemoveUnread(ops->Producer(wide));
    return true;
  }
  return false;
}

// f(f(x)) for f with f(f(x)) = x
StatusOr<bool> Undo(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);
  const int producer = ops->Producer(op.inputs[0]);
  if (producer < 0 || ops->op(producer).type() != op.type()) return false;
  return BecomesName(ops, i, ops->op(producer).inputs[0]);
}

StatusOr<bool> SumOfOne(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);
  return op.inputs.size() == 1 ? BecomesName(ops, i, op.inputs[0]) : false;
}

// A condition whose elements are all equal, and the same in every step
StatusOr<bool> SelectAll(StepOps* ops, int i) {
  const StepOp& op = ops->op(i);
  const std::optional<Tensor> condition = UniformValue(*ops, op.inputs[0]);
  if (!condition.has_value()) return false;
  const Output chosen = op.inputs[*condition->data<bool>() ? 1 : 2];
  return HaveSameShape(*ops, chosen, op.outputs[0]) ? BecomesName(ops, i, chosen) : false;
}

MILLSTREAM_REWRITE("Mul", TimesOne);
MILLSTREAM_REWRITE("Div", OverOne);
MILLSTREAM_REWRITE("RealDiv", OverOne);
MILLSTREAM_REWRITE("FloorDiv", IntegerOverOne);
MILLSTREAM_REWRITE("Add", PlusZero);
MILLSTREAM_REWRITE("AddV2", PlusZero);
MILLSTREAM_REWRITE("Sub", MinusZero);
MILLSTREAM_REWRITE("Neg", Undo);
MILLSTREAM_REWRITE("Conj", Undo);
MILLSTREAM_REWRITE("LogicalNot", Undo);
MILLSTREAM_REWRITE("AddN", SumOfOne);
MILLSTREAM_REWRITE("Select", SelectAll);
MILLSTREAM_REWRITE("Add", WithScalar);
MILLSTREAM_REWRITE("AddV2", WithScalar);
MILLSTREAM_REWRITE("Sub", WithScalar);
MILLSTREAM_REWRITE("Mul", WithScalar);
MILLSTREAM_REWRITE("Div", WithScalar);
MILLSTREAM_REWRITE("RealDiv", WithScalar);
MILLSTREAM_REWRITE("Maximum", WithScalar);
MILLSTREAM_REWRITE("Minimum", WithScalar);
MILLSTREAM_REWRITE("SquaredDifference", WithScalar);
MILLSTREAM_REWRITE("Div", OverPowerOfTwo);
MILLSTREAM_REWRITE("RealDiv", OverPowerOfTwo);

}  // namespace
}  // namespace millstream
