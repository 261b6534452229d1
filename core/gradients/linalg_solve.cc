// Gradients of factors of matrices and of systems of linear equations (M. Giles: Collected Matrix
// Derivative Results for Forward and Reverse Mode Algorithmic Differentiation, 2008). ^H is the
// adjoint.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/math_helpers.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

Output Product(GraphBuilder* builder, Output x, bool adjoint_x, Output y, bool adjoint_y) {
  return builder->Op("BatchMatMulV2", {x, y}, {{"adj_x", adjoint_x}, {"adj_y", adjoint_y}});
}

// The lower or the upper triangle of each matrix.
Output Triangle(GraphBuilder* builder, Output matrices, bool lower) {
  const Output all = builder->ScalarOf(DataType::kInt64, -1);
  const Output none = builder->ScalarOf(DataType::kInt64, 0);
  return builder->Op("MatrixBandPart", {matrices, lower ? all : none, lower ? none : all});
}

Output Half(GradientContext* context, Output tensor) { return Scaled(context, tensor, 0.5); }

// L^-H P L^-1, made self-adjoint, with P the lower triangle of L^H dL, whose diagonal is halved (I.
// Murray: Differentiation of the Cholesky decomposition, 2016).
Status CholeskyGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output l = context->output(0);
  const Output whole = Triangle(builder, Product(builder, l, true, context->dy(0), false), true);
  const Output diagonal = builder->Op("MatrixDiagPart", {whole});
  const Output p = builder->Op("MatrixSetDiag", {whole, Half(context, diagonal)});
  // X = L^-H P, and then X L^-1 = (L^-H X^H)^H.
  const auto solve = [&](Output right) {
    return builder->Op("MatrixTriangularSolve", {l, right}, {{"lower", true}, {"adjoint", true}});
  };
  const Output identity = builder->Op("MatrixDiag", {builder->Op("OnesLike", {diagonal})});
  const auto adjoint = [&](Output x) { return Product(builder, x, true, identity, false); };
  const Output result = solve(adjoint(solve(p)));
  context->SetDx(0, Half(context, builder->Op("Add", {result, adjoint(result)})));
  return absl::OkStatus();
}

// A C = B, or A^H C = B: dB solves with the adjoint, and dA = -dB C^H, or -C dB^H.
struct SolutionGradients {
  Output matrix;
  Output right;
};
StatusOr<SolutionGradients> GradientsOfSolution(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(const bool adjoint, context->Attr<bool>("adjoint"));
  const bool is_triangular = context->call().op->name == "MatrixTriangularSolve";
  Output right;
  if (is_triangular) {
    MS_ASSIGN_OR_RETURN(const bool lower, context->Attr<bool>("lower"));
    right = builder->Op("MatrixTriangularSolve", {context->input(0), context->dy(0)},
                        {{"lower", lower}, {"adjoint", !adjoint}});
  } else {
    right =
        builder->Op("MatrixSolve", {context->input(0), context->dy(0)}, {{"adjoint", !adjoint}});
  }
  const Output c = context->output(0);
  const Output product =
      adjoint ? Product(builder, c, false, right, true) : Product(builder, right, false, c, true);
  return SolutionGradients{builder->Op("Neg", {product}), right};
}

Status MatrixSolveGradient(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const SolutionGradients gradients, GradientsOfSolution(context));
  context->SetDx(0, gradients.matrix);
  context->SetDx(1, gradients.right);
  return absl::OkStatus();
}

// The other triangle is not read.
Status TriangularSolveGradient(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const SolutionGradients gradients, GradientsOfSolution(context));
  MS_ASSIGN_OR_RETURN(const bool lower, context->Attr<bool>("lower"));
  context->SetDx(0, Triangle(context->builder(), gradients.matrix, lower));
  context->SetDx(1, gradients.right);
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("Cholesky", CholeskyGradient);
MILLSTREAM_GRADIENT("MatrixSolve", MatrixSolveGradient);
MILLSTREAM_GRADIENT("MatrixTriangularSolve", TriangularSolveGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("CholeskyGrad");

}  // namespace
}  // namespace millstream
