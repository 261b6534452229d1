// fuse_products: makes one operation of a convolution or matrix product, its bias and its Relu, so
// that the product is read and written again once and not twice.
#include <optional>
#include <utility>

#include "core/passes/known_values.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

struct Product {
  const char* op;
  const char* fused;
};
constexpr Product kProducts[] = {{"Conv2D", "_FusedConv2D"}, {"MatMul", "_FusedMatMul"}};

const Product* ProductOf(const StepOp& op) {
  for (const Product& product : kProducts) {
    if (op.type() == product.op) return &product;
  }
  return nullptr;
}

bool IsChannelsLast(const StepOp& op) {
  const StatusOr<std::string> format = op.node->Attr<std::string>("data_format");
  return !format.ok() || *format == "NHWC";
}

Status FuseFrom(StepOps* ops, int first) {
  const StepOp product = ops->op(first);
  const Product* const kind = ProductOf(product);
  if (kind == nullptr || product.outputs[0].dtype() != DataType::kFloat ||
      !IsChannelsLast(product)) {
    return absl::OkStatus();
  }
  const int second = ops->OnlyReader(product.outputs[0]);
  if (second < 0) return absl::OkStatus();
  const std::optional<Output> bias = AddedVector(*ops, ops->op(second), product.outputs[0]);
  if (!bias.has_value()) return absl::OkStatus();
  std::vector<std::string> fused = {"BiasAdd"};
  std::vector<int> members = {first, second};
  const int third = ops->OnlyReader(ops->op(second).outputs[0]);
  if (third >= 0 && ops->op(third).type() == "Relu") {
    fused.push_back("Relu");
    members.push_back(third);
  }
  AttrMap attrs = product.node->attrs();
  SetAttr(&attrs, "num_args", int64_t{1});
  SetAttr(&attrs, "fused_ops", fused);
  if (!ops->HasKernel(kind->fused, attrs)) return absl::OkStatus();
  const StepOp& last = ops->op(members.back());
  std::vector<Output> inputs = product.inputs;
  inputs.push_back(*bias);
  return ops->Replace(members.back(), members, kind->fused, std::move(attrs), *last.node,
                      std::move(inputs), last.outputs);
}

Status FuseProducts(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (!ops->IsGone(i)) MS_RETURN_IF_ERROR(FuseFrom(ops, i));
  }
  return absl::OkStatus();
}

MILLSTREAM_PASS("fuse_products", 20, FuseProducts);

}  // namespace
}  // namespace millstream
