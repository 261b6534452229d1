// share_strips: where several products in a step have the same right operand, as in the steps of a
// recurrent network that is unrolled, it is arranged in strips once, and not by each product:
//
//   strips = _WeightStrips(weights), then _StripMatMul(a[t], strips, addends[t]) for all t
//
// The weights may be a variable: what an operation has read of one does not change afterwards.
// Constant weights are arranged when the plan is made, by the products themselves. Sums are rounded
// in another order than the library's.
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "core/passes/known_values.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr char kStrips[] = "_WeightStrips";
constexpr char kProduct[] = "_StripMatMul";

// Columns of a strip, as the operations define it.
constexpr int64_t kStripColumns = 16;

// To arrange the weights is to read and to write each of them, 8 bytes. A product of m rows
// multiplies and adds m times with each. With 64 rows the first takes a seventh of both
// (docs/performance.md, "Convolutions and products of our own"), with fewer rows more. A product of
// fewer than 8 rows waits for the weights however they lie.
constexpr int64_t kFewestRows = 8;
constexpr int64_t kMostRows = 64;
constexpr size_t kFewestProducts = 4;
constexpr int64_t kMostElements = int64_t{1} << 22;  // strips are in memory besides the weights

// The right operand of a product: rows of a matrix.
struct RightOperand {
  Output matrix;
  int64_t first_row;
  int64_t num_rows;
  bool transpose;

  int64_t depth(const PartialShape& shape) const { return transpose ? shape.dim(1) : num_rows; }
  int64_t columns(const PartialShape& shape) const { return transpose ? num_rows : shape.dim(1); }
};

// A product of whole matrices. One to which a bias is added is left to fuse_products. In iterations
// of a loop, shapes may not go together; then that of the product is not known.
bool IsPlainProduct(const StepOps& ops, const StepOp& op) {
  if (op.type() != "MatMul" || op.outputs[0].dtype() != DataType::kFloat || op.names_kernel() ||
      op.must_run || op.node->Attr<bool>("transpose_a").value_or(true) ||
      ops.KnownShape(op.outputs[0]) == nullptr) {
    return false;
  }
  const int reader = ops.OnlyReader(op.outputs[0]);
  return reader < 0 || !AddedVector(ops, ops.op(reader), op.outputs[0]).has_value();
}

std::optional<RightOperand> RightOperandOf(const StepOps& ops, const StepOp& op) {
  const bool is_plain = IsPlainProduct(ops, op);
  if (!is_plain && op.type() != "_PartMatMul") return std::nullopt;
  const Output& matrix = op.inputs[1];
  const PartialShape* const left = ops.KnownShape(op.inputs[0]);
  const PartialShape* const right = ops.KnownShape(matrix);
  if (left == nullptr || right == nullptr || ops.constant(matrix) != nullptr) return std::nullopt;
  const StatusOr<bool> transpose = op.node->Attr<bool>("transpose_b");
  if (!transpose.ok()) return std::nullopt;
  RightOperand found{matrix, 0, right->dim(0), *transpose};
  if (!is_plain) {
    const StatusOr<int64_t> first_row = op.node->Attr<int64_t>("first_row");
    const StatusOr<int64_t> num_rows = op.node->Attr<int64_t>("num_rows");
    if (!first_row.ok() || !num_rows.ok()) return std::nullopt;
    found.first_row = *first_row;
    found.num_rows = *num_rows;
  }
  const int64_t elements = found.depth(*right) * found.columns(*right);
  const bool suits = left->dim(0) >= kFewestRows && left->dim(0) <= kMostRows && elements > 0 &&
                     found.columns(*right) >= kStripColumns && elements <= kMostElements;
  return suits ? std::make_optional(found) : std::nullopt;
}

// Adds the operation that arranges the weights.
StatusOr<Output> AddStrips(StepOps* ops, const RightOperand& right, const Node& like) {
  const PartialShape shape = *ops->KnownShape(right.matrix);
  const int64_t strips = (right.columns(shape) + kStripColumns - 1) / kStripColumns;
  MS_ASSIGN_OR_RETURN(
      const Output value,
      ops->NewValue(DataType::kFloat, PartialShape({strips, right.depth(shape), kStripColumns})));
  AttrMap attrs;
  SetAttr(&attrs, "T", DataType::kFloat);
  SetAttr(&attrs, "first_row", right.first_row);
  SetAttr(&attrs, "num_rows", right.num_rows);
  SetAttr(&attrs, "transpose_b", right.transpose);
  MS_RETURN_IF_ERROR(ops->Add(kStrips, std::move(attrs), like, {right.matrix}, {value}));
  return value;
}

AttrMap ProductAttrs(int64_t num_addends, int64_t num_columns) {
  AttrMap attrs;
  SetAttr(&attrs, "T", DataType::kFloat);
  SetAttr(&attrs, "num_addends", num_addends);
  SetAttr(&attrs, "num_columns", num_columns);
  return attrs;
}

Status Share(StepOps* ops, const RightOperand& right, const std::vector<int>& products) {
  const int64_t columns = right.columns(*ops->KnownShape(right.matrix));
  MS_ASSIGN_OR_RETURN(const Output strips, AddStrips(ops, right, *ops->op(products[0]).node));
  for (const int i : products) {
    const StepOp op = ops->op(i);
    std::vector<Output> inputs = op.inputs;
    inputs[1] = strips;
    AttrMap attrs = ProductAttrs(static_cast<int64_t>(inputs.size()) - 2, columns);
    MS_RETURN_IF_ERROR(
        ops->Replace(i, {i}, kProduct, std::move(attrs), *op.node, std::move(inputs), op.outputs));
  }
  return absl::OkStatus();
}

Status ShareStrips(StepOps* ops) {
  if (!ops->HasKernel(kProduct, ProductAttrs(0, 1))) return absl::OkStatus();
  struct Group {
    RightOperand right;
    std::vector<int> products;
  };
  std::vector<Group> groups;  // in the order of their first products
  absl::btree_map<std::tuple<const Node*, int, int64_t, int64_t, bool>, size_t> places;
  for (int i = 0; i < ops->size(); ++i) {
    if (ops->IsGone(i)) continue;
    const std::optional<RightOperand> right = RightOperandOf(*ops, ops->op(i));
    if (!right.has_value()) continue;
    const auto [place, is_new] =
        places.try_emplace({right->matrix.node, right->matrix.index, right->first_row,
                            right->num_rows, right->transpose},
                           groups.size());
    if (is_new) groups.push_back({*right, {}});
    groups[place->second].products.push_back(i);
  }
  bool any = false;
  for (const Group& group : groups) {
    if (group.products.size() < kFewestProducts) continue;
    MS_RETURN_IF_ERROR(Share(ops, group.right, group.products));
    any = true;
  }
  if (any) ops->Reorder();
  return absl::OkStatus();
}

// After join_products, which makes products of parts of the weights.
MILLSTREAM_PASS("share_strips", 13, ShareStrips);

}  // namespace
}  // namespace millstream
