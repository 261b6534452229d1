// Gradients of Cross, TridiagonalMatMul and SparseMatMul.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/math_helpers.h"

namespace millstream {
namespace {

Status CrossGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  context->SetDx(0, builder->Op("Cross", {context->input(1), dy}));
  context->SetDx(1, builder->Op("Cross", {dy, context->input(0)}));
  return absl::OkStatus();
}

// The transposed matrix has the diagonals exchanged, each moved by the element that does not count.
Status TridiagonalMatMulGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output last = builder->Int32(-1);
  const auto moved = [&](int diagonal, int32_t by) {
    const Output conjugate = Conjugate(context, context->input(diagonal));
    return builder->Op("Roll", {conjugate, builder->Int32(by), last});
  };
  const Output main = Conjugate(context, context->input(1));
  context->SetDx(3, builder->Op("TridiagonalMatMul", {moved(2, -1), main, moved(0, 1), dy}));
  const Output rhs = Conjugate(context, context->input(3));
  const Output zeros = builder->Op("ZerosLike", {main});
  const Output ones = builder->Op("OnesLike", {main});
  // The gradient of the diagonal by which `rows` of rhs are multiplied.
  const auto of_rows = [&](Output rows) {
    const Output sums = builder->Op("Sum", {Mul(context, dy, rows), last});
    return builder->Op("ExpandDims", {sums, builder->Int32(-2)});
  };
  const auto neighbours = [&](Output above, Output below) {
    return builder->Op("TridiagonalMatMul", {above, zeros, below, rhs});
  };
  context->SetDx(0, of_rows(neighbours(ones, zeros)));
  context->SetDx(1, of_rows(rhs));
  context->SetDx(2, of_rows(neighbours(zeros, ones)));
  return absl::OkStatus();
}

Status SparseMatMulGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(const bool transpose_a, context->Attr<bool>("transpose_a"));
  MS_ASSIGN_OR_RETURN(const bool transpose_b, context->Attr<bool>("transpose_b"));
  const Output dy = context->dy(0);
  const auto as = [&](Output tensor, DataType dtype) {
    return tensor.dtype() == dtype ? tensor : builder->Op("Cast", {tensor}, {{"DstT", dtype}});
  };
  const Output a = as(context->input(0), DataType::kFloat);
  const Output b = as(context->input(1), DataType::kFloat);
  const auto product = [&](Output x, bool transpose_x, Output y, bool transpose_y) {
    return builder->Op("MatMul", {x, y},
                       {{"transpose_a", transpose_x}, {"transpose_b", transpose_y}});
  };
  const Output da =
      transpose_a ? product(b, transpose_b, dy, true) : product(dy, false, b, !transpose_b);
  const Output db =
      transpose_b ? product(dy, true, a, transpose_a) : product(a, !transpose_a, dy, false);
  context->SetDx(0, as(da, context->input(0).dtype()));
  context->SetDx(1, as(db, context->input(1).dtype()));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("Cross", CrossGradient);
MILLSTREAM_GRADIENT("TridiagonalMatMul", TridiagonalMatMulGradient);
MILLSTREAM_GRADIENT("SparseMatMul", SparseMatMulGradient);

}  // namespace
}  // namespace millstream
