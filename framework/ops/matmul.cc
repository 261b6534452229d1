// Products of matrices.
#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
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
    return InvalidInput(*context, 1, "expected ", a_inner, " ", transpose_b ? "columns" : "rows",
                        " to go with argument 'a' ", a.ToString(), transpose_a ? " transposed" : "",
                        ", got ", b.ToString());
  }
  context->SetOutput(0,
                     PartialShape::Matrix(a.dim(transpose_a ? 1 : 0), b.dim(transpose_b ? 0 : 1)));
  return absl::OkStatus();
}

MILLSTREAM_OP("MatMul")
    .Input("a: T")
    .Input("b: T")
    .Output("product: T")
    .Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false")
    .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
    .Shape(MatMulShape)
    .Doc(R"(Multiplies two matrices.

Each is transposed first if its attribute says so. The columns of a must then be as many as
the rows of b; INVALID_ARGUMENT otherwise.)");

}  // namespace
}  // namespace millstream
