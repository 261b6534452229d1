// Orthogonal factors, singular values and eigenvalues of matrices, least squares, and functions of
// matrices.
#include <algorithm>
#include <cstdint>
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

// The smaller of two dimensions, unknown if that is not known.
int64_t Smaller(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == kUnknownDim || b == kUnknownDim) return kUnknownDim;
  return std::min(a, b);
}

PartialShape WithMatrix(const PartialShape& shape, int64_t rows, int64_t columns) {
  PartialShape result = shape;
  result.set_dim(-2, rows);
  result.set_dim(-1, columns);
  return result;
}

PartialShape WithVector(const PartialShape& shape, int64_t size) {
  PartialShape result(shape.dims().subspan(0, shape.rank() - 1));
  result.set_dim(-1, size);
  return result;
}

Status AllUnknown(ShapeContext* context) {
  for (int i = 0; i < context->num_outputs(); ++i) context->SetOutput(i, PartialShape());
  return absl::OkStatus();
}

Status QrShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape input, context->WithRankAtLeast(0, 2));
  MS_ASSIGN_OR_RETURN(const bool full, context->Attr<bool>("full_matrices"));
  if (!input.known_rank()) return AllUnknown(context);
  const int64_t rows = input.dim(-2);
  const int64_t columns = input.dim(-1);
  const int64_t of_q = full ? rows : Smaller(rows, columns);
  context->SetOutput(0, WithMatrix(input, rows, of_q));
  context->SetOutput(1, WithMatrix(input, of_q, columns));
  return absl::OkStatus();
}

Status SvdShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape input, context->WithRankAtLeast(0, 2));
  MS_ASSIGN_OR_RETURN(const bool vectors, context->Attr<bool>("compute_uv"));
  MS_ASSIGN_OR_RETURN(const bool full, context->Attr<bool>("full_matrices"));
  MS_RETURN_IF_ERROR(AllUnknown(context));
  if (input.known_rank()) {
    const int64_t rows = input.dim(-2);
    const int64_t columns = input.dim(-1);
    const int64_t least = Smaller(rows, columns);
    context->SetOutput(0, WithVector(input, least));
    context->SetOutput(1, WithMatrix(input, rows, full ? rows : least));
    context->SetOutput(2, WithMatrix(input, columns, full ? columns : least));
  }
  if (!vectors) {
    context->SetOutput(1, PartialShape({0}));
    context->SetOutput(2, PartialShape({0}));
  }
  return absl::OkStatus();
}

Status EigenShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape input, SquareMatrices(*context, 0));
  MS_ASSIGN_OR_RETURN(const bool vectors, context->Attr<bool>("compute_v"));
  PartialShape values;
  if (input.known_rank()) values = WithVector(input, input.dim(-1));
  context->SetOutput(0, std::move(values));
  context->SetOutput(1, vectors ? input : PartialShape({0}));
  return absl::OkStatus();
}

Status JoinedEigenShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape input, SquareMatrices(*context, 0));
  if (!input.known_rank()) return AllUnknown(context);
  const int64_t n = input.dim(-1);
  context->SetOutput(0, WithMatrix(input, n == kUnknownDim ? n : n + 1, n));
  return absl::OkStatus();
}

Status LeastSquaresShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(2, 0).status());
  MS_ASSIGN_OR_RETURN(const PartialShape matrix, context->WithRankAtLeast(0, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape right, context->WithRankAtLeast(1, 2));
  if (!matrix.known_rank()) {
    PartialShape shape = right;
    if (shape.known_rank()) shape.set_dim(-2, kUnknownDim);
    context->SetOutput(0, std::move(shape));
    return absl::OkStatus();
  }
  const int64_t columns = right.known_rank() ? right.dim(-1) : kUnknownDim;
  StatusOr<PartialShape> merged = WithMatrix(matrix, matrix.dim(-2), columns).MergeWith(right);
  if (!merged.ok()) {
    return InvalidInput(*context, 1, "expected the shape of 'matrix' ", matrix.ToString(),
                        " but for the last dimension, got ", right.ToString());
  }
  context->SetOutput(0, WithMatrix(*merged, matrix.dim(-1), columns));
  return absl::OkStatus();
}

Status SquareShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, SquareMatrices(*context, 0));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

MILLSTREAM_OP("Qr")
    .Input("input: T")
    .Output("q: T")
    .Output("r: T")
    .Attr("full_matrices: bool = false")
    .Attr(TypeAttr("T", kTypes))
    .Shape(QrShape)
    .Doc(R"(Factors matrices into one with orthogonal columns and an upper triangular one.

The last two dimensions are those of matrices: input is q times r. The columns of q have length 1. With
full_matrices q is square; else it has as many columns as the smaller dimension of the matrix. The diagonal
of r is real.)")
    .Example(R"(
>>> q, r = tf.qr([[3.0, 1.0], [4.0, 2.0]])
>>> tf.matmul(q, r).eval().round(5).tolist()
[[3.0, 1.0], [4.0, 2.0]])");

MILLSTREAM_OP("Svd")
    .Input("input: T")
    .Output("s: T")
    .Output("u: T")
    .Output("v: T")
    .Attr("compute_uv: bool = true")
    .Attr("full_matrices: bool = false")
    .Attr(TypeAttr("T", kTypes))
    .Shape(SvdShape)
    .Doc(R"(Computes singular values and vectors of matrices.

The last two dimensions are those of matrices: input is u diag(s) v^H, and the values descend. With
full_matrices u and v are square; else they have a column for each value. Without compute_uv they are
empty vectors. A matrix with an element that is not finite gives NaN.)")
    .Example(R"(
>>> tf.svd([[0.0, 2.0], [3.0, 0.0]], compute_uv=False).eval().tolist()
[3.0, 2.0])");

MILLSTREAM_OP("SelfAdjointEigV2")
    .Input("input: T")
    .Output("e: T")
    .Output("v: T")
    .Attr("compute_v: bool = true")
    .Attr(TypeAttr("T", kTypes))
    .Shape(EigenShape)
    .Doc(R"(Computes eigenvalues and eigenvectors of self-adjoint matrices.

The last two dimensions are those of matrices, of which the lower triangle alone is read: input is
v diag(e) v^H, and the values ascend. Without compute_v v is an empty vector. INVALID_ARGUMENT for a matrix
with an element that is not finite.)")
    .Example(R"(
>>> tf.self_adjoint_eigvals([[0.0, 2.0], [2.0, 3.0]]).eval().round(5).tolist()
[-1.0, 4.0])");

void Equations(OpSpec* spec) {
  (*spec).Input("matrix: T").Input("rhs: T").Input("l2_regularizer: double").Output("output: T");
}

MILLSTREAM_OP("MatrixSolveLs")
    .With(Equations)
    .Attr(TypeAttr("T", kTypes))
    .Attr("fast: bool = true")
    .Shape(LeastSquaresShape)
    .Doc(R"(Solves systems of linear equations in the sense of least squares.

The last two dimensions are those of matrices. The output x has the least sum of squares of matrix times
x less rhs, plus l2_regularizer times the sum of squares of x; of several such x it is the smallest. With
fast that is computed by normal equations, and a matrix without full rank is INVALID_ARGUMENT unless
l2_regularizer is large enough. Else it is computed by singular values, and l2_regularizer is not used.)")
    .Example(R"(
>>> tf.matrix_solve_ls([[1.0], [1.0]], [[2.0], [4.0]]).eval().round(5).tolist()
[[3.0]])");

MILLSTREAM_OP("MatrixSquareRoot")
    .Input("input: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kTypes))
    .Shape(SquareShape)
    .Doc(R"(Computes square roots of square matrices.

The last two dimensions are those of matrices: the product of the output and itself is the input. Of the
roots it is the one whose eigenvalues have no negative real parts. A real matrix that has no such real root,
because an eigenvalue is negative, gives NaN.)")
    .Example(R"(
>>> tf.linalg.sqrtm([[4.0, 0.0], [5.0, 9.0]]).eval().round(5).tolist()
[[2.0, 0.0], [1.0, 3.0]])");

MILLSTREAM_OP("MatrixLogarithm")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {complex64, complex128}")
    .Shape(SquareShape)
    .Doc(R"(Computes logarithms of square complex matrices.

The last two dimensions are those of matrices: the exponential of the output is the input. Of the
logarithms it is the one whose eigenvalues have imaginary parts between -pi and pi.)")
    .Example(R"(
>>> tf.linalg.logm(tf.constant([[1, 2], [0, 1]], tf.complex64)).eval()[0].real.round(5).tolist()
[0.0, 2.0])");

MILLSTREAM_OP("MatrixExponential")
    .Input("input: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kTypes))
    .Shape(SquareShape)
    .Doc(R"(Computes exponentials of square matrices.

The last two dimensions are those of matrices. The output is the sum of their powers over factorials.)");

// ---- Under the names of old programs ----

MILLSTREAM_OP("SelfAdjointEig")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {double, float, half}")
    .Shape(JoinedEigenShape)
    .Doc(
        R"(Computes eigenvalues, as a first row, and below them the eigenvectors of SelfAdjointEigV2.)");

MILLSTREAM_OP("BatchSelfAdjointEig")
    .Input("input: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kRealTypes64First))
    .Shape(AllUnknown)
    .Doc(R"(Does what SelfAdjointEig does.)");

MILLSTREAM_OP("BatchSelfAdjointEigV2")
    .Input("input: T")
    .Output("e: T")
    .Output("v: T")
    .Attr("compute_v: bool = true")
    .Attr(TypeAttr("T", kRealTypes64First))
    .Shape(AllUnknown)
    .Doc(R"(Does what SelfAdjointEigV2 does.)");

MILLSTREAM_OP("BatchSvd")
    .Input("input: T")
    .Output("s: T")
    .Output("u: T")
    .Output("v: T")
    .Attr("compute_uv: bool = true")
    .Attr("full_matrices: bool = false")
    .Attr("T: {double, float, complex64, complex128}")
    .Shape(AllUnknown)
    .Doc(R"(Does what Svd does.)");

MILLSTREAM_OP("BatchMatrixSolveLs")
    .With(Equations)
    .Attr(TypeAttr("T", kRealTypes64First))
    .Attr("fast: bool = true")
    .Shape(AllUnknown)
    .Doc(R"(Does what MatrixSolveLs does.)");

}  // namespace
}  // namespace millstream
