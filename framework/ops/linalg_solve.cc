// Systems of linear equations, and factors of square matrices.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/square_matrices.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

constexpr absl::string_view kTypes = "{double, float, half, complex64, complex128}";
constexpr absl::string_view kRealTypes64First = "{double, float}";

Status FactorShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, SquareMatrices(*context, 0));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// The second input has the shape of the first.
Status FactorGradientShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape l, SquareMatrices(*context, 0));
  StatusOr<PartialShape> merged = l.MergeWith(context->input(1));
  if (!merged.ok()) return InputError(*context, 1, merged.status());
  context->SetOutput(0, *std::move(merged));
  return absl::OkStatus();
}

// The right-hand sides, input 1, have the dimensions of the matrices but for the last one.
Status SolveShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape matrix, SquareMatrices(*context, 0));
  MS_ASSIGN_OR_RETURN(const PartialShape right, context->WithRankAtLeast(1, 2));
  const int64_t columns = right.known_rank() ? right.dim(-1) : kUnknownDim;
  PartialShape wanted = matrix;
  if (wanted.known_rank()) wanted.set_dim(-1, columns);
  StatusOr<PartialShape> merged = wanted.MergeWith(right);
  if (!merged.ok()) {
    return InvalidInput(*context, 1, "expected the shape of 'matrix' ", matrix.ToString(),
                        " but for the last dimension, got ", right.ToString());
  }
  context->SetOutput(0, *std::move(merged));
  return absl::OkStatus();
}

PartialShape BatchOf(const PartialShape& shape) {
  if (!shape.known_rank()) return PartialShape();
  return PartialShape(shape.dims().subspan(0, shape.rank() - 2));
}

// As SolveShape, but batches broadcast.
Status TriangularSolveShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape matrix, SquareMatrices(*context, 0));
  MS_ASSIGN_OR_RETURN(const PartialShape right, context->WithRankAtLeast(1, 2));
  StatusOr<PartialShape> shape = BroadcastShapes(BatchOf(matrix), BatchOf(right));
  if (!shape.ok()) {
    return InvalidInput(*context, 1,
                        "expected batch dimensions that broadcast with those of 'matrix' ",
                        matrix.ToString(), ", got ", right.ToString());
  }
  if (!matrix.known_rank() || !right.known_rank()) return absl::OkStatus();
  const StatusOr<int64_t> rows = context->MergeDim(matrix.dim(-1), right.dim(-2));
  if (!rows.ok()) {
    return InvalidInput(*context, 1, "expected as many rows as 'matrix' ", matrix.ToString(),
                        " has, got ", right.ToString());
  }
  shape->AddDim(*rows);
  shape->AddDim(right.dim(-1));
  context->SetOutput(0, *std::move(shape));
  return absl::OkStatus();
}

Status LuShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, SquareMatrices(*context, 0));
  PartialShape order;
  if (shape.known_rank()) order = PartialShape(shape.dims().subspan(0, shape.rank() - 1));
  context->SetOutput(0, std::move(shape));
  context->SetOutput(1, std::move(order));
  return absl::OkStatus();
}

// Diagonals are [..., 3, n], right-hand sides [..., n, columns].
Status TridiagonalShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape diagonals, context->WithRankAtLeast(0, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape right, context->WithRankAtLeast(1, 2));
  PartialShape wanted = diagonals;
  if (wanted.known_rank()) {
    if (!context->MergeDim(diagonals.dim(-2), 3).ok()) {
      return InvalidInput(*context, 0, "expected 3 rows of diagonals, got ", diagonals.ToString());
    }
    wanted.set_dim(-2, diagonals.dim(-1));
    wanted.set_dim(-1, right.known_rank() ? right.dim(-1) : kUnknownDim);
  }
  StatusOr<PartialShape> merged = wanted.MergeWith(right);
  if (!merged.ok()) {
    return InvalidInput(*context, 1, "expected right-hand sides of shape ", wanted.ToString(),
                        ", got ", right.ToString());
  }
  context->SetOutput(0, *std::move(merged));
  return absl::OkStatus();
}

MILLSTREAM_OP("Cholesky")
    .Input("input: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kTypes))
    .Shape(FactorShape)
    .Doc(R"(Factors square matrices A into lower triangular ones L, with A = L L^H.

The last two dimensions are those of matrices, of which the lower triangle alone is read. INVALID_ARGUMENT
for a matrix that is not positive definite.)")
    .Example(R"(
>>> tf.cholesky([[4.0, 2.0], [2.0, 2.0]]).eval().tolist()
[[2.0, 0.0], [1.0, 1.0]])");

MILLSTREAM_OP("CholeskyGrad")
    .Input("l: T")
    .Input("grad: T")
    .Output("output: T")
    .Attr("T: {half, float, double}")
    .Shape(FactorGradientShape)
    .Doc(
        R"(Gives the gradient of the input of Cholesky, from its output and the gradient of that.)");

void Equations(OpSpec* spec) { (*spec).Input("matrix: T").Input("rhs: T").Output("output: T"); }

MILLSTREAM_OP("MatrixSolve")
    .With(Equations)
    .Attr("adjoint: bool = false")
    .Attr(TypeAttr("T", kTypes))
    .Shape(SolveShape)
    .Doc(R"(Solves systems of linear equations.

The last two dimensions are those of matrices: matrix times output is rhs. With adjoint the matrix is
transposed, and conjugated if complex, first. INVALID_ARGUMENT for a matrix that is singular.)")
    .Example(R"(
>>> tf.matrix_solve([[2.0, 0.0], [1.0, 1.0]], [[2.0], [3.0]]).eval().tolist()
[[1.0], [2.0]])");

MILLSTREAM_OP("MatrixTriangularSolve")
    .With(Equations)
    .Attr("lower: bool = true")
    .Attr("adjoint: bool = false")
    .Attr(TypeAttr("T", kTypes))
    .Shape(TriangularSolveShape)
    .Doc(R"(Solves systems of linear equations with triangular matrices.

As MatrixSolve, with the lower or the upper triangle of each matrix alone, as lower says. The
dimensions before those of matrices broadcast. INVALID_ARGUMENT for a zero on the diagonal.)")
    .Example(R"(
>>> tf.matrix_triangular_solve([[2.0, 9.0], [1.0, 1.0]], [[2.0], [3.0]]).eval().tolist()
[[1.0], [2.0]])");

MILLSTREAM_OP("Lu")
    .Input("input: T")
    .Output("lu: T")
    .Output("p: output_idx_type")
    .Attr(TypeAttr("T", kTypes))
    .Attr(TypeAttr("output_idx_type", kIndexTypes, " = int32"))
    .Shape(LuShape)
    .Doc(R"(Factors square matrices into a permutation, a lower and an upper triangular matrix.

lu has the upper triangular factor, and below its diagonal the lower one, whose diagonal is 1. Row i of the
product of both is row p[i] of the input. INVALID_ARGUMENT for a matrix that is singular.)");

MILLSTREAM_OP("TridiagonalSolve")
    .Input("diagonals: T")
    .Input("rhs: T")
    .Output("output: T")
    .Attr("partial_pivoting: bool = true")
    .Attr("T: {double, float, complex64, complex128}")
    .Shape(TridiagonalShape)
    .Doc(R"(Solves systems of linear equations with tridiagonal matrices.

The rows of diagonals are the one above the main diagonal, whose last element is not read, the main one, and
the one below, whose first is not read. Without partial_pivoting rows are not exchanged. INVALID_ARGUMENT
where a pivot is zero.)");

// ---- Under the names of old programs ----

Status UnknownShape(ShapeContext* context) {
  context->SetOutput(0, PartialShape());
  return absl::OkStatus();
}

void OfBatch(OpSpec* spec) { (*spec).Attr(TypeAttr("T", kRealTypes64First)).Shape(UnknownShape); }

MILLSTREAM_OP("BatchCholesky")
    .Input("input: T")
    .Output("output: T")
    .With(OfBatch)
    .Doc(R"(Does what Cholesky does.)");

MILLSTREAM_OP("BatchCholeskyGrad")
    .Input("l: T")
    .Input("grad: T")
    .Output("output: T")
    .Attr("T: {float, double}")
    .Shape(UnknownShape)
    .Doc(R"(Does what CholeskyGrad does.)");

MILLSTREAM_OP("BatchMatrixSolve")
    .Input("matrix: T")
    .Input("rhs: T")
    .Output("output: T")
    .Attr("adjoint: bool = false")
    .With(OfBatch)
    .Doc(R"(Does what MatrixSolve does.)");

MILLSTREAM_OP("BatchMatrixTriangularSolve")
    .Input("matrix: T")
    .Input("rhs: T")
    .Output("output: T")
    .Attr("lower: bool = true")
    .Attr("adjoint: bool = false")
    .With(OfBatch)
    .Doc(R"(Does what MatrixTriangularSolve does.)");

MILLSTREAM_OP("BatchMatrixInverse")
    .Input("input: T")
    .Output("output: T")
    .Attr("adjoint: bool = false")
    .With(OfBatch)
    .Doc(R"(Does what MatrixInverse does.)");

MILLSTREAM_OP("BatchMatrixDeterminant")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {float, double, complex64, complex128}")
    .Shape(UnknownShape)
    .Doc(R"(Does what MatrixDeterminant does.)");

}  // namespace
}  // namespace millstream
