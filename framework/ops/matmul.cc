// Products of matrices.
#include <string>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/fused_product.h"
#include "framework/ops/op_cost.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status MatMulShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape a, context->WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(PartialShape b, context->WithRank(1, 2));
  MS_ASSIGN_OR_RETURN(bool transpose_a, context->Attr<bool>("transpose_a"));
  MS_ASSIGN_OR_RETURN(bool transpose_b, context->Attr<bool>("transpose_b"));
  const int64_t a_inner = a.dim(transpose_a ? 0 : 1);
  const int64_t b_inner = b.dim(transpose_b ? 1 : 0);
  if (!context->MergeDim(a_inner, b_inner).ok()) {
    return InvalidInput(*context, 1, UnequalDims(a_inner, b_inner), "expected ", a_inner, " ",
                        transpose_b ? "columns" : "rows", " to go with argument 'a' ", a.ToString(),
                        transpose_a ? " transposed" : "", ", got ", b.ToString());
  }
  context->SetOutput(0,
                     PartialShape::Matrix(a.dim(transpose_a ? 1 : 0), b.dim(transpose_b ? 0 : 1)));
  return absl::OkStatus();
}

Status FusedMatMulShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(MatMulShape(context));
  return CheckFusedArgs(*context, 2, context->output(0).dim(1));
}

// ---- Batches of products ----

// All but the last two dimensions. REQUIRES: the rank is unknown or at least 2.
PartialShape BatchOf(const PartialShape& shape) {
  if (!shape.known_rank()) return PartialShape();
  return PartialShape(shape.dims().subspan(0, shape.rank() - 2));
}

// A dimension counted from the end; unknown when the rank is.
int64_t DimFromEnd(const PartialShape& shape, int back) {
  return shape.known_rank() ? shape.dim(-back) : kUnknownDim;
}

// Output 0: a batch of products. `batch` is what the inputs' batch dimensions give together.
Status SetBatchOfProducts(ShapeContext* context, PartialShape batch) {
  MS_ASSIGN_OR_RETURN(bool adjoint_x, context->Attr<bool>("adj_x"));
  MS_ASSIGN_OR_RETURN(bool adjoint_y, context->Attr<bool>("adj_y"));
  const PartialShape& x = context->input(0);
  const PartialShape& y = context->input(1);
  const int64_t x_inner = DimFromEnd(x, adjoint_x ? 2 : 1);
  const int64_t y_inner = DimFromEnd(y, adjoint_y ? 1 : 2);
  if (!context->MergeDim(x_inner, y_inner).ok()) {
    return InvalidInput(*context, 1, UnequalDims(x_inner, y_inner), "expected matrices of ",
                        x_inner, " ", adjoint_y ? "columns" : "rows", " to go with argument 'x' ",
                        x.ToString(), adjoint_x ? " adjoint" : "", ", got ", y.ToString());
  }
  if (batch.known_rank()) {
    batch.AddDim(DimFromEnd(x, adjoint_x ? 1 : 2));
    batch.AddDim(DimFromEnd(y, adjoint_y ? 2 : 1));
  }
  context->SetOutput(0, std::move(batch));
  return absl::OkStatus();
}

// The batch dimensions are the same.
Status BatchMatMulShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape x, context->WithRankAtLeast(0, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape y, context->WithRankAtLeast(1, 2));
  StatusOr<PartialShape> batch = BatchOf(x).MergeWith(BatchOf(y));
  if (!batch.ok()) {
    return InvalidInput(*context, 1, "expected the batch dimensions of argument 'x' ", x.ToString(),
                        ", got ", y.ToString());
  }
  return SetBatchOfProducts(context, *std::move(batch));
}

// The batch dimensions broadcast.
Status BatchMatMulV2Shape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape x, context->WithRankAtLeast(0, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape y, context->WithRankAtLeast(1, 2));
  StatusOr<PartialShape> batch = BroadcastShapes(BatchOf(x), BatchOf(y));
  if (!batch.ok()) {
    return InvalidInput(*context, 1,
                        "expected batch dimensions that broadcast with those of argument 'x' ",
                        x.ToString(), ", got ", y.ToString());
  }
  return SetBatchOfProducts(context, *std::move(batch));
}

// ---- Definitions ----

constexpr absl::string_view kProductTypes =
    "{bfloat16, half, float, double, int32, int64, complex64, complex128}";

MILLSTREAM_OP("MatMul")
    .Input("a: T")
    .Input("b: T")
    .Output("product: T")
    .Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false")
    .Attr(TypeAttr("T", kProductTypes))
    .Speculatable()
    .Cost(ProductOperations)
    .Shape(MatMulShape)
    .Doc(R"(Multiplies two matrices.

Each is transposed first if its attribute says so. The columns of a must then be as many as
the rows of b; INVALID_ARGUMENT otherwise.)");

MILLSTREAM_OP("_FusedMatMul")
    .Input("a: T")
    .Input("b: T")
    .Input("args: num_args * T")
    .Output("product: T")
    .Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false")
    .Attr(TypeAttr("T", kProductTypes))
    .With(FusedProductAttrs)
    .Shape(FusedMatMulShape)
    .Doc(R"(Gives what MatMul and then the ops named in fused_ops would give.

fused_ops is BiasAdd, which takes its vector from args, with or without Add, which takes a tensor
of the output's shape from args, and with or without Relu or Relu6 after it. Made by the
runtime.)");

MILLSTREAM_OP("BatchMatMul")
    .Input("x: T")
    .Input("y: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kProductTypes))
    .Attr("adj_x: bool = false")
    .Attr("adj_y: bool = false")
    .Speculatable()
    .Cost(ProductOperations)
    .Shape(BatchMatMulShape)
    .Doc(R"(Multiplies matrices in pairs.

The last two dimensions of x and y are those of matrices, the others are equal and count
them: output[..., :, :] is the product of x[..., :, :] and y[..., :, :]. With adj_x or adj_y
the matrix is transposed, and conjugated if complex, first. INVALID_ARGUMENT when the
dimensions do not fit.)");

MILLSTREAM_OP("BatchMatMulV2")
    .Input("x: T")
    .Input("y: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kProductTypes))
    .Attr("adj_x: bool = false")
    .Attr("adj_y: bool = false")
    .Speculatable()
    .Cost(ProductOperations)
    .Shape(BatchMatMulV2Shape)
    .Doc(R"(Multiplies matrices in pairs, with broadcasting.

The last two dimensions of x and y are those of matrices; the others count them, and
broadcast as in elementwise operations. With adj_x or adj_y the matrix is transposed, and
conjugated if complex, first. INVALID_ARGUMENT when the dimensions do not fit.)");

}  // namespace
}  // namespace millstream
