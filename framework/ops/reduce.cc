// Reductions over some or all dimensions of a tensor.
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

// Which dimensions of input 0 the axes of input 1 name.
StatusOr<std::vector<bool>> ReducedDimensions(const ShapeContext& context,
                                              const std::vector<int64_t>& axes) {
  const int rank = context.input(0).rank();
  std::vector<bool> reduced(rank, false);
  for (const int64_t value : axes) {
    const StatusOr<int> axis = NormalizeAxis(value, rank);
    if (!axis.ok()) return InputError(context, 1, axis.status());
    if (reduced[*axis]) return InvalidInput(context, 1, "got dimension ", *axis, " twice");
    reduced[*axis] = true;
  }
  return reduced;
}

Status ReductionShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRankAtMost(1, 1).status());
  MS_ASSIGN_OR_RETURN(bool keep_dims, context->Attr<bool>("keep_dims"));
  const PartialShape& input = context->input(0);
  const std::optional<std::vector<int64_t>> axes = KnownIndexElements(*context, 1);
  if (!input.known_rank() || !axes.has_value()) {
    const bool rank_stays = input.known_rank() && keep_dims;
    context->SetOutput(0, rank_stays ? PartialShape::UnknownOfRank(input.rank()) : PartialShape());
    return absl::OkStatus();
  }
  MS_ASSIGN_OR_RETURN(std::vector<bool> reduced, ReducedDimensions(*context, *axes));
  PartialShape output = PartialShape::Scalar();
  for (int i = 0; i < input.rank(); ++i) {
    if (!reduced[i]) {
      output.AddDim(input.dim(i));
    } else if (keep_dims) {
      output.AddDim(1);
    }
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

// The product of all elements, which tells the size of a tensor from its shape.
void ProdValue(ShapeContext* context) {
  const std::optional<std::vector<int64_t>> factors = KnownIndexElements(*context, 0);
  if (!factors.has_value() || context->output(0).num_elements() != 1) return;
  int64_t product = 1;
  for (const int64_t factor : *factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return;
  }
  SetIndexValue(context, 0, {product});
}

Status ArgReductionShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape input, context->WithRankAtLeast(0, 1));
  MS_ASSIGN_OR_RETURN(std::optional<int> axis, AxisInput(*context, 1, input.rank()));
  context->SetOutput(0, PartialShape());
  if (!input.known_rank()) return absl::OkStatus();
  if (!axis.has_value()) {
    context->SetOutput(0, PartialShape::UnknownOfRank(input.rank() - 1));
    return absl::OkStatus();
  }
  PartialShape output = PartialShape::Scalar();
  for (int i = 0; i < input.rank(); ++i) {
    if (i != *axis) output.AddDim(input.dim(i));
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

Status CumulativeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(AxisInput(*context, 1, context->input(0).rank()).status());
  return UnchangedShape(context);
}

// ---- Definitions ----

void NumberReduction(OpSpec* spec) {
  (*spec)
      .Input("input: T")
      .Input("reduction_indices: Tidx")
      .Output("output: T")
      .Attr("keep_dims: bool = false")
      .Attr(TypeAttr("T", kNumberTypes))
      .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
      .Shape(ReductionShape);
}

void TruthReduction(OpSpec* spec) {
  (*spec)
      .Input("input: bool")
      .Input("reduction_indices: Tidx")
      .Output("output: bool")
      .Attr("keep_dims: bool = false")
      .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
      .Shape(ReductionShape);
}

void ArgReduction(OpSpec* spec) {
  (*spec)
      .Input("input: T")
      .Input("dimension: Tidx")
      .Output("output: output_type")
      .Attr(TypeAttr("T", kNumberTypes))
      .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
      .Attr(TypeAttr("output_type", kIndexTypes, " = int64"))
      .Shape(ArgReductionShape);
}

MILLSTREAM_OP("Sum")
    .With(NumberReduction)
    .Speculatable()
    .Doc(R"(Adds up elements along some dimensions.

The dimensions in reduction_indices, a scalar or vector of axes without repetition, are
dropped, or stay with size 1 if keep_dims is set; negative axes count from the end. An empty
sum is 0.)");

MILLSTREAM_OP("Mean")
    .With(NumberReduction)
    .Speculatable()
    .Doc(R"(Averages elements along some dimensions.

The dimensions in reduction_indices, a scalar or vector of axes without repetition, are
dropped, or stay with size 1 if keep_dims is set; negative axes count from the end. An empty
mean is NaN.)");

MILLSTREAM_OP("EuclideanNorm")
    .With(NumberReduction)
    .Doc(R"(Takes the root of the sum of squares along some dimensions.

The dimensions in reduction_indices, a scalar or vector of axes without repetition, are
dropped, or stay with size 1 if keep_dims is set; negative axes count from the end. Of complex
numbers the absolute values count. The norm of nothing is 0.)");

MILLSTREAM_OP("Prod")
    .With(NumberReduction)
    .Value(ProdValue)
    .Doc(R"(Multiplies elements along some dimensions.

The dimensions in reduction_indices, a scalar or vector of axes without repetition, are
dropped, or stay with size 1 if keep_dims is set; negative axes count from the end. An empty
product is 1.)");

MILLSTREAM_OP("Max")
    .With(NumberReduction)
    .Speculatable()
    .Doc(R"(Finds the largest elements along some dimensions.

The dimensions in reduction_indices, a scalar or vector of axes without repetition, are
dropped, or stay with size 1 if keep_dims is set; negative axes count from the end. Of
nothing it is the lowest value of the type, -inf where there is one.)");

MILLSTREAM_OP("Min").With(NumberReduction).Doc(R"(Finds the smallest elements along some dimensions.

The dimensions in reduction_indices, a scalar or vector of axes without repetition, are
dropped, or stay with size 1 if keep_dims is set; negative axes count from the end. Of
nothing it is the highest value of the type, inf where there is one.)");

MILLSTREAM_OP("All")
    .With(TruthReduction)
    .Doc(R"(Tells whether all elements are true along some dimensions.

The dimensions in reduction_indices, a scalar or vector of axes without repetition, are
dropped, or stay with size 1 if keep_dims is set; negative axes count from the end. Of
nothing it is true.)");

MILLSTREAM_OP("Any")
    .With(TruthReduction)
    .Doc(R"(Tells whether any element is true along some dimensions.

The dimensions in reduction_indices, a scalar or vector of axes without repetition, are
dropped, or stay with size 1 if keep_dims is set; negative axes count from the end. Of
nothing it is false.)");

MILLSTREAM_OP("ArgMax")
    .With(ArgReduction)
    .Doc(R"(Tells where along one dimension the largest element stands.

Of equal elements the first one counts. dimension is a scalar, negative values counting from
the end; the output does not have it. INVALID_ARGUMENT when the dimension is empty.)");

MILLSTREAM_OP("ArgMin")
    .With(ArgReduction)
    .Doc(R"(Tells where along one dimension the smallest element stands.

Of equal elements the first one counts. dimension is a scalar, negative values counting from
the end; the output does not have it. INVALID_ARGUMENT when the dimension is empty.)");

void Cumulative(OpSpec* spec) {
  (*spec)
      .Input("x: T")
      .Input("axis: Tidx")
      .Output("out: T")
      .Attr("exclusive: bool = false")
      .Attr("reverse: bool = false")
      .Shape(CumulativeShape);
}

MILLSTREAM_OP("Cumsum")
    .With(Cumulative)
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
    .Doc(R"(Adds up all elements up to each one along an axis.

With exclusive, up to the one before, which for the first is 0. With reverse, from the end.)");

MILLSTREAM_OP("Cumprod")
    .With(Cumulative)
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
    .Doc(R"(Multiplies all elements up to each one along an axis.

With exclusive, up to the one before, which for the first is 1. With reverse, from the end.)");

MILLSTREAM_OP("CumulativeLogsumexp")
    .With(Cumulative)
    .Attr("T: {half, float, double}")
    .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
    .Doc(R"(Computes the logarithm of the sum of exp of all elements up to each one along an axis.

With exclusive, up to the one before, which for the first is the least finite number. With reverse,
from the end.)");

}  // namespace
}  // namespace millstream
