// fuse_product_updates: makes one operation of a matrix product with few summands and the gradient
// descent update that reads it: the gradient of a dense layer on a small batch. The gradient is as
// large as the variable and cheap to compute, so most of the time is to write and read it.
#include <utility>

#include "core/passes/pass.h"

namespace millstream {
namespace {

// With more summands, the product is limited by arithmetic, and the library's product is faster.
// With fewer columns, the product does not fill the kernel's vectors.
constexpr int64_t kMostSummands = 32;
constexpr int64_t kFewestColumns = 64;

bool IsOuterProduct(const StepOps& ops, const StepOp& op) {
  if (op.type() != "MatMul" || op.outputs[0].dtype() != DataType::kFloat || op.names_kernel()) {
    return false;
  }
  const StatusOr<bool> transpose_a = op.node->Attr<bool>("transpose_a");
  const StatusOr<bool> transpose_b = op.node->Attr<bool>("transpose_b");
  if (!transpose_a.ok() || !*transpose_a || !transpose_b.ok() || *transpose_b) return false;
  const PartialShape* const a = ops.KnownShape(op.inputs[0]);
  const PartialShape* const product = ops.KnownShape(op.outputs[0]);
  return a != nullptr && a->dim(0) <= kMostSummands && product != nullptr &&
         product->dim(1) >= kFewestColumns;
}

Status FuseFrom(StepOps* ops, int first) {
  const StepOp product = ops->op(first);
  if (!IsOuterProduct(*ops, product)) return absl::OkStatus();
  const int second = ops->OnlyReader(product.outputs[0]);
  if (second < 0 || ops->op(second).type() != "ResourceApplyGradientDescent") {
    return absl::OkStatus();
  }
  const StepOp update = ops->op(second);
  if (update.inputs[2] != product.outputs[0] || update.names_kernel()) return absl::OkStatus();
  AttrMap attrs;
  SetAttr(&attrs, "T", DataType::kFloat);
  constexpr absl::string_view kFused = "_MatMulApplyGradientDescent";
  if (!ops->HasKernel(kFused, attrs)) return absl::OkStatus();
  return ops->Replace(second, {first, second}, kFused, std::move(attrs), *update.node,
                      {update.inputs[0], update.inputs[1], product.inputs[0], product.inputs[1]},
                      update.outputs);
}

Status FuseProductUpdates(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (!ops->IsGone(i)) MS_RETURN_IF_ERROR(FuseFrom(ops, i));
  }
  return absl::OkStatus();
}

MILLSTREAM_PASS("fuse_product_updates", 25, FuseProductUpdates);

}  // namespace
}  // namespace millstream
