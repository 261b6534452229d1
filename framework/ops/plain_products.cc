// Products of vectors, and of matrices that are mostly zero.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status CrossShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRankAtLeast(0, 1).status());
  StatusOr<PartialShape> shape = context->input(0).MergeWith(context->input(1));
  if (!shape.ok()) return InputError(*context, 1, shape.status());
  if (shape->known_rank()) {
    if (shape->rank() == 0) {
      return InvalidInput(*context, 1, "expected rank 1 or more, got ", shape->ToString());
    }
    const StatusOr<int64_t> last = context->MergeDim(shape->dim(-1), 3);
    if (!last.ok()) return InputError(*context, 0, last.status());
    shape->set_dim(-1, 3);
  }
  context->SetOutput(0, *std::move(shape));
  return absl::OkStatus();
}

// Each diagonal has an element for each row of rhs.
Status TridiagonalShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape rhs, context->WithRankAtLeast(3, 2));
  if (rhs.known_rank()) {
    PartialShape diagonal = rhs;
    diagonal.set_dim(-1, rhs.dim(-2));
    diagonal.set_dim(-2, 1);
    for (int i = 0; i < 3; ++i) {
      const StatusOr<PartialShape> merged = context->input(i).MergeWith(diagonal);
      if (!merged.ok()) return InputError(*context, i, merged.status());
    }
  }
  context->SetOutput(0, std::move(rhs));
  return absl::OkStatus();
}

Status SparseMatMulShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape a, context->WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape b, context->WithRank(1, 2));
  MS_ASSIGN_OR_RETURN(const bool transpose_a, context->Attr<bool>("transpose_a"));
  MS_ASSIGN_OR_RETURN(const bool transpose_b, context->Attr<bool>("transpose_b"));
  const int64_t a_inner = a.dim(transpose_a ? 0 : 1);
  const int64_t b_inner = b.dim(transpose_b ? 1 : 0);
  if (!context->MergeDim(a_inner, b_inner).ok()) {
    return InvalidInput(*context, 1, UnequalDims(a_inner, b_inner), "argument 'a' is ",
                        a.ToString(), ", got ", b.ToString());
  }
  context->SetOutput(0,
                     PartialShape::Matrix(a.dim(transpose_a ? 1 : 0), b.dim(transpose_b ? 0 : 1)));
  return absl::OkStatus();
}

MILLSTREAM_OP("Cross")
    .Input("a: T")
    .Input("b: T")
    .Output("product: T")
    .Attr(TypeAttr("T", kRealTypes))
    .Shape(CrossShape)
    .Doc(R"(Gives the cross products of vectors.

a and b have one shape, whose last dimension, of size 3, is a vector.)")
    .Example(R"(
>>> tf.linalg.cross([1, 0, 0], [0, 1, 0]).eval()
array([0, 0, 1], dtype=int32))");

MILLSTREAM_OP("TridiagonalMatMul")
    .Input("superdiag: T")
    .Input("maindiag: T")
    .Input("subdiag: T")
    .Input("rhs: T")
    .Output("output: T")
    .Attr("T: {double, float, complex64, complex128}")
    .Shape(TridiagonalShape)
    .Doc(R"(Multiplies matrices that have three diagonals with others.

rhs has the shape [..., m, n], the diagonals [..., 1, m]. The last element of superdiag and the first
one of subdiag do not count.)");

MILLSTREAM_OP("SparseMatMul")
    .Input("a: Ta")
    .Input("b: Tb")
    .Output("product: float")
    .Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false")
    .Attr("a_is_sparse: bool = false")
    .Attr("b_is_sparse: bool = false")
    .Attr("Ta: {float, bfloat16} = float")
    .Attr("Tb: {float, bfloat16} = float")
    .Shape(SparseMatMulShape)
    .Doc(R"(Multiplies two matrices of which one may be mostly zero.

Zeros of a are passed over. a_is_sparse and b_is_sparse say what the program expects, and change
nothing.)")
    .Example(R"(
>>> tf.sparse_matmul([[1.0, 0.0]], [[2.0], [3.0]]).eval().tolist()
[[2.0]])");

}  // namespace
}  // namespace millstream
