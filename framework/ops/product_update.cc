// _MatMulApplyGradientDescent: a gradient descent update whose gradient is a matrix product. Only
// the runtime makes such nodes.
#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/variable_handles.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status ProductUpdateShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(DataType dtype, context->Attr<DataType>("T"));
  MS_ASSIGN_OR_RETURN(PartialShape variable, VariableShape(*context, 0, dtype));
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  MS_ASSIGN_OR_RETURN(PartialShape a, context->WithRank(2, 2));
  MS_ASSIGN_OR_RETURN(PartialShape b, context->WithRank(3, 2));
  if (!context->MergeDim(a.dim(0), b.dim(0)).ok()) {
    return InvalidInput(*context, 3, UnequalDims(a.dim(0), b.dim(0)), "expected ", a.dim(0),
                        " rows to go with argument 'a' ", a.ToString(), ", got ", b.ToString());
  }
  const PartialShape product = PartialShape::Matrix(a.dim(1), b.dim(1));
  if (product.IsCompatibleWith(variable)) return absl::OkStatus();
  return InvalidInput(*context, 0, "expected a variable of the product's shape ",
                      product.ToString(), ", got one of ", variable.ToString());
}

MILLSTREAM_OP("_MatMulApplyGradientDescent")
    .Input("var: resource")
    .Input("alpha: T")
    .Input("a: T")
    .Input("b: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Stateful()
    .Shape(ProductUpdateShape)
    .Doc(R"(Goes one step of gradient descent along a product: var -= alpha * transpose(a) * b.

alpha, the learning rate, is a scalar; a and b are matrices with equally many rows. Made by the
runtime.)");

}  // namespace
}  // namespace millstream
