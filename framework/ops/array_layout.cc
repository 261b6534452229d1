// Ops that repeat, permute and pad the dimensions of a tensor.
#include <optional>
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

// ---- Definitions ----

MILLSTREAM_OP("Tile")
    .Input("input: T")
    .Input("multiples: Tmultiples")
    .Output("output: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tmultiples", kIndexTypes, " = int32"))
    .KeepsFinite()
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
    .Shape(TransposeShape)
    .Doc(R"(Permutes the dimensions of a tensor.

Dimension i of y is dimension perm[i] of x. perm must name every dimension once.)");

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

}  // namespace
}  // namespace millstream
