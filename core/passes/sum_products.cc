// sum_products: makes one product of a sum of products that is the gradient of weights which
// several operations read, as in each step of a recurrent network that is unrolled:
//
//   sum of transpose(a[t]) * b[t]
//
// is the product of all a[t], one below the other, and all b[t]. A product of few rows is as large
// as the weights, and costs little more than to write and read it. Sums are rounded in another
// order.
#include <utility>
#include <vector>

#include "core/passes/pass.h"

namespace millstream {
namespace {

bool IsGradientOfWeights(const StepOps& ops, const Output& value) {
  const int producer = ops.Producer(value);
  if (producer < 0 || ops.OnlyReader(value) < 0) return false;
  const StepOp& op = ops.op(producer);
  if (op.type() != "MatMul" || op.names_kernel() || op.must_run) return false;
  const StatusOr<bool> a = op.node->Attr<bool>("transpose_a");
  const StatusOr<bool> b = op.node->Attr<bool>("transpose_b");
  if (!a.ok() || !*a || !b.ok() || *b) return false;
  const PartialShape* const left = ops.KnownShape(op.inputs[0]);
  const PartialShape* const product = ops.KnownShape(value);
  if (left == nullptr || product == nullptr) return false;
  // To copy the operands must cost less than what is saved.
  const int64_t rows = product->dim(0);
  const int64_t columns = product->dim(1);
  return left->dim(0) * (rows + columns) <= rows * columns;
}

Status SumFrom(StepOps* ops, int i) {
  const StepOp sum = ops->op(i);
  if (sum.type() != "AddN" || sum.outputs[0].dtype() != DataType::kFloat || sum.names_kernel() ||
      sum.inputs.size() < 2) {
    return absl::OkStatus();
  }
  std::vector<int> replaced = {i};
  std::vector<Output> inputs;
  std::vector<Output> rights;
  for (const Output& value : sum.inputs) {
    if (!IsGradientOfWeights(*ops, value)) return absl::OkStatus();
    const int product = ops->Producer(value);
    replaced.push_back(product);
    inputs.push_back(ops->op(product).inputs[0]);
    rights.push_back(ops->op(product).inputs[1]);
  }
  AttrMap attrs;
  SetAttr(&attrs, "T", DataType::kFloat);
  SetAttr(&attrs, "num", static_cast<int64_t>(rights.size()));
  constexpr absl::string_view kSummed = "_SummedMatMul";
  if (!ops->HasKernel(kSummed, attrs)) return absl::OkStatus();
  inputs.insert(inputs.end(), rights.begin(), rights.end());
  return ops->Replace(i, replaced, kSummed, std::move(attrs), *sum.node, std::move(inputs),
                      sum.outputs);
}

Status SumProducts(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (!ops->IsGone(i)) MS_RETURN_IF_ERROR(SumFrom(ops, i));
  }
  return absl::OkStatus();
}

MILLSTREAM_PASS("sum_products", 14, SumProducts);

}  // namespace
}  // namespace millstream
