// fuse_attention: makes one operation of attention as programs write it:
//
//   softmax(q * transpose(k) * scale + mask) * v
//
// The scale and the mask may be missing, the scale may be a division. Transposes around it, which
// make heads of columns and back, become part of the operation. So scores are in memory a tile at a
// time, and not all at once. Sums are rounded in another order than the library's.
//
// What gains is that the transposes need not run: the library multiplies matrices that lie as it
// reads them no slower than the fused kernel, and faster when this was measured (128 queries and
// keys: 796 us instead of 899). So there must be a transpose that nothing else reads. A few
// queries, as in programs that make one word after the other, stay with the library in any case.
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/passes/batch_product.h"
#include "core/passes/known_values.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr char kFused[] = "_Attention";

// The kernel arranges keys and values once for all queries, which costs as much as a few queries
// do. Measured on 512 and 2048 keys of 64 numbers: with one query, 4.6 and 6.9 times the time.
constexpr int64_t kFewestQueries = 4;

using Permutation = std::vector<int64_t>;

// A value with its dimensions in another order: dimension i is dimension order[i] of the value.
struct OrderedValue {
  Output value;
  Permutation order;
};

OrderedValue AsItIs(const StepOps& ops, const Output& value) {
  OrderedValue ordered{value, Permutation(ops.KnownShape(value)->rank())};
  std::iota(ordered.order.begin(), ordered.order.end(), 0);
  return ordered;
}

bool IsPermutation(Permutation permutation, int rank) {
  if (static_cast<int>(permutation.size()) != rank) return false;
  absl::c_sort(permutation);
  for (int i = 0; i < rank; ++i) {
    if (permutation[i] != i) return false;
  }
  return true;
}

// The order that a Transpose gives, if it is known and valid. The kernel reports an invalid one.
std::optional<Permutation> OrderOf(const StepOps& ops, const StepOp& op) {
  if (op.type() != "Transpose" || op.names_kernel()) return std::nullopt;
  const std::optional<Permutation> order = KnownIntegers(ops, op.inputs[1]);
  const PartialShape* const shape = ops.KnownShape(op.inputs[0]);
  if (!order.has_value() || shape == nullptr || !IsPermutation(*order, shape->rank())) {
    return std::nullopt;
  }
  return order;
}

// Reads what Transposes read, as long as what it reads ends in the same dimension, where that is
// wanted.
OrderedValue BeforeTransposes(const StepOps& ops, OrderedValue found, bool keeps_last) {
  for (int producer = ops.Producer(found.value); producer >= 0;
       producer = ops.Producer(found.value)) {
    const std::optional<Permutation> order = OrderOf(ops, ops.op(producer));
    if (!order.has_value()) break;
    Permutation both;
    for (const int64_t dim : found.order) both.push_back((*order)[dim]);
    if (keeps_last && both.back() != static_cast<int64_t>(both.size()) - 1) break;
    found = {ops.op(producer).inputs[0], std::move(both)};
  }
  return found;
}

// ---- What is looked for ----

// A product of which neither batch repeats, and whose first factor is as it lies.
std::optional<BatchProduct> PlainProductAt(const StepOps& ops, int i) {
  std::optional<BatchProduct> product = BatchProductAt(ops, i);
  if (!product.has_value() || product->transpose_x) return std::nullopt;
  const PartialShape* const shape_x = ops.KnownShape(product->x);
  const PartialShape* const shape_y = ops.KnownShape(product->y);
  if (shape_x == nullptr || shape_y == nullptr || shape_x->rank() != shape_y->rank() ||
      shape_x->rank() < 2) {
    return std::nullopt;
  }
  for (int k = 0; k < shape_x->rank() - 2; ++k) {
    if (shape_x->dim(k) != shape_y->dim(k)) return std::nullopt;
  }
  return product;
}

// The operations of an attention, and what they read.
struct Attention {
  std::vector<int> members;
  OrderedValue q;
  OrderedValue k;  // a row for each key
  OrderedValue v;
  std::vector<Output> operands;  // q, k and v as the products read them
  std::optional<Output> mask;
  float scale = 1;
  Permutation output_order;
};

// The operation that produces `value`, if nothing but operation `reader` reads it.
int ProducerFor(const StepOps& ops, const Output& value, int reader) {
  const int producer = ops.Producer(value);
  return IsReplaceable(ops, producer) && !ops.op(producer).must_run &&
                 ops.OnlyReader(value) == reader
             ? producer
             : -1;
}

// The factor by which operation i, a Mul or RealDiv, scales its operand, and which operand that is.
struct Scale {
  int operand;
  float factor;
};

std::optional<Scale> ScaleAt(const StepOps& ops, int i) {
  const StepOp& op = ops.op(i);
  const bool divides = op.type() == "RealDiv";
  if (!divides && op.type() != "Mul") return std::nullopt;
  for (const int operand : {0, 1}) {
    if (divides && operand == 1) break;
    const std::optional<Tensor> uniform = UniformValue(ops, op.inputs[1 - operand]);
    if (!uniform.has_value() || !HaveSameShape(ops, op.inputs[operand], op.outputs[0])) continue;
    const float number = *uniform->data<float>();
    const float factor = divides ? 1 / number : number;
    // The reciprocal of anything else is no number to multiply with.
    if (divides && !std::isnormal(factor)) continue;
    return Scale{operand, factor};
  }
  return std::nullopt;
}

// Operation i gives the scores before any mask, or scales what gives them: the product is found.
bool FindProduct(const StepOps& ops, int i, Attention* found) {
  std::vector<int> members = {i};
  std::optional<BatchProduct> product = PlainProductAt(ops, i);
  float factor = 1;
  if (!product.has_value()) {
    const std::optional<Scale> scale = ScaleAt(ops, i);
    if (!scale.has_value()) return false;
    const int producer = ProducerFor(ops, ops.op(i).inputs[scale->operand], i);
    if (producer < 0) return false;
    product = PlainProductAt(ops, producer);
    if (!product.has_value()) return false;
    members.push_back(producer);
    factor = scale->factor;
  }
  found->operands = {product->x, product->y};
  found->q = BeforeTransposes(ops, AsItIs(ops, product->x), true);
  OrderedValue k = AsItIs(ops, product->y);
  if (!product->transpose_y) std::swap(k.order[k.order.size() - 2], k.order.back());
  found->k = BeforeTransposes(ops, std::move(k), false);
  found->scale = factor;
  absl::c_copy(members, std::back_inserter(found->members));
  return true;
}

// The scores that operation `reader`, a Softmax, reads.
bool FindScores(const StepOps& ops, int reader, Attention* found) {
  const int last = ProducerFor(ops, ops.op(reader).inputs[0], reader);
  if (last < 0) return false;
  if (FindProduct(ops, last, found)) return true;
  const StepOp& sum = ops.op(last);
  if (sum.type() != "Add" && sum.type() != "AddV2") return false;
  for (const int operand : {0, 1}) {
    const int producer = ProducerFor(ops, sum.inputs[operand], last);
    if (producer < 0 || !HaveSameShape(ops, sum.inputs[operand], sum.outputs[0]) ||
        ops.KnownShape(sum.inputs[1 - operand]) == nullptr) {
      continue;
    }
    if (!FindProduct(ops, producer, found)) continue;
    found->members.push_back(last);
    found->mask = sum.inputs[1 - operand];
    return true;
  }
  return false;
}

// True if a Transpose need not run any more: one before the attention that only its members read.
bool SparesATranspose(const StepOps& ops, const Attention& found) {
  const Output sources[] = {found.q.value, found.k.value, found.v.value};
  for (size_t i = 0; i < found.operands.size(); ++i) {
    const Output& operand = found.operands[i];
    if (sources[i] == operand || ops.IsVisible(operand) || ops.op(ops.Producer(operand)).must_run) {
      continue;
    }
    const auto is_member = [&](int reader) { return absl::c_linear_search(found.members, reader); };
    if (absl::c_all_of(ops.Readers(operand), is_member)) return true;
  }
  return false;
}

// The attention whose Softmax operation i is.
std::optional<Attention> AttentionAt(const StepOps& ops, int i) {
  if (!IsReplaceable(ops, i) || ops.op(i).type() != "Softmax" || ops.op(i).must_run) {
    return std::nullopt;
  }
  const Output probabilities = ops.op(i).outputs[0];
  const int second = ops.OnlyReader(probabilities);
  if (second < 0) return std::nullopt;
  const std::optional<BatchProduct> product = PlainProductAt(ops, second);
  if (!product.has_value() || product->x != probabilities ||
      ops.KnownShape(probabilities)->dim(-2) < kFewestQueries ||
      ops.KnownShape(ops.op(second).outputs[0]) == nullptr) {
    return std::nullopt;
  }
  Attention found;
  if (!FindScores(ops, i, &found)) return std::nullopt;
  found.members.push_back(i);
  found.members.push_back(second);
  found.operands.push_back(product->y);
  OrderedValue v = AsItIs(ops, product->y);
  if (product->transpose_y) std::swap(v.order[v.order.size() - 2], v.order.back());
  found.v = BeforeTransposes(ops, std::move(v), false);
  found.output_order = AsItIs(ops, ops.op(second).outputs[0]).order;
  const int third = ops.OnlyReader(ops.op(second).outputs[0]);
  if (IsReplaceable(ops, third) && !ops.op(second).must_run) {
    const std::optional<Permutation> order = OrderOf(ops, ops.op(third));
    if (order.has_value() && order->back() == static_cast<int64_t>(order->size()) - 1) {
      found.output_order = *order;
      found.members.push_back(third);
      return found;
    }
  }
  if (!SparesATranspose(ops, found)) return std::nullopt;
  return found;
}

// ---- The pass ----

Status FuseAt(StepOps* ops, int i) {
  const std::optional<Attention> found = AttentionAt(*ops, i);
  if (!found.has_value()) return absl::OkStatus();
  std::vector<Output> inputs = {found->q.value, found->k.value, found->v.value};
  if (found->mask.has_value()) inputs.push_back(*found->mask);
  AttrMap attrs;
  SetAttr(&attrs, "T", DataType::kFloat);
  SetAttr(&attrs, "num_masks", static_cast<int64_t>(found->mask.has_value() ? 1 : 0));
  SetAttr(&attrs, "scale", found->scale);
  SetAttr(&attrs, "q_perm", found->q.order);
  SetAttr(&attrs, "k_perm", found->k.order);
  SetAttr(&attrs, "v_perm", found->v.order);
  SetAttr(&attrs, "output_perm", found->output_order);
  if (!ops->HasKernel(kFused, attrs)) return absl::OkStatus();
  std::vector<int> transposes;  // that may have lost their last reader
  for (const int member : found->members) {
    for (const Output& input : ops->op(member).inputs) transposes.push_back(ops->Producer(input));
  }
  const StepOp last = ops->op(found->members.back());
  MS_RETURN_IF_ERROR(ops->Replace(found->members.back(), found->members, kFused, std::move(attrs),
                                  *last.node, std::move(inputs), last.outputs));
  for (const int transpose : transposes) ops->RemoveUnread(transpose);
  return absl::OkStatus();
}

Status FuseAttention(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (!ops->IsGone(i)) MS_RETURN_IF_ERROR(FuseAt(ops, i));
  }
  return absl::OkStatus();
}

// After simplify_arithmetic and merge_equal, before passes that take parts of it.
MILLSTREAM_PASS("fuse_attention", 16, FuseAttention);

}  // namespace
}  // namespace millstream
