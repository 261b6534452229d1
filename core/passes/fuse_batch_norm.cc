// fuse_batch_norm: makes one operation of a batch normalization and the Relu of its result, and one
// of the gradients of both. So each reads and writes the images once less. The gradient computes
// again where the normalized images are above zero, which takes nothing but what it reads anyway.
// No bit changes.
#include <string>
#include <utility>
#include <vector>

#include "core/passes/pass.h"

namespace millstream {
namespace {

// The version that the front end makes.
constexpr char kNorm[] = "FusedBatchNormV3";
constexpr char kNormGrad[] = "FusedBatchNormGradV3";
constexpr char kFused[] = "_FusedBatchNormRelu";
constexpr char kFusedGrad[] = "_FusedBatchNormReluGrad";

// The attributes of both fused operations, those of the normalization without its second type.
AttrMap FusedAttrs(const Node& norm) {
  AttrMap attrs;
  for (const char* name : {"T", "epsilon", "data_format", "is_training"}) {
    SetAttr(&attrs, name, *FindAttr(norm.attrs(), name));
  }
  return attrs;
}

bool HaveEqualAttrs(const Node& norm, const Node& gradient) {
  for (const char* name : {"epsilon", "data_format", "is_training"}) {
    if (*FindAttr(norm.attrs(), name) != *FindAttr(gradient.attrs(), name)) return false;
  }
  return true;
}

bool IsTraining(const Node& node) {
  const StatusOr<bool> is_training = node.Attr<bool>("is_training");
  return is_training.ok() && *is_training;
}

// True if operation i is a `type` on float that a pass may replace.
bool Is(const StepOps& ops, int i, const char* type) {
  return i >= 0 && !ops.IsGone(i) && ops.op(i).type() == type && !ops.op(i).names_kernel() &&
         ops.op(i).outputs[0].dtype() == DataType::kFloat;
}

// The normalization whose Relu operation `relu_grad` differentiates; -1 if there is none.
int NormOf(const StepOps& ops, int relu_grad) {
  const int relu = ops.Producer(ops.op(relu_grad).inputs[1]);
  if (!Is(ops, relu, "Relu")) return -1;
  const int norm = ops.Producer(ops.op(relu).inputs[0]);
  return Is(ops, norm, kNorm) && ops.op(norm).outputs[0] == ops.op(relu).inputs[0] ? norm : -1;
}

// Operation i is the gradient of a normalization in training, of what ReluGrad gives.
Status FuseGradient(StepOps* ops, int i) {
  const StepOp gradient = ops->op(i);
  const int relu_grad = ops->Producer(gradient.inputs[0]);
  if (!Is(*ops, relu_grad, "ReluGrad") || ops->OnlyReader(gradient.inputs[0]) != i) {
    return absl::OkStatus();
  }
  const int norm = NormOf(*ops, relu_grad);
  if (norm < 0) return absl::OkStatus();
  const StepOp& forward = ops->op(norm);
  const bool is_of_norm =
      gradient.inputs[1] == forward.inputs[0] && gradient.inputs[2] == forward.inputs[1] &&
      gradient.inputs[3] == forward.outputs[3] && gradient.inputs[4] == forward.outputs[4];
  if (!is_of_norm || !HaveEqualAttrs(*forward.node, *gradient.node)) return absl::OkStatus();
  AttrMap attrs = FusedAttrs(*gradient.node);
  if (!ops->HasKernel(kFusedGrad, attrs)) return absl::OkStatus();
  std::vector<Output> inputs = {ops->op(relu_grad).inputs[0], gradient.inputs[1],
                                gradient.inputs[2],           forward.inputs[2],
                                gradient.inputs[3],           gradient.inputs[4]};
  return ops->Replace(i, {relu_grad, i}, kFusedGrad, std::move(attrs), *gradient.node,
                      std::move(inputs), gradient.outputs);
}

// Operation i is a normalization.
Status FuseForward(StepOps* ops, int i) {
  const StepOp norm = ops->op(i);
  const int relu = ops->OnlyReader(norm.outputs[0]);
  if (!Is(*ops, relu, "Relu")) return absl::OkStatus();
  AttrMap attrs = FusedAttrs(*norm.node);
  if (!ops->HasKernel(kFused, attrs)) return absl::OkStatus();
  std::vector<Output> outputs = norm.outputs;
  outputs[0] = ops->op(relu).outputs[0];
  return ops->Replace(i, {i, relu}, kFused, std::move(attrs), *norm.node, norm.inputs,
                      std::move(outputs));
}

Status FuseBatchNorm(StepOps* ops) {
  // The gradients first: they find the normalization by its Relu.
  for (int i = 0; i < ops->size(); ++i) {
    if (Is(*ops, i, kNormGrad) && IsTraining(*ops->op(i).node)) {
      MS_RETURN_IF_ERROR(FuseGradient(ops, i));
    }
  }
  for (int i = 0; i < ops->size(); ++i) {
    if (Is(*ops, i, kNorm)) MS_RETURN_IF_ERROR(FuseForward(ops, i));
  }
  return absl::OkStatus();
}

// Before fuse_elementwise, which would take the Relu.
MILLSTREAM_PASS("fuse_batch_norm", 22, FuseBatchNorm);

}  // namespace
}  // namespace millstream
