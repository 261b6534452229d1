#include "core/passes/joined_products.h"

#include <algorithm>
#include <utility>

namespace millstream {
namespace {

AttrMap JoinedAttrs(const StepOps& ops, const RowRange& rows, bool transpose_b,
                    const std::vector<Output>& lefts, const Output& weights) {
  // Of constant weights the plan keeps strips, which many rows are multiplied with.
  constexpr int64_t kManyRows = 8;
  const auto count = static_cast<int64_t>(lefts.size());
  const bool is_for_strips =
      ops.constant(weights) != nullptr && count * ops.KnownShape(lefts[0])->dim(0) >= kManyRows;
  AttrMap attrs = PartAttrs(rows, transpose_b);
  SetAttr(&attrs, "num", count);
  SetAttr(&attrs, "in_strips", is_for_strips);
  return attrs;
}

}  // namespace

bool IsProductWithRows(const StepOp& op, bool transpose_b) {
  if (op.type() != "MatMul" || op.outputs[0].dtype() != DataType::kFloat || op.names_kernel()) {
    return false;
  }
  const StatusOr<bool> a = op.node->Attr<bool>("transpose_a");
  const StatusOr<bool> b = op.node->Attr<bool>("transpose_b");
  return a.ok() && !*a && b.ok() && *b == transpose_b && !op.must_run;
}

AttrMap PartAttrs(const RowRange& rows, bool transpose_b) {
  AttrMap attrs;
  SetAttr(&attrs, "T", DataType::kFloat);
  SetAttr(&attrs, "first_row", rows.first);
  SetAttr(&attrs, "num_rows", rows.count);
  SetAttr(&attrs, "transpose_b", transpose_b);
  return attrs;
}

std::vector<bool> Consequences(const StepOps& ops, const std::vector<Output>& values) {
  std::vector<bool> follows(ops.size(), false);
  std::vector<Output> left = values;
  while (!left.empty()) {
    const Output value = left.back();
    left.pop_back();
    for (const int reader : ops.Readers(value)) {
      if (follows[reader]) continue;
      follows[reader] = true;
      for (const Output& output : ops.op(reader).outputs) left.push_back(output);
    }
  }
  return follows;
}

bool FollowsAny(const StepOps& ops, const std::vector<bool>& follows,
                const std::vector<Output>& values) {
  return std::any_of(values.begin(), values.end(), [&](const Output& value) {
    const int producer = ops.Producer(value);
    return producer >= 0 && follows[producer];
  });
}

Status ReplaceByJoined(StepOps* ops, int place, const std::vector<int>& replaced,
                       const RowRange& rows, bool transpose_b, std::vector<Output> lefts,
                       const Output& weights, std::vector<Output> products) {
  AttrMap attrs = JoinedAttrs(*ops, rows, transpose_b, lefts, weights);
  lefts.push_back(weights);
  return ops->Replace(place, replaced, "_JoinedMatMul", std::move(attrs), *ops->op(place).node,
                      std::move(lefts), std::move(products));
}

Status AddJoined(StepOps* ops, const Node& like, const RowRange& rows, std::vector<Output> lefts,
                 const Output& weights, std::vector<Output> products) {
  AttrMap attrs = JoinedAttrs(*ops, rows, false, lefts, weights);
  lefts.push_back(weights);
  return ops->Add("_JoinedMatMul", std::move(attrs), like, std::move(lefts), std::move(products));
}

}  // namespace millstream
