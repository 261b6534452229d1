// fuse_softmax_grad: makes one operation of the gradient of a softmax, and of the scale of what the
// softmax was taken of:
//
//   (dy - Sum(dy * y)) * y * scale      the sum over the last dimension; the scale may be missing
//
// It reads dy and y once and writes the result, where the operations read and write tensors as
// large nine times. No bit changes.
//
// In attention dy and y are matrices of queries by keys. Of 52 bytes that the gradients of an
// attention read and write for each of their elements, 28 remain: dy is written and read, y is read
// twice, and the result is written and read twice. Where these matrices are large,
// fuse_attention_grad makes one operation of the products around this as well.
#include <optional>
#include <utility>
#include <vector>

#include "core/passes/known_values.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr char kFused[] = "_SoftmaxGrad";

struct SoftmaxGrad {
  std::vector<int> members;  // the last one gives the result
  Output gradients;
  Output softmax;
  float scale = 1;
};

// True if operation i is a `type` on floats that a pass may replace.
bool Is(const StepOps& ops, int i, const char* type) {
  return i >= 0 && !ops.IsGone(i) && ops.op(i).type() == type && !ops.op(i).names_kernel() &&
         ops.op(i).outputs[0].dtype() == DataType::kFloat;
}

// The operation that gives `value`, if it is a `type` whose only reader is operation `reader`.
int MemberFor(const StepOps& ops, const Output& value, int reader, const char* type) {
  const int producer = ops.Producer(value);
  return Is(ops, producer, type) && !ops.op(producer).must_run && ops.OnlyReader(value) == reader
             ? producer
             : -1;
}

// True if operation i sums over the last dimension, which stays as one of size 1.
bool SumsRows(const StepOps& ops, int i, int rank) {
  const StepOp& op = ops.op(i);
  const StatusOr<bool> keeps = op.node->Attr<bool>("keep_dims");
  const std::optional<std::vector<int64_t>> axes = KnownIntegers(ops, op.inputs[1]);
  return keeps.ok() && *keeps && axes.has_value() && axes->size() == 1 &&
         ((*axes)[0] == -1 || (*axes)[0] == rank - 1);
}

// True if operation i multiplies `x` and `y`, in any order.
bool Multiplies(const StepOps& ops, int i, const Output& x, const Output& y) {
  const std::vector<Output>& inputs = ops.op(i).inputs;
  return (inputs[0] == x && inputs[1] == y) || (inputs[0] == y && inputs[1] == x);
}

// The gradient that operation i, a Mul of a difference and `softmax`, gives.
std::optional<SoftmaxGrad> GradientAt(const StepOps& ops, int i, const Output& difference,
                                      const Output& softmax) {
  const int minus = MemberFor(ops, difference, i, "Sub");
  if (minus < 0) return std::nullopt;
  const Output gradients = ops.op(minus).inputs[0];
  const Output total = ops.op(minus).inputs[1];
  const PartialShape* const shape = ops.KnownShape(gradients);
  if (shape == nullptr || shape->rank() == 0 || !HaveSameShape(ops, gradients, softmax)) {
    return std::nullopt;
  }
  const int sum = MemberFor(ops, total, minus, "Sum");
  if (sum < 0 || !SumsRows(ops, sum, shape->rank())) return std::nullopt;
  const int product = MemberFor(ops, ops.op(sum).inputs[0], sum, "Mul");
  if (product < 0 || !Multiplies(ops, product, gradients, softmax)) return std::nullopt;
  return SoftmaxGrad{{product, sum, minus, i}, gradients, softmax, 1};
}

// Makes the Mul by a number that reads the result a member, if there is one and nothing else does.
void AddScale(const StepOps& ops, SoftmaxGrad* found) {
  const int last = found->members.back();
  const Output result = ops.op(last).outputs[0];
  const int reader = ops.OnlyReader(result);
  if (!Is(ops, reader, "Mul") || ops.op(last).must_run) return;
  const StepOp& product = ops.op(reader);
  const Output factor = product.inputs[product.inputs[0] == result ? 1 : 0];
  const std::optional<Tensor> uniform = UniformValue(ops, factor);
  if (!uniform.has_value() || !HaveSameShape(ops, result, product.outputs[0])) return;
  found->scale = *uniform->data<float>();
  found->members.push_back(reader);
}

Status FuseAt(StepOps* ops, int i) {
  if (!Is(*ops, i, "Mul")) return absl::OkStatus();
  const std::vector<Output> factors = ops->op(i).inputs;
  std::optional<SoftmaxGrad> found = GradientAt(*ops, i, factors[0], factors[1]);
  if (!found.has_value()) found = GradientAt(*ops, i, factors[1], factors[0]);
  if (!found.has_value()) return absl::OkStatus();
  AddScale(*ops, &*found);
  AttrMap attrs;
  SetAttr(&attrs, "T", DataType::kFloat);
  SetAttr(&attrs, "scale", found->scale);
  if (!ops->HasKernel(kFused, attrs)) return absl::OkStatus();
  const StepOp last = ops->op(found->members.back());
  MS_RETURN_IF_ERROR(ops->Replace(found->members.back(), found->members, kFused, std::move(attrs),
                                  *last.node, {found->gradients, found->softmax}, last.outputs));
  // What made the scale may have lost its last reader.
  for (const Output& input : last.inputs) ops->RemoveUnread(ops->Producer(input));
  return absl::OkStatus();
}

Status FuseSoftmaxGrad(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (!ops->IsGone(i)) MS_RETURN_IF_ERROR(FuseAt(ops, i));
  }
  return absl::OkStatus();
}

// Before fuse_elementwise, which would take the products.
MILLSTREAM_PASS("fuse_softmax_grad", 24, FuseSoftmaxGrad);

}  // namespace
}  // namespace millstream
