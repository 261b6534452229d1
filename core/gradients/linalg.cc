// Gradients of functions of square matrices (M. Giles: Collected Matrix Derivative Results for
// Forward and Reverse Mode Algorithmic Differentiation, 2008). ^H is the adjoint.
#include "core/gradients/gradient_registry.h"

namespace millstream {
namespace {

// Y = A^-1: dA = -Y^H dY Y^H. Y = (A^H)^-1: dA = -Y dY^H Y.
Status MatrixInverseGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(const bool adjoint, context->Attr<bool>("adjoint"));
  const Output y = context->output(0);
  const Output right =
      builder->Op("BatchMatMulV2", {context->dy(0), y}, {{"adj_x", adjoint}, {"adj_y", !adjoint}});
  const Output product = builder->Op("BatchMatMulV2", {y, right}, {{"adj_x", !adjoint}});
  context->SetDx(0, builder->Op("Neg", {product}));
  return absl::OkStatus();
}

// A number for each matrix as matrices of one element.
Output AsMatrices(GraphBuilder* builder, Output numbers) {
  const Output vectors = builder->Op("ExpandDims", {numbers, builder->Int32(-1)});
  return builder->Op("ExpandDims", {vectors, builder->Int32(-1)});
}

Output AdjointInverse(GradientContext* context) {
  return context->builder()->Op("MatrixInverse", {context->input(0)}, {{"adjoint", true}});
}

// dA = dy det(A) (A^-1)^H. For complex matrices that is the reference's gradient; the conjugate of
// the determinant would be that of analysis.
Status MatrixDeterminantGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output scale = builder->Op("Mul", {context->dy(0), context->output(0)});
  context->SetDx(0, builder->Op("Mul", {AsMatrices(builder, scale), AdjointInverse(context)}));
  return absl::OkStatus();
}

// d log |det(A)| = (A^-1)^H. The sign is taken as a constant.
Status LogMatrixDeterminantGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output scale = AsMatrices(builder, context->dy(1));
  context->SetDx(0, builder->Op("Mul", {scale, AdjointInverse(context)}));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("MatrixInverse", MatrixInverseGradient);
MILLSTREAM_GRADIENT("MatrixDeterminant", MatrixDeterminantGradient);
MILLSTREAM_GRADIENT("LogMatrixDeterminant", LogMatrixDeterminantGradient);
MILLSTREAM_GRADIENT("BatchMatrixInverse", MatrixInverseGradient);
MILLSTREAM_GRADIENT("BatchMatrixDeterminant", MatrixDeterminantGradient);

}  // namespace
}  // namespace millstream
