// Ops that repeat, permute, pad and roll the dimensions of a tensor.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The rank of input 0, whose dimensions input 1, of `entry_rank`, has one entry each for; -1 when
// neither tells.
StatusOr<int> RankOfBoth(const ShapeContext& context, int entry_rank) {
  MS_ASSIGN_OR_RETURN(PartialShape entries, context.WithRank(1, entry_rank));
  const int rank = context.input(0).rank();
  const int64_t count = entries.dim(0);
  if (count == kUnknownDim) return rank;
  if (rank >= 0 && count != rank) {
    return InvalidInput(context, 1, "expected ", rank, " entries, one a dimension of ",
                        context.input(0).ToString(), ", got ", count);
  }
  MS_RETURN_IF_ERROR(CheckEntryCount(context, 1, count));
  return static_cast<int>(count);
}

// ---- Tile ----

Status TileShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(int rank, RankOfBoth(*context, 1));
  context->SetOutput(0, PartialShape());
  if (rank < 0) return absl::OkStatus();
  const PartialShape& input = context->input(0);
  const PartialValue multiples = IndexElements(*context, 1).value_or(PartialValue(rank));
  PartialShape output = PartialShape::UnknownOfRank(rank);
  for (int i = 0; i < rank; ++i) {
    if (input.known_rank() && input.dim(i) == 0) output.set_dim(i, 0);
    if (!multiples[i].has_value()) continue;
    if (*multiples[i] < 0) {
      return InvalidInput(*context, 1, "multiples must not be negative, got ", *multiples[i],
                          " for dimension ", i);
    }
    if (!input.known_rank() || input.dim(i) == kUnknownDim) continue;
    int64_t size = 0;
    if (__builtin_mul_overflow(input.dim(i), *multiples[i], &size)) {
      return InvalidInput(*context, 1, "dimension ", i, " of ", input.ToString(), " times ",
                          *multiples[i], " is too large");
    }
    output.set_dim(i, size);
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

// ---- BroadcastTo ----

Status BroadcastToShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ShapeFromSizes(*context, 1));
  const PartialShape& input = context->input(0);
  if (input.known_rank() && shape.known_rank()) {
    bool fits = input.rank() <= shape.rank();
    for (int i = 1; fits && i <= input.rank(); ++i) {
      const int64_t from = input.dim(input.rank() - i);
      const int64_t to = shape.dim(shape.rank() - i);
      fits = from == 1 || from == kUnknownDim || to == kUnknownDim || from == to;
      // A size other than 1 stays what it is.
      if (to == kUnknownDim && from != 1) shape.set_dim(shape.rank() - i, from);
    }
    if (!fits) {
      return InvalidInput(*context, 1, "Incompatible shapes: input of shape ", input.ToString(),
                          " cannot be broadcast to shape ", shape.ToString());
    }
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// ---- Transpose and InvertPermutation ----

// INVALID_ARGUMENT unless the known elements are different indices of `rank` dimensions. Negative
// ones count from the end; they are made positive.
Status ReadPermutation(const ShapeContext& context, int input, PartialValue* permutation) {
  const int rank = static_cast<int>(permutation->size());
  std::vector<bool> seen(rank, false);
  for (std::optional<int64_t>& element : *permutation) {
    if (!element.has_value()) continue;
    const StatusOr<int> axis = NormalizeAxis(*element, rank);
    if (!axis.ok()) return InputError(context, input, axis.status());
    if (seen[*axis]) {
      return InvalidInput(context, input, "expected a permutation, got dimension ", *axis,
                          " twice");
    }
    seen[*axis] = true;
    element = *axis;
  }
  return absl::OkStatus();
}

Status TransposeShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(int rank, RankOfBoth(*context, 1));
  context->SetOutput(0, PartialShape());
  if (rank < 0) return absl::OkStatus();
  PartialValue permutation = IndexElements(*context, 1).value_or(PartialValue(rank));
  MS_RETURN_IF_ERROR(ReadPermutation(*context, 1, &permutation));
  const PartialShape& input = context->input(0);
  PartialShape output = PartialShape::UnknownOfRank(rank);
  for (int i = 0; i < rank; ++i) {
    // There is but one permutation of a single dimension.
    const std::optional<int64_t> from = rank == 1 ? 0 : permutation[i];
    if (from.has_value() && input.known_rank())
      output.set_dim(i, input.dim(static_cast<int>(*from)));
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

Status InvertPermutationShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRank(0, 1));
  const std::optional<PartialValue> permutation = IndexElements(*context, 0);
  if (permutation.has_value()) {
    std::vector<bool> seen(permutation->size(), false);
    for (const std::optional<int64_t>& element : *permutation) {
      if (!element.has_value()) continue;
      if (*element < 0 || *element >= static_cast<int64_t>(seen.size()) || seen[*element]) {
        return InvalidInput(*context, 0, "expected a permutation of 0 to ", seen.size(),
                            " exclusive, got ", *element, " twice or out of range");
      }
      seen[*element] = true;
    }
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

void InvertPermutationValue(ShapeContext* context) {
  const std::optional<std::vector<int64_t>> permutation = KnownIndexElements(*context, 0);
  if (!permutation.has_value()) return;
  PartialValue inverse(permutation->size());
  for (size_t i = 0; i < permutation->size(); ++i) inverse[(*permutation)[i]] = i;
  SetIndexValue(context, 0, std::move(inverse));
}

// ---- Pad ----

// The padding before and after each dimension, when it is known.
std::optional<std::vector<int64_t>> KnownPaddings(const ShapeContext& context) {
  if (context.constant(1) == nullptr) return std::nullopt;
  StatusOr<std::vector<int64_t>> values = IntegerValues(*context.constant(1));
  if (!values.ok()) return std::nullopt;
  return *std::move(values);
}

Status PadShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(int rank, RankOfBoth(*context, 2));
  const PartialShape& entries = context->input(1);
  if (entries.known_rank() && entries.dim(1) != kUnknownDim && entries.dim(1) != 2) {
    return InvalidInput(*context, 1, "expected pairs, before and after each dimension, got shape ",
                        entries.ToString());
  }
  context->SetOutput(0, rank < 0 ? PartialShape() : PartialShape::UnknownOfRank(rank));
  const std::optional<std::vector<int64_t>> paddings = KnownPaddings(*context);
  if (!paddings.has_value() || rank < 0) return absl::OkStatus();
  const PartialShape& input = context->input(0);
  PartialShape output = PartialShape::UnknownOfRank(rank);
  for (int i = 0; i < rank; ++i) {
    const int64_t before = (*paddings)[2 * i];
    const int64_t after = (*paddings)[2 * i + 1];
    if (before < 0 || after < 0) {
      return InvalidInput(*context, 1, "paddings must be non-negative, got ", before, " and ",
                          after, " for dimension ", i);
    }
    if (!input.known_rank() || input.dim(i) == kUnknownDim) continue;
    int64_t size = 0;
    if (__builtin_add_overflow(before, after, &size) ||
        __builtin_add_overflow(size, input.dim(i), &size)) {
      return InvalidInput(*context, 1, "paddings ", before, " and ", after, " for dimension ", i,
                          " are too large");
    }
    output.set_dim(i, size);
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

Status PadV2Shape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(2, 0).status());
  return PadShape(context);
}

// ---- MirrorPad and MirrorPadGrad ----

// INVALID_ARGUMENT unless known paddings fit `inner`, the shape without them: an element can be
// mirrored once. In mode REFLECT those at the edges are not.
Status CheckMirrored(const ShapeContext& context, const PartialShape& inner) {
  const std::optional<std::vector<int64_t>> paddings = KnownPaddings(context);
  if (!paddings.has_value() || !inner.known_rank()) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(const std::string mode, context.Attr<std::string>("mode"));
  for (int i = 0; i < inner.rank(); ++i) {
    if (inner.dim(i) == kUnknownDim) continue;
    const int64_t most = inner.dim(i) - (mode == "REFLECT" ? 1 : 0);
    const int64_t before = (*paddings)[2 * i];
    const int64_t after = (*paddings)[2 * i + 1];
    if (before <= most && after <= most) continue;
    return InvalidInput(context, 1, "paddings must be at most ", most, " in mode ", mode,
                        " for dimension ", i, " of size ", inner.dim(i), ", got ", before, " and ",
                        after);
  }
  return absl::OkStatus();
}

Status MirrorPadShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(PadShape(context));
  return CheckMirrored(*context, context->input(0));
}

Status MirrorPadGradShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(PadShape(context));  // of which the checks are wanted
  PartialShape inner = context->input(0);
  if (!inner.known_rank()) return absl::OkStatus();
  const std::optional<std::vector<int64_t>> paddings = KnownPaddings(*context);
  for (int i = 0; i < inner.rank(); ++i) {
    const int64_t size = inner.dim(i);
    inner.set_dim(i, kUnknownDim);
    if (size == kUnknownDim || !paddings.has_value()) continue;
    const int64_t before = (*paddings)[2 * i];
    const int64_t after = (*paddings)[2 * i + 1];
    if (before > size - after) {
      return InvalidInput(*context, 1, "paddings ", before, " and ", after,
                          " are larger than dimension ", i, " of ", context->input(0).ToString());
    }
    inner.set_dim(i, size - before - after);
  }
  MS_RETURN_IF_ERROR(CheckMirrored(*context, inner));
  context->SetOutput(0, std::move(inner));
  return absl::OkStatus();
}

// ---- Roll ----

Status RollShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRankAtLeast(0, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape shift, context->WithRankAtMost(1, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape axis, context->WithRankAtMost(2, 1));
  const StatusOr<PartialShape> both = shift.MergeWith(axis);
  if (!both.ok()) return InputError(*context, 2, both.status());
  const std::optional<PartialValue> axes = IndexElements(*context, 2);
  if (axes.has_value() && input.known_rank()) {
    for (const std::optional<int64_t>& element : *axes) {
      if (!element.has_value()) continue;
      const StatusOr<int> known = NormalizeAxis(*element, input.rank());
      if (!known.ok()) return InputError(*context, 2, known.status());
    }
  }
  context->SetOutput(0, std::move(input));
  return absl::OkStatus();
}

// ---- Definitions ----

MILLSTREAM_OP("Tile")
    .Input("input: T")
    .Input("multiples: Tmultiples")
    .Output("output: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tmultiples", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Speculatable()
    .Shape(TileShape)
    .Doc(R"(Repeats a tensor along its dimensions.

multiples has one entry a dimension: how often it is repeated, 0 giving an empty tensor.)");

MILLSTREAM_OP("BroadcastTo")
    .Input("input: T")
    .Input("shape: Tidx")
    .Output("output: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Shape(BroadcastToShape)
    .Doc(R"(Repeats a tensor along dimensions of size 1, and new ones at the front, up to a shape.

Every other dimension of input must have the size that shape has for it.)")
    .Example(R"(
>>> tf.broadcast_to([[1], [2]], [2, 3]).eval().tolist()
[[1, 1, 1], [2, 2, 2]])");

MILLSTREAM_OP("Transpose")
    .Input("x: T")
    .Input("perm: Tperm")
    .Output("y: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tperm", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Speculatable()
    .Shape(TransposeShape)
    .Doc(R"(Permutes the dimensions of a tensor.

Dimension i of y is dimension perm[i] of x. perm must name every dimension once.)");

MILLSTREAM_OP("ConjugateTranspose")
    .Input("x: T")
    .Input("perm: Tperm")
    .Output("y: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tperm", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Shape(TransposeShape)
    .Doc(R"(Permutes the dimensions of a tensor and takes the complex conjugate of its elements.

Dimension i of y is dimension perm[i] of x. perm must name every dimension once. Numbers that are
not complex are their own conjugates.)");

MILLSTREAM_OP("InvertPermutation")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kIndexTypes, " = int32"))
    .Shape(InvertPermutationShape)
    .Value(InvertPermutationValue)
    .Doc(R"(Inverts a permutation: y[x[i]] is i.

x is a vector that holds each of 0 to its length exclusive once; INVALID_ARGUMENT otherwise.)")
    .Example(R"(
>>> tf.invert_permutation([2, 0, 1]).eval()
array([1, 2, 0], dtype=int32))");

MILLSTREAM_OP("Pad")
    .Input("input: T")
    .Input("paddings: Tpaddings")
    .Output("output: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tpaddings", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Shape(PadShape)
    .Doc(R"(Puts zeros around a tensor.

paddings has the shape [rank, 2]: how many zeros come before and after in each dimension.)");

MILLSTREAM_OP("PadV2")
    .Input("input: T")
    .Input("paddings: Tpaddings")
    .Input("constant_values: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tpaddings", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Shape(PadV2Shape)
    .Doc(R"(Puts a margin of one value around a tensor.

paddings has the shape [rank, 2]: how often constant_values, a scalar, comes before and after in
each dimension.)");

// What MirrorPad and its gradient have in common.
void Mirrored(OpSpec* spec) {
  spec->Input("input: T")
      .Input("paddings: Tpaddings")
      .Output("output: T")
      .Attr("T: type")
      .Attr(TypeAttr("Tpaddings", kIndexTypes, " = int32"))
      .Attr("mode: {\"REFLECT\", \"SYMMETRIC\"}");
}

MILLSTREAM_OP("MirrorPad")
    .With(Mirrored)
    .KeepsFinite()
    .Shape(MirrorPadShape)
    .Doc(R"(Puts mirror images of a tensor around it.

paddings has the shape [rank, 2]: how many elements come before and after in each dimension. In
mode SYMMETRIC the mirror is at the tensor's edges, in mode REFLECT on its first and last elements,
which do not come twice. INVALID_ARGUMENT when there are not so many elements to be mirrored.)");

MILLSTREAM_OP("MirrorPadGrad")
    .With(Mirrored)
    .Shape(MirrorPadGradShape)
    .Doc(R"(Computes the gradient of MirrorPad from that of its output.

Each element of output is the sum of those of input at the places that MirrorPad copies it to.)");

MILLSTREAM_OP("Roll")
    .Input("input: T")
    .Input("shift: Tshift")
    .Input("axis: Taxis")
    .Output("output: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tshift", kIndexTypes))
    .Attr(TypeAttr("Taxis", kIndexTypes))
    .KeepsFinite()
    .Shape(RollShape)
    .Doc(R"(Moves the elements of a tensor along its dimensions, round and round.

Elements move by shift[i] along dimension axis[i]; what leaves at one end comes in at the other.
shift and axis are scalars or vectors of one length. The shifts of a dimension that comes more than
once add up.)")
    .Example(R"(
>>> tf.roll([1, 2, 3, 4], 1, 0).eval()
array([4, 1, 2, 3], dtype=int32))");

}  // namespace
}  // namespace millstream
