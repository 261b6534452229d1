// Gradients of products of matrices.
//
// For Y = A B they are dA = dY B^H and dB = A^H dY, where ^H is the adjoint: the transpose,
// conjugated if complex. (The gradient g of a complex x is defined so that dx changes the loss by
// Re(conj(g) dx).)
#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// ---- MatMul ----

// Y = op(A) op(B), with op a transpose or nothing: each factor's gradient is a product of dY with
// the other, in the order and transposition that give the factor's own shape.
void SetRealMatMulDx(GradientContext* context, bool ta, bool tb) {
  GraphBuilder* builder = context->builder();
  const Output a = context->input(0);
  const Output b = context->input(1);
  const Output dy = context->dy(0);
  const auto product = [&](Output x, bool tx, Output y, bool ty) {
    return builder->Op("MatMul", {x, y}, {{"transpose_a", tx}, {"transpose_b", ty}});
  };
  context->SetDx(0, ta ? product(b, tb, dy, true) : product(dy, false, b, !tb));
  context->SetDx(1, tb ? product(dy, true, a, ta) : product(a, !ta, dy, false));
}

// The gradients want adjoint factors where the product has transposed ones, so the transposes are
// taken out of the products.
void SetComplexMatMulDx(GradientContext* context, bool ta, bool tb) {
  GraphBuilder* builder = context->builder();
  const auto transposed_if = [&](bool transpose, Output matrix) {
    return transpose ? builder->Op("Transpose", {matrix, builder->Int32Vector({1, 0})}) : matrix;
  };
  const Output left = transposed_if(ta, context->input(0));
  const Output right = transposed_if(tb, context->input(1));
  const Output dy = context->dy(0);
  const Output d_left = builder->Op("BatchMatMulV2", {dy, right}, {{"adj_y", true}});
  const Output d_right = builder->Op("BatchMatMulV2", {left, dy}, {{"adj_x", true}});
  context->SetDx(0, transposed_if(ta, d_left));
  context->SetDx(1, transposed_if(tb, d_right));
}

Status MatMulGradient(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const bool ta, context->Attr<bool>("transpose_a"));
  MS_ASSIGN_OR_RETURN(const bool tb, context->Attr<bool>("transpose_b"));
  if (IsComplex(context->input(0).dtype())) {
    SetComplexMatMulDx(context, ta, tb);
  } else {
    SetRealMatMulDx(context, ta, tb);
  }
  return absl::OkStatus();
}

// ---- Batches ----

// With op the adjoint or nothing everything is a product of the same kind. `dx` and `dy` have the
// batch dimensions of the output.
struct BatchGradients {
  Output dx;
  Output dy;
};
StatusOr<BatchGradients> GradientsOfBatch(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const bool adjoint_x, context->Attr<bool>("adj_x"));
  MS_ASSIGN_OR_RETURN(const bool adjoint_y, context->Attr<bool>("adj_y"));
  const Output x = context->input(0);
  const Output y = context->input(1);
  const Output dz = context->dy(0);
  const auto product = [&](Output a, bool adjoint_a, Output b, bool adjoint_b) {
    return context->builder()->Op(context->call().op->name, {a, b},
                                  {{"adj_x", adjoint_a}, {"adj_y", adjoint_b}});
  };
  return BatchGradients{
      adjoint_x ? product(y, adjoint_y, dz, true) : product(dz, false, y, !adjoint_y),
      adjoint_y ? product(dz, true, x, adjoint_x) : product(x, !adjoint_x, dz, false)};
}

Status BatchMatMulGradient(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const BatchGradients gradients, GradientsOfBatch(context));
  context->SetDx(0, gradients.dx);
  context->SetDx(1, gradients.dy);
  return absl::OkStatus();
}

Status BatchMatMulV2Gradient(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const BatchGradients gradients, GradientsOfBatch(context));
  GraphBuilder* builder = context->builder();
  const Output x = context->input(0);
  const Output y = context->input(1);
  context->SetDx(0, SumToShapeOf(builder, gradients.dx, x, y, 2));
  context->SetDx(1, SumToShapeOf(builder, gradients.dy, y, x, 2));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("MatMul", MatMulGradient);
MILLSTREAM_GRADIENT("BatchMatMul", BatchMatMulGradient);
MILLSTREAM_GRADIENT("BatchMatMulV2", BatchMatMulV2Gradient);

}  // namespace
}  // namespace millstream
