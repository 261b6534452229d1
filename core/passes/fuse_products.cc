// fuse_products: makes one operation of a convolution or matrix product and what follows it: a
// bias, perhaps another tensor that is added, as in residual networks, and perhaps a Relu or Relu6.
// So the product is read and written again once at most.
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
constexpr Product kProducts[] = {
    {"Conv2D", "_FusedConv2D"},
    {"DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative"},
    {"MatMul", "_FusedMatMul"},
};

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

// True if operation `i`, which may be -1, can become a part of another one.
bool MayBeMember(const StepOps& ops, int i) { return i >= 0 && !ops.op(i).names_kernel(); }

// The tensor that operation `i` adds to `value`, element by element, if that is what it does.
std::optional<Output> AddedTensor(const StepOps& ops, int i, const Output& value) {
  if (!MayBeMember(ops, i)) return std::nullopt;
  if (ops.op(i).type() != "Add" && ops.op(i).type() != "AddV2") return std::nullopt;
  const std::vector<Output>& inputs = ops.op(i).inputs;
  const Output other = inputs[inputs[0] == value ? 1 : 0];
  return HaveSameShape(ops, value, other) ? std::make_optional(other) : std::nullopt;
}

Status FuseFrom(StepOps* ops, int first) {
  const StepOp product = ops->op(first);
  const Product* const kind = ProductOf(product);
  if (kind == nullptr || product.outputs[0].dtype() != DataType::kFloat ||
      !IsChannelsLast(product)) {
    return absl::OkStatus();
  }
  const int second = ops->OnlyReader(product.outputs[0]);
  if (!MayBeMember(*ops, second)) return absl::OkStatus();
  const std::optional<Output> bias = AddedVector(*ops, ops->op(second), product.outputs[0]);
  if (!bias.has_value()) return absl::OkStatus();
  std::vector<std::string> fused = {"BiasAdd"};
  std::vector<int> members = {first, second};
  std::vector<Output> args = {*bias};
  const auto only_reader = [&] { return ops->OnlyReader(ops->op(members.back()).outputs[0]); };
  int next = only_reader();
  if (const std::optional<Output> added =
          AddedTensor(*ops, next, ops->op(members.back()).outputs[0])) {
    fused.push_back("Add");
    members.push_back(next);
    args.push_back(*added);
    next = only_reader();
  }
  if (MayBeMember(*ops, next) &&
      (ops->op(next).type() == "Relu" || ops->op(next).type() == "Relu6")) {
    fused.push_back(ops->op(next).type());
    members.push_back(next);
  }
  AttrMap attrs = product.node->attrs();
  SetAttr(&attrs, "num_args", static_cast<int64_t>(args.size()));
  SetAttr(&attrs, "fused_ops", fused);
  if (!ops->HasKernel(kind->fused, attrs)) return absl::OkStatus();
  const StepOp& last = ops->op(members.back());
  std::vector<Output> inputs = product.inputs;
  inputs.insert(inputs.end(), args.begin(), args.end());
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
