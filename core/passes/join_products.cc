// join_products: where the steps of a recurrent network are unrolled, each multiplies the same
// weights with its input and its state, one beside the other:
//
//   sum[t] = concat(input[t], state[t]) * weights + bias
//
// The bias may be missing. The products of the inputs need no state. They become one product with
// the rows of the weights that belong to inputs, and each step multiplies its state alone. Likewise
// in the backward steps, where the gradient of each concatenation is cut in two: the gradients of
// all inputs are one product. If nothing reads these, they are not computed. A program may also
// multiply inputs and states with weights of their own, without a concatenation; then the products
// of all inputs become one, and the others stay. Sums are rounded in another order.
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/passes/joined_products.h"
#include "core/passes/known_values.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

// All products of a group are in memory at once.
constexpr int64_t kMostElements = int64_t{1} << 25;

// ---- Forward ----

// A product of two matrices side by side, and the operation that adds a bias to it, if there is
// one.
struct ForwardProduct {
  int product;
  Output parts[2];
  int sum;  // -1: there is none
  Output bias;
};

std::optional<ForwardProduct> ForwardProductAt(const StepOps& ops, int i) {
  const StepOp& op = ops.op(i);
  if (!IsProductWithRows(op, false)) return std::nullopt;
  const int producer = ops.Producer(op.inputs[0]);
  if (producer < 0) return std::nullopt;
  const StepOp& concat = ops.op(producer);
  if (concat.type() != "ConcatV2" || concat.inputs.size() != 3) return std::nullopt;
  const auto axis = KnownIntegers(ops, concat.inputs[2]);
  if (!axis.has_value() || (axis->at(0) != 1 && axis->at(0) != -1)) return std::nullopt;
  if (ops.KnownShape(concat.inputs[0]) == nullptr || ops.KnownShape(concat.inputs[1]) == nullptr ||
      ops.KnownShape(op.outputs[0]) == nullptr || ops.IsVisible(op.outputs[0])) {
    return std::nullopt;
  }
  ForwardProduct found{i, {concat.inputs[0], concat.inputs[1]}, -1, Output()};
  const int sum = ops.OnlyReader(op.outputs[0]);
  if (sum < 0 || ops.op(sum).names_kernel()) return found;
  const std::optional<Output> bias = AddedVector(ops, ops.op(sum), op.outputs[0]);
  if (bias.has_value()) {
    found.sum = sum;
    found.bias = *bias;
  }
  return found;
}

// The products with one matrix of weights, in the order in which they run.
class ForwardGroup {
 public:
  ForwardGroup(StepOps* ops, std::vector<ForwardProduct> members)
      : ops_(*ops), members_(std::move(members)) {
    // Steps of one network have all a bias, or none.
    const auto has_bias = [](const ForwardProduct& member) { return member.sum >= 0; };
    if (!absl::c_any_of(members_, has_bias)) return;
    has_bias_ = true;
    members_.erase(std::remove_if(members_.begin(), members_.end(), std::not_fn(has_bias)),
                   members_.end());
  }

  Status Rewrite() {
    if (members_.size() < 2) return absl::OkStatus();
    for (const int part : {0, 1}) {
      if (IsInput(part)) return JoinInputs(part);
    }
    return absl::OkStatus();
  }

 private:
  std::vector<Output> Values(int part) const {
    std::vector<Output> values;
    for (const ForwardProduct& member : members_) values.push_back(member.parts[part]);
    return values;
  }

  // True if a part is the input of each step, and the other one is the state.
  bool IsInput(int part) const {
    const std::vector<Output> inputs = Values(part);
    int64_t elements = 0;
    std::vector<Output> products;
    for (const ForwardProduct& member : members_) {
      if (!HaveSameShape(ops_, member.parts[part], inputs[0])) return false;
      if (!HaveSameShape(ops_, member.parts[1 - part], members_[0].parts[1 - part])) return false;
      products.push_back(ops_.op(member.product).outputs[0]);
      elements += ops_.KnownShape(products.back())->ToShape().num_elements();
    }
    if (elements > kMostElements) return false;
    const std::vector<bool> follows = Consequences(ops_, products);
    return !FollowsAny(ops_, follows, inputs) && FollowsAny(ops_, follows, Values(1 - part)) &&
           ops_.CanPrecede(inputs, members_[0].product);
  }

  Status JoinInputs(int part) {
    const Output weights = ops_.op(members_[0].product).inputs[1];
    const int64_t widths[] = {ops_.KnownShape(members_[0].parts[0])->dim(1),
                              ops_.KnownShape(members_[0].parts[1])->dim(1)};
    const RowRange ranges[] = {{0, widths[0]}, {widths[0], widths[1]}};
    std::vector<int> concats;
    for (const ForwardProduct& member : members_) {
      concats.push_back(ops_.Producer(ops_.op(member.product).inputs[0]));
    }
    MS_ASSIGN_OR_RETURN(const std::vector<Output> values,
                        Multiply(ranges[part], Values(part), weights));
    for (size_t t = 0; t < members_.size(); ++t) {
      const ForwardProduct& member = members_[t];
      const int place = has_bias_ ? member.sum : member.product;
      const StepOp last = ops_.op(place);
      std::vector<Output> inputs = {member.parts[1 - part], weights, values[t]};
      if (has_bias_) inputs.push_back(member.bias);
      AttrMap attrs = PartAttrs(ranges[1 - part], false);
      SetAttr(&attrs, "num_addends", static_cast<int64_t>(inputs.size()) - 2);
      MS_RETURN_IF_ERROR(ops_.Replace(place, {place}, "_PartMatMul", std::move(attrs), *last.node,
                                      std::move(inputs), last.outputs));
    }
    for (const int concat : concats) ops_.RemoveUnread(concat);
    ops_.Reorder();
    return absl::OkStatus();
  }

  // The products of the inputs. Where a bias follows, they have the names of the products of both
  // parts, which nothing reads any more.
  StatusOr<std::vector<Output>> Multiply(const RowRange& rows, std::vector<Output> inputs,
                                         const Output& weights) {
    std::vector<int> products;
    std::vector<Output> values;
    for (const ForwardProduct& member : members_) {
      products.push_back(member.product);
      Output value = ops_.op(member.product).outputs[0];
      if (!has_bias_) {
        MS_ASSIGN_OR_RETURN(value, ops_.NewValue(value.dtype(), *ops_.KnownShape(value)));
      }
      values.push_back(value);
    }
    MS_RETURN_IF_ERROR(has_bias_ ? ReplaceByJoined(&ops_, products[0], products, rows, false,
                                                   std::move(inputs), weights, values)
                                 : AddJoined(&ops_, *ops_.op(products[0]).node, rows,
                                             std::move(inputs), weights, values));
    return values;
  }

  StepOps& ops_;
  std::vector<ForwardProduct> members_;
  bool has_bias_ = false;
};

// ---- Backward ----

// A product with transposed weights that is cut into columns, which are rows of the weights.
struct BackwardProduct {
  int product;
  absl::btree_map<RowRange, int> slices;
};

// The columns that operation `reader` cuts from a matrix of this shape.
std::optional<RowRange> ColumnsOf(const StepOps& ops, const StepOp& reader, const Output& matrix) {
  const PartialShape* const shape = ops.KnownShape(matrix);
  if (reader.type() != "Slice" || reader.inputs[0] != matrix || shape == nullptr ||
      reader.names_kernel()) {
    return std::nullopt;
  }
  const auto begin = KnownIntegers(ops, reader.inputs[1]);
  const PartialShape* const part = ops.KnownShape(reader.outputs[0]);
  if (!begin.has_value() || part == nullptr || begin->size() != 2) return std::nullopt;
  if (begin->at(0) != 0 || part->dim(0) != shape->dim(0)) return std::nullopt;
  return RowRange{begin->at(1), part->dim(1)};
}

std::optional<BackwardProduct> BackwardProductAt(const StepOps& ops, int i) {
  const StepOp& op = ops.op(i);
  if (!IsProductWithRows(op, true) || ops.IsVisible(op.outputs[0])) return std::nullopt;
  if (ops.KnownShape(op.inputs[0]) == nullptr) return std::nullopt;
  BackwardProduct found{i, {}};
  for (const int reader : ops.Readers(op.outputs[0])) {
    const std::optional<RowRange> columns = ColumnsOf(ops, ops.op(reader), op.outputs[0]);
    if (!columns.has_value() || !found.slices.emplace(*columns, reader).second) {
      return std::nullopt;
    }
  }
  return found;
}

class BackwardGroup {
 public:
  BackwardGroup(StepOps* ops, std::vector<BackwardProduct> members)
      : ops_(*ops), members_(std::move(members)) {}

  Status Rewrite() {
    Columns columns;
    for (size_t k = 0; k < members_.size(); ++k) {
      if (!HaveSameShape(ops_, Left(k), Left(0))) return absl::OkStatus();
      for (const auto& [range, slice] : members_[k].slices) {
        columns[range].push_back(static_cast<int>(k));
      }
    }
    std::optional<RowRange> joined;
    for (const auto& [range, members] : columns) {
      if (AreInputs(range, members)) joined = range;
    }
    if (!joined.has_value() && !IsCut(columns)) return absl::OkStatus();
    for (const auto& [range, members] : columns) {
      const bool is_joined = joined.has_value() && !(range < *joined) && !(*joined < range);
      MS_RETURN_IF_ERROR(is_joined ? JoinAll(range, members) : RewriteEach(range, members));
    }
    for (const BackwardProduct& member : members_) ops_.RemoveUnread(member.product);
    ops_.Reorder();
    return absl::OkStatus();
  }

 private:
  using Columns = absl::btree_map<RowRange, std::vector<int>>;  // with the members that have them

  const Output& Left(size_t k) const { return ops_.op(members_[k].product).inputs[0]; }
  int SliceOf(const RowRange& range, int member) const { return members_[member].slices.at(range); }

  // True if no step of the group reads the gradients that these columns are.
  bool AreInputs(const RowRange& range, const std::vector<int>& members) const {
    if (members.size() < 2) return false;
    std::vector<Output> gradients;
    std::vector<Output> lefts;
    int first_reader = ops_.size();
    for (const int k : members) {
      const StepOp& slice = ops_.op(SliceOf(range, k));
      if (slice.must_run || ops_.IsControlled(SliceOf(range, k))) return false;
      gradients.push_back(slice.outputs[0]);
      lefts.push_back(Left(k));
      for (const int reader : ops_.Readers(slice.outputs[0])) {
        first_reader = std::min(first_reader, reader);
      }
    }
    const int64_t elements = ops_.KnownShape(gradients[0])->ToShape().num_elements();
    if (elements * static_cast<int64_t>(members.size()) > kMostElements) return false;
    return !FollowsAny(ops_, Consequences(ops_, gradients), lefts) &&
           ops_.CanPrecede(lefts, first_reader);
  }

  // True if nothing but the same columns of all products is read.
  bool IsCut(const Columns& columns) const {
    const PartialShape* const whole = ops_.KnownShape(ops_.op(members_[0].product).outputs[0]);
    return columns.size() == 1 && columns.begin()->second.size() == members_.size() &&
           whole != nullptr && columns.begin()->first.count < whole->dim(1);
  }

  Status JoinAll(const RowRange& range, const std::vector<int>& members) {
    std::vector<int> slices;
    std::vector<Output> lefts;
    std::vector<Output> gradients;
    for (const int k : members) {
      slices.push_back(SliceOf(range, k));
      lefts.push_back(Left(k));
      gradients.push_back(ops_.op(slices.back()).outputs[0]);
    }
    const int last = *std::max_element(slices.begin(), slices.end());
    return ReplaceByJoined(&ops_, last, slices, range, true, std::move(lefts), Weights(),
                           gradients);
  }

  Status RewriteEach(const RowRange& range, const std::vector<int>& members) {
    for (const int k : members) {
      const int place = SliceOf(range, k);
      const StepOp slice = ops_.op(place);
      AttrMap attrs = PartAttrs(range, true);
      SetAttr(&attrs, "num_addends", int64_t{0});
      MS_RETURN_IF_ERROR(ops_.Replace(place, {place}, "_PartMatMul", std::move(attrs), *slice.node,
                                      {Left(k), Weights()}, slice.outputs));
    }
    return absl::OkStatus();
  }

  Output Weights() const { return ops_.op(members_[0].product).inputs[1]; }

  StepOps& ops_;
  const std::vector<BackwardProduct> members_;
};

// ---- Without a concatenation ----

// Two products of one matrix need not be steps of a network.
constexpr size_t kFewestPlainProducts = 3;

// The place of a product, if what is said above of matrices side by side does not concern it.
template <bool kTransposed>
std::optional<int> PlainProductAt(const StepOps& ops, int i) {
  const StepOp& op = ops.op(i);
  if (!IsProductWithRows(op, kTransposed) || ops.IsControlled(i) || ops.IsVisible(op.outputs[0])) {
    return std::nullopt;
  }
  const PartialShape* const left = ops.KnownShape(op.inputs[0]);
  const PartialShape* const right = ops.KnownShape(op.inputs[1]);
  if (left == nullptr || right == nullptr) return std::nullopt;
  // To copy the operands must cost less than to read the weights again.
  const int64_t rows = right->dim(0);
  const int64_t columns = right->dim(1);
  if (left->dim(0) * (rows + columns) > rows * columns) return std::nullopt;
  const int producer = ops.Producer(op.inputs[0]);
  if (producer >= 0 && ops.op(producer).type() == "ConcatV2") return std::nullopt;
  const bool is_cut = absl::c_any_of(ops.Readers(op.outputs[0]),
                                     [&](int reader) { return ops.op(reader).type() == "Slice"; });
  return is_cut ? std::nullopt : std::make_optional(i);
}

// The products with one matrix, in the order in which they run.
template <bool kTransposed>
class PlainGroup {
 public:
  PlainGroup(StepOps* ops, std::vector<int> products)
      : ops_(*ops), products_(std::move(products)) {}

  Status Rewrite() {
    FindInputs();
    if (lefts_.size() < kFewestPlainProducts || !MayBeJoined()) return absl::OkStatus();
    const Output weights = ops_.op(inputs_[0]).inputs[1];
    const RowRange all_rows = {0, ops_.KnownShape(weights)->dim(0)};
    MS_RETURN_IF_ERROR(ReplaceByJoined(&ops_, inputs_.back(), inputs_, all_rows, kTransposed,
                                       lefts_, weights, values_));
    ops_.Reorder();
    return absl::OkStatus();
  }

 private:
  // Those that follow from none of the others.
  void FindInputs() {
    std::vector<Output> values;
    for (const int product : products_) values.push_back(ops_.op(product).outputs[0]);
    const std::vector<bool> follows = Consequences(ops_, values);
    for (const int product : products_) {
      const StepOp& op = ops_.op(product);
      if (FollowsAny(ops_, follows, {op.inputs[0]})) continue;
      if (!lefts_.empty() && !HaveSameShape(ops_, op.inputs[0], lefts_[0])) continue;
      inputs_.push_back(product);
      lefts_.push_back(op.inputs[0]);
      values_.push_back(op.outputs[0]);
    }
  }

  // True if all can be computed before the first one is read.
  bool MayBeJoined() const {
    const int64_t elements = ops_.KnownShape(lefts_[0])->dim(0) * Columns();
    if (elements * static_cast<int64_t>(lefts_.size()) > kMostElements) return false;
    int first_reader = ops_.size();
    for (const Output& value : values_) {
      for (const int reader : ops_.Readers(value)) first_reader = std::min(first_reader, reader);
    }
    return ops_.CanPrecede(lefts_, first_reader);
  }

  int64_t Columns() const {
    return ops_.KnownShape(ops_.op(inputs_[0]).inputs[1])->dim(kTransposed ? 0 : 1);
  }

  StepOps& ops_;
  const std::vector<int> products_;
  std::vector<int> inputs_;  // of products_
  std::vector<Output> lefts_;
  std::vector<Output> values_;
};

// ---- The pass ----

// Rewrites the products of one kind with the first weights of which there are several, and are not
// in `done`. False if there are none: places change with every rewriting.
template <typename Member, typename Group>
StatusOr<bool> RewriteNext(StepOps* ops, std::optional<Member> (*member_at)(const StepOps&, int),
                           absl::flat_hash_set<Output>* done) {
  std::vector<Output> order;
  absl::flat_hash_map<Output, std::vector<Member>> groups;
  for (int i = 0; i < ops->size(); ++i) {
    if (ops->IsGone(i) || ops->op(i).type() != "MatMul") continue;
    std::optional<Member> member = member_at(*ops, i);
    if (!member.has_value() || done->contains(ops->op(i).inputs[1])) continue;
    std::vector<Member>& group = groups[ops->op(i).inputs[1]];
    if (group.empty()) order.push_back(ops->op(i).inputs[1]);
    group.push_back(*std::move(member));
  }
  for (const Output& weights : order) {
    done->insert(weights);
    if (groups[weights].size() < 2) continue;
    MS_RETURN_IF_ERROR(Group(ops, std::move(groups[weights])).Rewrite());
    return true;
  }
  return false;
}

template <typename Member, typename Group>
Status RewriteAll(StepOps* ops, std::optional<Member> (*member_at)(const StepOps&, int)) {
  absl::flat_hash_set<Output> done;
  bool found = true;
  while (found) {
    MS_ASSIGN_OR_RETURN(found, (RewriteNext<Member, Group>(ops, member_at, &done)));
  }
  return absl::OkStatus();
}

Status JoinProducts(StepOps* ops) {
  AttrMap attrs = PartAttrs({0, 1}, false);
  SetAttr(&attrs, "num", int64_t{2});
  SetAttr(&attrs, "num_addends", int64_t{2});
  if (!ops->HasKernel("_JoinedMatMul", attrs)) return absl::OkStatus();
  MS_RETURN_IF_ERROR((RewriteAll<ForwardProduct, ForwardGroup>(ops, &ForwardProductAt)));
  MS_RETURN_IF_ERROR((RewriteAll<BackwardProduct, BackwardGroup>(ops, &BackwardProductAt)));
  MS_RETURN_IF_ERROR((RewriteAll<int, PlainGroup<false>>(ops, &PlainProductAt<false>)));
  return RewriteAll<int, PlainGroup<true>>(ops, &PlainProductAt<true>);
}

MILLSTREAM_PASS("join_products", 12, JoinProducts);

}  // namespace
}  // namespace millstream
