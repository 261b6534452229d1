// Functions of square matrices.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/square_matrices.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

constexpr absl::string_view kMatrixTypes = "{half, float, double, complex64, complex128}";

Status MatrixShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, SquareMatrices(*context, 0));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// Each output has a number for each matrix.
Status NumberOfMatrixShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, SquareMatrices(*context, 0));
  PartialShape batch;
  if (shape.known_rank()) batch = PartialShape(shape.dims().subspan(0, shape.rank() - 2));
  for (int i = 0; i < context->num_outputs(); ++i) context->SetOutput(i, batch);
  return absl::OkStatus();
}

MILLSTREAM_OP("MatrixInverse")
    .Input("input: T")
    .Output("output: T")
    .Attr("adjoint: bool = false")
    .Attr(TypeAttr("T", kMatrixTypes))
    .Shape(MatrixShape)
    .Doc(R"(Inverts square matrices.

The last two dimensions are those of matrices. With adjoint the matrix is transposed, and
conjugated if complex, first. INVALID_ARGUMENT for a matrix that is singular to the precision
of the computation, double.)")
    .Example(R"(
>>> tf.matrix_inverse([[2.0, 0.0], [1.0, 4.0]]).eval().tolist()
[[0.5, 0.0], [-0.125, 0.25]])");

MILLSTREAM_OP("MatrixDeterminant")
    .Input("input: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kMatrixTypes))
    .Shape(NumberOfMatrixShape)
    .Doc(R"(Computes the determinants of square matrices.

The last two dimensions of the input are those of matrices; the output has the others.)")
    .Example(R"(
>>> float(tf.matrix_determinant([[2.0, 1.0], [1.0, 4.0]]).eval())
7.0)");

MILLSTREAM_OP("LogMatrixDeterminant")
    .Input("input: T")
    .Output("sign: T")
    .Output("log_abs_determinant: T")
    .Attr(TypeAttr("T", kMatrixTypes))
    .Shape(NumberOfMatrixShape)
    .Doc(R"(Computes sign and logarithm of the absolute value of determinants.

The determinant is sign * exp(log_abs_determinant), also where that is beyond the range of
the type. The sign of a complex determinant is a number of absolute value 1. A singular
matrix has sign 0 and logarithm minus infinity.)")
    .Example(R"(
>>> sign, log = tf.linalg.slogdet([[0.0, 1.0], [1.0, 0.0]])
>>> float(sign.eval()), float(log.eval())
(-1.0, 0.0))");

}  // namespace
}  // namespace millstream
