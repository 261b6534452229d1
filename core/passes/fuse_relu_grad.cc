// fuse_relu_grad: makes one operation of the gradient of a Relu and its sum over all dimensions but
// the channels, which is the gradient of a bias. So the sum does not read the gradient from memory
// again. Other readers of the gradient do not change, and no bit changes.
#include <cstdint>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr char kFused[] = "_ReluGradBiasAddGrad";

// True if `axes` are all dimensions but the last of a tensor of `rank`, in any order.
bool AreAllButTheLast(const Tensor& axes, int rank) {
  uint32_t found = 0;
  for (int64_t i = 0; i < axes.num_elements(); ++i) {
    const int64_t axis =
        axes.dtype() == DataType::kInt64 ? axes.data<int64_t>()[i] : axes.data<int32_t>()[i];
    if (axis < -rank || axis >= rank) return false;
    found |= uint32_t{1} << (axis < 0 ? axis + rank : axis);
  }
  return found == (uint32_t{1} << (rank - 1)) - 1;
}

// True if `op` sums `gradient` over all dimensions but the last, as the gradient of BiasAdd or of a
// broadcast Add.
bool IsBiasGradient(const StepOps& ops, const StepOp& op, const Output& gradient, int rank) {
  if (op.inputs[0] != gradient || op.names_kernel()) return false;
  if (op.type() == "BiasAddGrad") {
    const StatusOr<std::string> format = op.node->Attr<std::string>("data_format");
    return format.ok() && *format == "NHWC";
  }
  if (op.type() != "Sum") return false;
  const Tensor* const axes = ops.constant(op.inputs[1]);
  const StatusOr<bool> keep_dims = op.node->Attr<bool>("keep_dims");
  return axes != nullptr && keep_dims.ok() && !*keep_dims && AreAllButTheLast(*axes, rank);
}

Status FuseReluGrad(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (ops->IsGone(i) || ops->op(i).type() != "ReluGrad") continue;
    const StepOp relu = ops->op(i);
    const Output gradient = relu.outputs[0];
    const PartialShape* const shape = ops->KnownShape(gradient);
    // A visible value may be fed. Then its readers read the feed.
    if (gradient.dtype() != DataType::kFloat || shape == nullptr || shape->rank() < 2 ||
        ops->IsVisible(gradient) || relu.names_kernel()) {
      continue;
    }
    const std::vector<int>& readers = ops->Readers(gradient);
    const auto sum = absl::c_find_if(readers, [&](int reader) {
      return IsBiasGradient(*ops, ops->op(reader), gradient, shape->rank());
    });
    if (sum == readers.end()) continue;
    AttrMap attrs;
    SetAttr(&attrs, "T", DataType::kFloat);
    if (!ops->HasKernel(kFused, attrs)) continue;
    const Output total = ops->op(*sum).outputs[0];
    MS_RETURN_IF_ERROR(ops->Replace(i, {i, *sum}, kFused, std::move(attrs), *relu.node, relu.inputs,
                                    {gradient, total}));
  }
  return absl::OkStatus();
}

// After fuse_elementwise: what it makes one with more of its kind saves more.
MILLSTREAM_PASS("fuse_relu_grad", 40, FuseReluGrad);

}  // namespace
}  // namespace millstream
