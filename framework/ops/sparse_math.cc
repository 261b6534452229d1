// Arithmetic on sparse tensors.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/sparse_inputs.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The shape of two sparse tensors, inputs 0 to 5.
StatusOr<PartialShape> PairShape(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(const PartialShape a, SparseInputShape(context, 0));
  MS_ASSIGN_OR_RETURN(const PartialShape b, SparseInputShape(context, 3));
  const StatusOr<PartialShape> merged = a.MergeWith(b);
  if (merged.ok()) return merged;
  return InvalidInput(context, 5, "expected the shape of 'a_shape', ", a.ToString(), ", got ",
                      b.ToString());
}

Status AddShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, PairShape(*context));
  MS_RETURN_IF_ERROR(context->WithRank(6, 0).status());
  SetSparseOutput(context, 0, shape.known_rank() ? shape.rank() : kUnknownDim);
  return absl::OkStatus();
}

Status AddGradShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 1).status());
  MS_RETURN_IF_ERROR(context->WithRank(3, 2).status());
  for (int i = 0; i < 2; ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape indices, context->WithRank(i + 1, 2));
    context->SetOutput(i, PartialShape::Vector(indices.dim(0)));
  }
  return absl::OkStatus();
}

Status ExtremeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(PairShape(*context).status());
  context->SetOutput(0, PartialShape::Matrix(kUnknownDim, kUnknownDim));
  context->SetOutput(1, PartialShape::Vector(kUnknownDim));
  return absl::OkStatus();
}

// As many values as the sparse input has.
Status ValuesShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(SparseInputShape(*context, 0).status());
  MS_ASSIGN_OR_RETURN(const PartialShape indices, context->WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape values, context->WithRank(1, 1));
  MS_ASSIGN_OR_RETURN(const int64_t count, context->MergeDim(indices.dim(0), values.dim(0)));
  context->SetOutput(0, PartialShape::Vector(count));
  return absl::OkStatus();
}

Status SoftmaxShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, SparseInputShape(*context, 0));
  if (shape.known_rank() && shape.rank() < 2) {
    return InvalidInput(*context, 2, "expected at least 2 sizes, got ", shape.rank());
  }
  return ValuesShape(context);
}

Status DenseAddShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(SparseInputShape(*context, 0).status());
  context->SetOutput(0, context->input(3));
  return absl::OkStatus();
}

Status MatMulShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const bool adjoint_a, context->Attr<bool>("adjoint_a"));
  MS_ASSIGN_OR_RETURN(const bool adjoint_b, context->Attr<bool>("adjoint_b"));
  MS_ASSIGN_OR_RETURN(PartialShape a, SparseInputShape(*context, 0));
  MS_ASSIGN_OR_RETURN(const PartialShape b, context->WithRank(3, 2));
  if (!a.known_rank()) a = PartialShape::UnknownOfRank(2);
  if (a.rank() != 2) return InvalidInput(*context, 2, "expected 2 sizes, got ", a.rank());
  const int64_t inner = a.dim(adjoint_a ? 0 : 1);
  const int64_t b_inner = b.dim(adjoint_b ? 1 : 0);
  if (!context->MergeDim(inner, b_inner).ok()) {
    return InvalidInput(*context, 3, UnequalDims(inner, b_inner), "expected ", inner, " ",
                        adjoint_b ? "columns" : "rows", ", got ", b.ToString());
  }
  context->SetOutput(0, PartialShape::Matrix(a.dim(adjoint_a ? 1 : 0), b.dim(adjoint_b ? 0 : 1)));
  return absl::OkStatus();
}

// ---- Reductions ----

// The shape after a reduction; unknown unless shape and axes are constants.
StatusOr<PartialShape> ReducedShape(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, SparseInputShape(context, 0));
  MS_RETURN_IF_ERROR(context.WithRankAtMost(3, 1).status());
  MS_ASSIGN_OR_RETURN(const bool keep_dims, context.Attr<bool>("keep_dims"));
  const std::optional<std::vector<int64_t>> axes = KnownIndexElements(context, 3);
  if (!shape.IsFullyKnown() || !axes.has_value()) return PartialShape();
  std::vector<bool> is_reduced(static_cast<size_t>(shape.rank()), false);
  for (const int64_t axis : *axes) {
    const StatusOr<int> resolved = NormalizeAxis(axis, shape.rank());
    if (!resolved.ok()) return InputError(context, 3, resolved.status());
    is_reduced[static_cast<size_t>(*resolved)] = true;
  }
  PartialShape output = PartialShape::Scalar();
  for (int i = 0; i < shape.rank(); ++i) {
    if (!is_reduced[static_cast<size_t>(i)]) {
      output.AddDim(shape.dim(i));
    } else if (keep_dims) {
      output.AddDim(1);
    }
  }
  return output;
}

Status ReduceShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ReducedShape(*context));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// Nothing is said of indices and values, as by the reference.
Status ReduceSparseShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(ReducedShape(*context).status());
  for (int i = 0; i < 3; ++i) context->SetOutput(i, PartialShape());
  return absl::OkStatus();
}

// ---- Definitions ----

void SparsePair(OpSpec* spec) {
  (*spec)
      .Input("a_indices: int64")
      .Input("a_values: T")
      .Input("a_shape: int64")
      .Input("b_indices: int64")
      .Input("b_values: T")
      .Input("b_shape: int64");
}

MILLSTREAM_OP("SparseAdd")
    .With(SparsePair)
    .Input("thresh: Treal")
    .Output("sum_indices: int64")
    .Output("sum_values: T")
    .Output("sum_shape: int64")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Treal", kRealTypes))
    .Shape(AddShape)
    .Doc(R"(Adds two sparse tensors of one shape, whose elements are in row-major order.

Sums of two elements whose size is below thresh are left out.)");

MILLSTREAM_OP("SparseAddGrad")
    .Input("backprop_val_grad: T")
    .Input("a_indices: int64")
    .Input("b_indices: int64")
    .Input("sum_indices: int64")
    .Output("a_val_grad: T")
    .Output("b_val_grad: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Shape(AddGradShape)
    .Doc(R"(Gives the gradients of the values of both inputs of SparseAdd.

Elements that the sum left out get 0.)");

void SparseExtremum(OpSpec* spec) {
  (*spec)
      .With(SparsePair)
      .Output("output_indices: int64")
      .Output("output_values: T")
      .Shape(ExtremeShape);
}

MILLSTREAM_OP("SparseSparseMaximum")
    .With(SparseExtremum)
    .Attr(TypeAttr("T", kRealTypes))
    .Doc(R"(Takes the larger of the elements of two sparse tensors of one shape, in row-major order.

What a tensor lacks is 0.)");

MILLSTREAM_OP("SparseSparseMinimum")
    .With(SparseExtremum)
    .Attr(TypeAttr("T", kNumberTypes))
    .Doc(
        R"(Takes the smaller of the elements of two sparse tensors of one shape, in row-major order.

What a tensor lacks is 0.)");

MILLSTREAM_OP("SparseTensorDenseAdd")
    .Input("a_indices: Tindices")
    .Input("a_values: T")
    .Input("a_shape: Tindices")
    .Input("b: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Shape(DenseAddShape)
    .Doc(R"(Adds the elements of a sparse tensor to a dense one of its shape.)");

MILLSTREAM_OP("SparseTensorDenseMatMul")
    .Input("a_indices: Tindices")
    .Input("a_values: T")
    .Input("a_shape: int64")
    .Input("b: T")
    .Output("product: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tindices", kIndexTypes, " = int64"))
    .Attr("adjoint_a: bool = false")
    .Attr("adjoint_b: bool = false")
    .Shape(MatMulShape)
    .Doc(R"(Multiplies a sparse matrix and a dense one.

Each is replaced by its adjoint first if its attribute says so. The elements of the sparse matrix may be
in any order, and several at one place are added.)");

void SparseWithDense(OpSpec* spec) {
  (*spec)
      .Input("sp_indices: int64")
      .Input("sp_values: T")
      .Input("sp_shape: int64")
      .Input("dense: T")
      .Output("output: T")
      .Attr(TypeAttr("T", kNumberTypes))
      .Shape(ValuesShape);
}

MILLSTREAM_OP("SparseDenseCwiseAdd")
    .With(SparseWithDense)
    .Doc(R"(Adds elements of a dense tensor to those of a sparse one, and gives the sums alone.

The dense tensor is broadcast to the shape of the sparse one.)");

MILLSTREAM_OP("SparseDenseCwiseMul")
    .With(SparseWithDense)
    .Doc(R"(Multiplies the elements of a sparse tensor by those of a dense one.

The dense tensor is broadcast to the shape of the sparse one.)");

MILLSTREAM_OP("SparseDenseCwiseDiv")
    .With(SparseWithDense)
    .Doc(R"(Divides the elements of a sparse tensor by those of a dense one.

The dense tensor is broadcast to the shape of the sparse one. INVALID_ARGUMENT for an integer divided by
zero.)");

void SparseReductionInputs(OpSpec* spec) {
  (*spec)
      .Input("input_indices: int64")
      .Input("input_values: T")
      .Input("input_shape: int64")
      .Input("reduction_axes: int32");
}
void DenseResult(OpSpec* spec) {
  (*spec)
      .With(SparseReductionInputs)
      .Output("output: T")
      .Attr("keep_dims: bool = false")
      .Shape(ReduceShape);
}
void SparseResult(OpSpec* spec) {
  (*spec)
      .With(SparseReductionInputs)
      .Output("output_indices: int64")
      .Output("output_values: T")
      .Output("output_shape: int64")
      .Attr("keep_dims: bool = false")
      .Shape(ReduceSparseShape);
}

MILLSTREAM_OP("SparseReduceSum")
    .With(DenseResult)
    .Attr(TypeAttr("T", kNumberTypes))
    .Doc(R"(Adds up the elements of a sparse tensor along some dimensions.)");

MILLSTREAM_OP("SparseReduceMax")
    .With(DenseResult)
    .Attr(TypeAttr("T", kRealTypes))
    .Doc(R"(Takes the largest of the elements that a sparse tensor has along some dimensions.

Where there is none, the result is 0.)");

MILLSTREAM_OP("SparseReduceSumSparse")
    .With(SparseResult)
    .Attr(TypeAttr("T", kNumberTypes))
    .Doc(R"(Adds up the elements of a sparse tensor along some dimensions, to a sparse tensor.)");

MILLSTREAM_OP("SparseReduceMaxSparse")
    .With(SparseResult)
    .Attr(TypeAttr("T", kRealTypes))
    .Doc(
        R"(Takes the largest elements of a sparse tensor along some dimensions, as a sparse tensor.)");

MILLSTREAM_OP("SparseSoftmax")
    .Input("sp_indices: int64")
    .Input("sp_values: T")
    .Input("sp_shape: int64")
    .Output("output: T")
    .Attr("T: {float, double}")
    .Shape(SoftmaxShape)
    .Doc(R"(Computes softmax over the elements that each row of a sparse tensor has.

Elements of a row follow each other. Those that the tensor lacks are as minus infinity.)");

}  // namespace
}  // namespace millstream
