// Gradients of factors of matrices and of systems of linear equations (M. Giles: Collected Matrix
// Derivative Results for Forward and Reverse Mode Algorithmic Differentiation, 2008). ^H is the
// adjoint.
#include <vector>

#include "absl/strings/match.h"
#include "core/gradients/formula.h"
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

// The gradient of A = L L^H by that of L, both lower triangles: L^-H P L^-1, made self-adjoint,
// with P the lower triangle of L^H dL, whose diagonal is halved (I. Murray: Differentiation of the
// Cholesky decomposition, 2016).
Output GradientByFactor(GradientContext* context, Output l, Output dl) {
  GraphBuilder* builder = context->builder();
  const Output whole = Triangle(builder, Product(builder, l, true, dl, false), true);
  const Output diagonal = builder->Op("MatrixDiagPart", {whole});
  const Output p = builder->Op("MatrixSetDiag", {whole, Half(context, diagonal)});
  // X = L^-H P, and then X L^-1 = (L^-H X^H)^H.
  const auto solve = [&](Output right) {
    return builder->Op("MatrixTriangularSolve", {l, right}, {{"lower", true}, {"adjoint", true}});
  };
  const Output identity = builder->Op("MatrixDiag", {builder->Op("OnesLike", {diagonal})});
  const auto adjoint = [&](Output x) { return Product(builder, x, true, identity, false); };
  const Output result = solve(adjoint(solve(p)));
  return Half(context, builder->Op("Add", {result, adjoint(result)}));
}

Status CholeskyGradient(GradientContext* context) {
  context->SetDx(0, GradientByFactor(context, context->output(0), context->dy(0)));
  return absl::OkStatus();
}

// The op computes the same of the lower triangles of its inputs.
Status CholeskyGradGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  Formula formula(builder);
  const Output l = formula.Argument(context->input(0));
  const Output dl = formula.Argument(context->input(1));
  const Output l_triangle = Triangle(builder, l, true);
  const Output dl_triangle = Triangle(builder, dl, true);
  const Output result = GradientByFactor(context, l_triangle, dl_triangle);
  MS_RETURN_IF_ERROR(formula.Differentiate({result}, {context->dy(0)}));
  context->SetDx(0, formula.GradientOf(l));
  context->SetDx(1, formula.GradientOf(dl));
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
  const bool is_triangular = absl::EndsWith(context->call().op->name, "MatrixTriangularSolve");
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

// The other triangle is not read, and batches were broadcast.
Status TriangularSolveGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(const SolutionGradients gradients, GradientsOfSolution(context));
  MS_ASSIGN_OR_RETURN(const bool lower, context->Attr<bool>("lower"));
  const Output matrix = context->input(0);
  const Output right = context->input(1);
  const Output triangle = Triangle(builder, gradients.matrix, lower);
  context->SetDx(0, SumToShapeOf(builder, triangle, matrix, right, 2));
  context->SetDx(1, SumToShapeOf(builder, gradients.right, right, matrix, 2));
  return absl::OkStatus();
}

// A C = B as above. The rows of the matrix of diagonals are those above, on and below the main one.
// Those of A^H are exchanged, and each moved by the element that does not count.
Status TridiagonalSolveGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(const bool pivoting, context->Attr<bool>("partial_pivoting"));
  const Output last = builder->Int32(-1);
  const Output last_but_one = builder->Int32(-2);
  const Node* rows = builder->NodeOf("Split", {last_but_one, Conjugate(context, context->input(0))},
                                     {{"num_split", int64_t{3}}});
  if (rows == nullptr) return builder->status();
  const auto moved = [&](int row, int32_t by) {
    return builder->Op("Roll", {rows->output(row), builder->Int32(by), last});
  };
  const auto joined = [&](const std::vector<Output>& parts) {
    const Node* node = builder->Variadic("ConcatV2", {parts, {last_but_one}});
    return node == nullptr ? Output() : node->output(0);
  };
  const Output main = rows->output(1);
  const Output right =
      builder->Op("TridiagonalSolve", {joined({moved(2, -1), main, moved(0, 1)}), context->dy(0)},
                  {{"partial_pivoting", pivoting}});
  const Output c = Conjugate(context, context->output(0));
  const Output zeros = builder->Op("ZerosLike", {main});
  const Output ones = builder->Op("OnesLike", {main});
  const auto neighbours = [&](Output above, Output below) {
    return builder->Op("TridiagonalMatMul", {above, zeros, below, c});
  };
  // The gradient of the diagonal that multiplies `factors`, rows of C.
  const auto of_diagonal = [&](Output factors) {
    const Output sums = builder->Op("Sum", {Mul(context, right, factors), last});
    return builder->Op("ExpandDims", {builder->Op("Neg", {sums}), last_but_one});
  };
  context->SetDx(0, joined({of_diagonal(neighbours(ones, zeros)), of_diagonal(c),
                            of_diagonal(neighbours(zeros, ones))}));
  context->SetDx(1, right);
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("Cholesky", CholeskyGradient);
MILLSTREAM_GRADIENT("CholeskyGrad", CholeskyGradGradient);
MILLSTREAM_GRADIENT("MatrixSolve", MatrixSolveGradient);
MILLSTREAM_GRADIENT("MatrixTriangularSolve", TriangularSolveGradient);
MILLSTREAM_GRADIENT("BatchCholesky", CholeskyGradient);
MILLSTREAM_GRADIENT("BatchCholeskyGrad", CholeskyGradGradient);
MILLSTREAM_GRADIENT("BatchMatrixSolve", MatrixSolveGradient);
MILLSTREAM_GRADIENT("BatchMatrixTriangularSolve", TriangularSolveGradient);
MILLSTREAM_GRADIENT("TridiagonalSolve", TridiagonalSolveGradient);

}  // namespace
}  // namespace millstream
