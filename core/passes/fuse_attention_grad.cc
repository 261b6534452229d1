// fuse_attention_grad: makes one operation of the gradients of an attention's queries, keys and
// values, where P = softmax(scale * Q K^T + mask), the attention is P V and dO its gradient:
//
//   dP = dO V^T      dS = _SoftmaxGrad(dP, P) * scale
//   dV = P^T dO      dQ = dS K      dK = dS^T Q
//
// These read and write 28 bytes for each element of P: dP is written and read, P is read twice, dS
// is written and read twice. The fused kernel reads P, 4 bytes, and keeps tiles of the others in a
// cache. Measured with one thread, AVX-512 and 32 MB of last cache, the least of many runs: 32
// matrices of 1024 x 1024 took 181 ms instead of 200 with heads of 64 numbers, 98 instead of 108
// with 32 and 58 instead of 81 with 16. Where P fits the cache, nothing is gained: 8 matrices of
// 512 x 512 with heads of 64 took 11.2 ms instead of 11.4. So P must be large, and heads not longer
// than those measured: the longer they are, the less of the time is the memory's.
//
// P is not computed anew, as FlashAttention does it (T. Dao et al., FlashAttention: Fast and
// Memory-Efficient Exact Attention with IO-Awareness, 2022). That would spare reading P, but takes
// a fifth product, a quarter more operations, where the library does 9 of 10 that the processor can
// do, and an exponential. Measured with the same loops, 8 matrices of 512 x 512 with heads of 64
// took 15.8 ms.
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/passes/batch_product.h"
#include "core/passes/known_values.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr char kFused[] = "_AttentionGrad";

// Of P, 64 MB.
constexpr int64_t kFewestElements = int64_t{1} << 24;
constexpr int64_t kLongestHead = 64;

// True if replacing operation i loses nothing but its output, which `reader` alone reads.
bool IsInner(const StepOps& ops, int i, int reader) {
  return IsReplaceable(ops, i) && !ops.op(i).must_run &&
         ops.OnlyReader(ops.op(i).outputs[0]) == reader;
}

// True if operation i gives transpose(x) * y.
bool MultipliesTransposed(const StepOps& ops, int i, const Output& x, const Output& y) {
  const std::optional<BatchProduct> product = BatchProductAt(ops, i);
  return product.has_value() && product->x == x && product->y == y && product->transpose_x &&
         !product->transpose_y;
}

struct AttentionGrad {
  std::vector<int> inner;  // their outputs are not needed any more
  int dq = -1;             // the operations that give the results
  int dk = -1;
  int dv = -1;
  Output q;
  Output k;
  Output v;
  Output probabilities;
  Output gradients;
  bool transpose_k = false;
  bool transpose_v = false;
  float scale = 1;
};

// Operation i, a _SoftmaxGrad, reads dP of a product: that and dV are found.
bool FindReaderOfValues(const StepOps& ops, int i, AttentionGrad* found) {
  const StepOp& op = ops.op(i);
  const int producer = ops.Producer(op.inputs[0]);
  const std::optional<BatchProduct> product = BatchProductAt(ops, producer);
  if (!product.has_value() || product->transpose_x || !IsInner(ops, producer, i)) return false;
  found->inner.push_back(producer);
  found->gradients = product->x;
  found->v = product->y;
  found->transpose_v = !product->transpose_y;
  found->probabilities = op.inputs[1];
  for (const int reader : ops.Readers(found->probabilities)) {
    const bool is_dv =
        found->transpose_v
            ? MultipliesTransposed(ops, reader, found->gradients, found->probabilities)
            : MultipliesTransposed(ops, reader, found->probabilities, found->gradients);
    if (is_dv) found->dv = reader;
  }
  return found->dv >= 0;
}

// The scores' gradient that operation i gives, or the division of it by a number that alone reads
// it.
Output FindScoreGradient(const StepOps& ops, int i, AttentionGrad* found) {
  const Output gradient = ops.op(i).outputs[0];
  found->inner.push_back(i);
  const int reader = ops.OnlyReader(gradient);
  if (!IsReplaceable(ops, reader) || ops.op(reader).type() != "RealDiv" ||
      ops.op(reader).inputs[0] != gradient) {
    return gradient;
  }
  const std::optional<Tensor> uniform = UniformValue(ops, ops.op(reader).inputs[1]);
  const Output quotient = ops.op(reader).outputs[0];
  if (!uniform.has_value() || !HaveSameShape(ops, gradient, quotient)) return gradient;
  const float factor = 1 / *uniform->data<float>();
  if (!std::isnormal(factor)) return gradient;
  found->scale *= factor;
  found->inner.push_back(reader);
  return quotient;
}

// The two products that read the scores' gradient.
bool FindProductsOfScores(const StepOps& ops, const Output& gradient, AttentionGrad* found) {
  if (ops.IsVisible(gradient)) return false;
  const std::vector<int>& readers = ops.Readers(gradient);
  if (readers.size() != 2 || readers[0] == readers[1]) return false;
  for (const int first : {0, 1}) {
    const std::optional<BatchProduct> dq = BatchProductAt(ops, readers[first]);
    const std::optional<BatchProduct> dk = BatchProductAt(ops, readers[1 - first]);
    if (!dq.has_value() || !dk.has_value() || dq->x != gradient || dq->transpose_x) continue;
    const bool is_column = dq->transpose_y;
    const Output q = is_column ? dk->x : dk->y;
    const bool is_dk = is_column ? MultipliesTransposed(ops, readers[1 - first], q, gradient)
                                 : MultipliesTransposed(ops, readers[1 - first], gradient, q);
    if (!is_dk) continue;
    found->dq = readers[first];
    found->dk = readers[1 - first];
    found->q = q;
    found->k = dq->y;
    found->transpose_k = is_column;
    return true;
  }
  return false;
}

// True if the shape is that of the probabilities but for the matrices.
bool HasBatchOf(const PartialShape& probabilities, const PartialShape* shape) {
  if (shape == nullptr || shape->rank() != probabilities.rank()) return false;
  for (int i = 0; i < shape->rank() - 2; ++i) {
    if (shape->dim(i) != probabilities.dim(i)) return false;
  }
  return true;
}

// True if the kernel computes what was found, and faster than the library.
bool FitsAndPays(const StepOps& ops, const AttentionGrad& found) {
  const PartialShape* const probabilities = ops.KnownShape(found.probabilities);
  if (probabilities == nullptr || probabilities->rank() < 2) return false;
  for (const Output& operand : {found.q, found.k, found.v, found.gradients}) {
    if (!HasBatchOf(*probabilities, ops.KnownShape(operand))) return false;
  }
  const int64_t depth = ops.KnownShape(found.k)->dim(found.transpose_k ? -2 : -1);
  if (ops.KnownShape(found.q)->dim(-1) != depth) return false;
  return probabilities->ToShape().num_elements() >= kFewestElements && depth <= kLongestHead &&
         ops.KnownShape(found.gradients)->dim(-1) <= kLongestHead;
}

std::optional<AttentionGrad> AttentionGradAt(const StepOps& ops, int i) {
  if (ops.IsGone(i) || ops.op(i).type() != "_SoftmaxGrad") return std::nullopt;
  AttentionGrad found;
  const StatusOr<float> scale = ops.op(i).node->Attr<float>("scale");
  if (!scale.ok()) return std::nullopt;
  found.scale = *scale;
  if (!FindReaderOfValues(ops, i, &found)) return std::nullopt;
  const Output gradient = FindScoreGradient(ops, i, &found);
  for (const int inner : found.inner) {
    if (ops.op(inner).must_run) return std::nullopt;
  }
  if (!FindProductsOfScores(ops, gradient, &found) || !FitsAndPays(ops, found)) return std::nullopt;
  return found;
}

// ---- The pass ----

Status FuseAt(StepOps* ops, int i) {
  const std::optional<AttentionGrad> found = AttentionGradAt(*ops, i);
  if (!found.has_value()) return absl::OkStatus();
  std::vector<int> members = found->inner;
  members.insert(members.end(), {found->dq, found->dk, found->dv});
  std::vector<Output> inputs = {found->q, found->k, found->v, found->probabilities,
                                found->gradients};
  // Before all that reads one of the results, so behind all that it reads itself.
  const int place = *absl::c_min_element(members);
  for (const Output& input : inputs) {
    if (ops->Producer(input) >= place) return absl::OkStatus();
  }
  AttrMap attrs;
  SetAttr(&attrs, "T", DataType::kFloat);
  SetAttr(&attrs, "scale", found->scale);
  SetAttr(&attrs, "transpose_k", found->transpose_k);
  SetAttr(&attrs, "transpose_v", found->transpose_v);
  if (!ops->HasKernel(kFused, attrs)) return absl::OkStatus();
  std::vector<Output> outputs;
  for (const int result : {found->dq, found->dk, found->dv}) {
    outputs.push_back(ops->op(result).outputs[0]);
  }
  std::vector<int> producers;  // that may have lost their last reader
  for (const int member : found->inner) {
    for (const Output& input : ops->op(member).inputs) producers.push_back(ops->Producer(input));
  }
  const Node* const like = ops->op(found->dq).node;
  MS_RETURN_IF_ERROR(ops->Replace(place, members, kFused, std::move(attrs), *like,
                                  std::move(inputs), std::move(outputs)));
  for (const int producer : producers) {
    if (!absl::c_linear_search(members, producer)) ops->RemoveUnread(producer);
  }
  return absl::OkStatus();
}

Status FuseAttentionGrad(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) MS_RETURN_IF_ERROR(FuseAt(ops, i));
  return absl::OkStatus();
}

// After fuse_softmax_grad, of whose operation it makes a part of a larger one.
MILLSTREAM_PASS("fuse_attention_grad", 25, FuseAttentionGrad);

}  // namespace
}  // namespace millstream
