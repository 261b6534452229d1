// Parts of networks that passes make one op of. Only the runtime makes such nodes.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// ---- _DenseLayer ----

// The number of inputs of an argument that may be missing.
StatusOr<int> ZeroOrOne(const ShapeContext& context, const char* attr) {
  MS_ASSIGN_OR_RETURN(const int64_t count, context.Attr<int64_t>(attr));
  if (count <= 1) return static_cast<int>(count);
  return InvalidAttr(context, attr, "expected 0 or 1, got ", count);
}

Status DenseLayerShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int biases, ZeroOrOne(*context, "num_biases"));
  MS_ASSIGN_OR_RETURN(const int addends, ZeroOrOne(*context, "num_addends"));
  MS_ASSIGN_OR_RETURN(const PartialShape a, context->WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape b, context->WithRank(1, 2));
  MS_ASSIGN_OR_RETURN(const bool transpose, context->Attr<bool>("transpose_b"));
  const int64_t inner = b.dim(transpose ? 1 : 0);
  if (!context->MergeDim(a.dim(1), inner).ok()) {
    return InvalidInput(*context, 1, UnequalDims(a.dim(1), inner),
                        "expected a matrix to go with argument 'a' ", a.ToString(), ", got ",
                        b.ToString());
  }
  PartialShape product = PartialShape::Matrix(a.dim(0), b.dim(transpose ? 0 : 1));
  if (biases == 1) {
    MS_ASSIGN_OR_RETURN(const PartialShape bias, context->WithRank(2, 1));
    const StatusOr<int64_t> columns = context->MergeDim(product.dim(1), bias.dim(0));
    if (!columns.ok()) return InputError(*context, 2, columns.status());
    product.set_dim(1, *columns);
  }
  if (addends == 1) {
    MS_ASSIGN_OR_RETURN(const PartialShape addend, context->WithRank(2 + biases, 2));
    StatusOr<PartialShape> merged = product.MergeWith(addend);
    if (!merged.ok()) return InputError(*context, 2 + biases, merged.status());
    product = *std::move(merged);
  }
  context->SetOutput(0, std::move(product));
  return absl::OkStatus();
}

MILLSTREAM_OP("_DenseLayer")
    .Input("a: T")
    .Input("b: T")
    .Input("bias: num_biases * T")
    .Input("addend: num_addends * T")
    .Output("output: T")
    .Attr("T: {float}")
    .Attr("num_biases: int >= 0")
    .Attr("num_addends: int >= 0")
    .Attr("activation: {\"Identity\", \"Relu\", \"GeluErf\", \"GeluTanh\"} = \"Identity\"")
    .Attr("transpose_b: bool = false")
    .Shape(DenseLayerShape)
    .Doc(R"(Gives activation(a * b + bias) + addend.

b is a matrix that is the same in every step, transposed first if transpose_b says so. The bias
and the addend may be missing. Made by the runtime.)");

// ---- _Gelu ----

MILLSTREAM_OP("_Gelu")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {float}")
    .Attr("approximate: bool = false")
    .Shape(UnchangedShape)
    .Doc(R"(Gives x times the normal distribution function of x.

That is x/2 (1 + erf(x/sqrt(2))), or by tanh if it is approximate. Made by the runtime.)");

// ---- _LayerNorm ----

Status LayerNormShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape x, context->WithRankAtLeast(0, 1));
  for (const int i : {1, 2}) {
    MS_ASSIGN_OR_RETURN(const PartialShape row, context->WithRank(i, 1));
    if (!x.known_rank()) continue;
    const StatusOr<int64_t> columns = context->MergeDim(x.dim(-1), row.dim(0));
    if (!columns.ok()) return InputError(*context, i, columns.status());
    x.set_dim(-1, *columns);
  }
  context->SetOutput(0, std::move(x));
  return absl::OkStatus();
}

MILLSTREAM_OP("_LayerNorm")
    .Input("x: T")
    .Input("gamma: T")
    .Input("beta: T")
    .Output("y: T")
    .Attr("T: {float}")
    .Attr("epsilon: float")
    .Shape(LayerNormShape)
    .Doc(R"(Gives (x - mean) / sqrt(variance + epsilon) * gamma + beta.

Mean and variance are those of each row, the last dimension of x. Made by the runtime.)");

// ---- _LstmStep, _LstmSteps ----

// There is an x_gates for each step, and as many states and memories.
Status LstmStepsShape(ShapeContext* context) {
  constexpr int64_t kGates = 4;
  MS_ASSIGN_OR_RETURN(const int biases, ZeroOrOne(*context, "num_biases"));
  MS_ASSIGN_OR_RETURN(const int64_t first, context->Attr<int64_t>("first_row"));
  const int steps = context->num_outputs() / 2;
  MS_ASSIGN_OR_RETURN(PartialShape state, context->WithRank(steps, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape c, context->WithRank(steps + 1, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape b, context->WithRank(steps + 2, 2));
  StatusOr<PartialShape> merged = state.MergeWith(c);
  if (!merged.ok()) return InputError(*context, steps + 1, merged.status());
  state = *std::move(merged);
  for (int i = 0; i < steps; ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape x_gates, context->WithRank(i, 2));
    const StatusOr<int64_t> rows = context->MergeDim(state.dim(0), x_gates.dim(0));
    if (!rows.ok()) return InputError(*context, i, rows.status());
    state.set_dim(0, *rows);
    if (state.dim(1) == kUnknownDim) continue;
    const StatusOr<int64_t> gates = context->MergeDim(x_gates.dim(1), kGates * state.dim(1));
    if (!gates.ok()) return InputError(*context, i, gates.status());
  }
  if (state.dim(1) != kUnknownDim) {
    const int64_t columns = kGates * state.dim(1);
    const StatusOr<int64_t> weights = context->MergeDim(b.dim(1), columns);
    if (!weights.ok()) return InputError(*context, steps + 2, weights.status());
    if (b.dim(0) != kUnknownDim && (first > b.dim(0) || state.dim(1) > b.dim(0) - first)) {
      return InvalidInput(*context, steps + 2, "expected rows ", first, " to ",
                          first + state.dim(1), ", got ", b.ToString());
    }
    if (biases == 1) {
      MS_ASSIGN_OR_RETURN(const PartialShape bias, context->WithRank(steps + 3, 1));
      const StatusOr<int64_t> size = context->MergeDim(bias.dim(0), columns);
      if (!size.ok()) return InputError(*context, steps + 3, size.status());
    }
  }
  for (int i = 0; i < context->num_outputs(); ++i) context->SetOutput(i, state);
  return absl::OkStatus();
}

MILLSTREAM_OP("_LstmStep")
    .Input("x_gates: T")
    .Input("h: T")
    .Input("c: T")
    .Input("b: T")
    .Input("bias: num_biases * T")
    .Output("next_h: T")
    .Output("next_c: T")
    .Attr("T: {float}")
    .Attr("num_biases: int >= 0")
    .Attr("first_row: int >= 0")
    .Attr("forget_bias: float")
    .Shape(LstmStepsShape)
    .Doc(R"(Gives the state and the memory of an LSTM after a step.

The gates i, j, f and o are side by side in h times rows of b, plus x_gates and the bias, which
may be missing. The rows are first_row and those after it, as many as h has columns, a multiple
of 16; they are the same in every step. next_c is c * sigmoid(f + forget_bias) + sigmoid(i) *
tanh(j), and next_h is tanh(next_c) * sigmoid(o). Made by the runtime.)");

MILLSTREAM_OP("_LstmSteps")
    .Input("x_gates: num_steps * T")
    .Input("h: T")
    .Input("c: T")
    .Input("b: T")
    .Input("bias: num_biases * T")
    .Output("next_h: num_steps * T")
    .Output("next_c: num_steps * T")
    .Attr("num_steps: int >= 1")
    .Attr("T: {float}")
    .Attr("num_biases: int >= 0")
    .Attr("first_row: int >= 0")
    .Attr("forget_bias: float")
    .Shape(LstmStepsShape)
    .Doc(R"(Gives the states and the memories of an LSTM after each of several steps.

As _LstmStep, of which the first step gets h and c, and each other one what the step before gives;
each has an x_gates of its own. Made by the runtime.)");

// ---- _Attention ----

// The attribute's permutation, of as many dimensions as that of q.
StatusOr<std::vector<int64_t>> PermutationAttr(const ShapeContext& context, const char* attr) {
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> permutation, context.Attr<std::vector<int64_t>>(attr));
  MS_ASSIGN_OR_RETURN(const auto q, context.Attr<std::vector<int64_t>>("q_perm"));
  std::vector<bool> seen(permutation.size(), false);
  bool is_valid = permutation.size() == q.size() && permutation.size() >= 2;
  for (const int64_t dim : permutation) {
    is_valid = is_valid && dim >= 0 && dim < static_cast<int64_t>(seen.size()) && !seen[dim];
    if (is_valid) seen[dim] = true;
  }
  if (is_valid) return permutation;
  return InvalidAttr(context, attr, "expected a permutation of the dimensions");
}

// The input with its dimensions in the attribute's order.
StatusOr<PartialShape> Ordered(const ShapeContext& context, int input, const char* attr) {
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> permutation, PermutationAttr(context, attr));
  MS_ASSIGN_OR_RETURN(const PartialShape shape,
                      context.WithRank(input, static_cast<int>(permutation.size())));
  PartialShape ordered = PartialShape::Scalar();
  for (const int64_t dim : permutation) ordered.AddDim(shape.dim(static_cast<int>(dim)));
  return ordered;
}

// Merges the dimensions [0, count) of an input into `batch`.
Status MergeBatch(const ShapeContext& context, int input, const PartialShape& shape,
                  PartialShape* batch) {
  for (int i = 0; i < batch->rank(); ++i) {
    const StatusOr<int64_t> size = context.MergeDim(batch->dim(i), shape.dim(i));
    if (!size.ok()) return InputError(context, input, size.status());
    batch->set_dim(i, *size);
  }
  return absl::OkStatus();
}

// The mask broadcasts to the scores and makes them no larger.
Status CheckMask(const ShapeContext& context, const PartialShape& scores) {
  const PartialShape& mask = context.input(3);
  if (!mask.known_rank()) return absl::OkStatus();
  bool fits = mask.rank() <= scores.rank();
  for (int back = 1; fits && back <= mask.rank(); ++back) {
    fits = mask.dim(-back) == 1 || context.MergeDim(mask.dim(-back), scores.dim(-back)).ok();
  }
  if (fits) return absl::OkStatus();
  return InvalidInput(context, 3, "expected a shape that broadcasts to the scores ",
                      scores.ToString(), ", got ", mask.ToString());
}

Status AttentionShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const int masks, ZeroOrOne(*context, "num_masks"));
  MS_ASSIGN_OR_RETURN(const PartialShape q, Ordered(*context, 0, "q_perm"));
  MS_ASSIGN_OR_RETURN(const PartialShape k, Ordered(*context, 1, "k_perm"));
  MS_ASSIGN_OR_RETURN(const PartialShape v, Ordered(*context, 2, "v_perm"));
  MS_ASSIGN_OR_RETURN(const auto order, PermutationAttr(*context, "output_perm"));
  MS_ASSIGN_OR_RETURN(const auto q_order, context->Attr<std::vector<int64_t>>("q_perm"));
  const int64_t last = q.rank() - 1;
  if (q_order.back() != last) return InvalidAttr(*context, "q_perm", "expected to end in ", last);
  if (order.back() != last)
    return InvalidAttr(*context, "output_perm", "expected to end in ", last);
  PartialShape batch(q.dims().subspan(0, q.rank() - 2));
  MS_RETURN_IF_ERROR(MergeBatch(*context, 1, k, &batch));
  MS_RETURN_IF_ERROR(MergeBatch(*context, 2, v, &batch));
  const StatusOr<int64_t> depth = context->MergeDim(q.dim(-1), k.dim(-1));
  if (!depth.ok()) return InputError(*context, 1, depth.status());
  const StatusOr<int64_t> keys = context->MergeDim(k.dim(-2), v.dim(-2));
  if (!keys.ok()) return InputError(*context, 2, keys.status());
  PartialShape scores = batch;
  scores.AddDim(q.dim(-2));
  scores.AddDim(*keys);
  if (masks == 1) MS_RETURN_IF_ERROR(CheckMask(*context, scores));
  PartialShape result = batch;
  result.AddDim(q.dim(-2));
  result.AddDim(v.dim(-1));
  PartialShape output = PartialShape::Scalar();
  for (const int64_t dim : order) output.AddDim(result.dim(static_cast<int>(dim)));
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

MILLSTREAM_OP("_Attention")
    .Input("q: T")
    .Input("k: T")
    .Input("v: T")
    .Input("mask: num_masks * T")
    .Output("output: T")
    .Attr("T: {float}")
    .Attr("num_masks: int >= 0")
    .Attr("scale: float = 1.0")
    .Attr("q_perm: list(int)")
    .Attr("k_perm: list(int)")
    .Attr("v_perm: list(int)")
    .Attr("output_perm: list(int)")
    .Shape(AttentionShape)
    .Doc(R"(Gives softmax(scale * q * transpose(k) + mask) * v for each matrix of a batch.

q, k and v are transposed by their permutations first, the result by output_perm at last. The
last two dimensions are then those of the matrices: queries or keys, and their elements. The
mask may be missing; it broadcasts to the scores. Made by the runtime.)");

// ---- _AttentionGrad ----

// The shape of keys or values with a row for each.
StatusOr<PartialShape> WithRows(const ShapeContext& context, int input, int rank,
                                const char* transpose) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context.WithRank(input, rank));
  MS_ASSIGN_OR_RETURN(const bool transposed, context.Attr<bool>(transpose));
  if (!transposed) return shape;
  const int64_t columns = shape.dim(-2);
  shape.set_dim(-2, shape.dim(-1));
  shape.set_dim(-1, columns);
  return shape;
}

Status AttentionGradShape(ShapeContext* context) {
  for (int i = 0; i < 3; ++i) context->SetOutput(i, context->input(i));
  MS_ASSIGN_OR_RETURN(const PartialShape q, context->WithRankAtLeast(0, 2));
  if (!q.known_rank()) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(const PartialShape k, WithRows(*context, 1, q.rank(), "transpose_k"));
  MS_ASSIGN_OR_RETURN(const PartialShape v, WithRows(*context, 2, q.rank(), "transpose_v"));
  MS_ASSIGN_OR_RETURN(const PartialShape probabilities, context->WithRank(3, q.rank()));
  MS_ASSIGN_OR_RETURN(const PartialShape gradients, context->WithRank(4, q.rank()));
  const PartialShape* const shapes[] = {&q, &k, &v, &probabilities, &gradients};
  PartialShape batch(q.dims().subspan(0, q.rank() - 2));
  for (int i = 1; i < 5; ++i) MS_RETURN_IF_ERROR(MergeBatch(*context, i, *shapes[i], &batch));
  // Dimensions that are the same: of which input, and from the end.
  struct Pair {
    int input;
    int dim;
    int other;
    int other_dim;
  };
  constexpr Pair kPairs[] = {{1, -1, 0, -1}, {2, -2, 1, -2}, {3, -2, 0, -2},
                             {3, -1, 1, -2}, {4, -2, 0, -2}, {4, -1, 2, -1}};
  for (const Pair& pair : kPairs) {
    const StatusOr<int64_t> size = context->MergeDim(shapes[pair.input]->dim(pair.dim),
                                                     shapes[pair.other]->dim(pair.other_dim));
    if (!size.ok()) return InputError(*context, pair.input, size.status());
  }
  return absl::OkStatus();
}

MILLSTREAM_OP("_AttentionGrad")
    .Input("q: T")
    .Input("k: T")
    .Input("v: T")
    .Input("probabilities: T")
    .Input("gradients: T")
    .Output("dq: T")
    .Output("dk: T")
    .Output("dv: T")
    .Attr("T: {float}")
    .Attr("scale: float = 1.0")
    .Attr("transpose_k: bool = false")
    .Attr("transpose_v: bool = false")
    .Shape(AttentionGradShape)
    .Doc(R"(Gives the gradients of q, k and v, where an attention is probabilities * v.

The probabilities are softmax(scale * q * transpose(k) + mask), for each matrix of a batch, and
gradients are those of the attention. q has a row for each query; k and v have one for each key
or, if transpose_k or transpose_v says so, a column. Made by the runtime.)");

}  // namespace
}  // namespace millstream
