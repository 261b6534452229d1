// Gradients of ops on the diagonals of matrices. The ops of old graphs, with "Batch" in their
// names, have those of the ops without.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

Status OfOneTensor(GradientContext* context, const char* op) {
  context->SetDx(0, context->builder()->Op(op, {context->dy(0)}));
  return absl::OkStatus();
}
Status DiagGradient(GradientContext* context) { return OfOneTensor(context, "DiagPart"); }
Status DiagPartGradient(GradientContext* context) { return OfOneTensor(context, "Diag"); }
Status MatrixDiagGradient(GradientContext* context) {
  return OfOneTensor(context, "MatrixDiagPart");
}

Output ZerosLike(GradientContext* context, int input) {
  return context->builder()->Op("ZerosLike", {context->input(input)});
}

// Also of matrices that are not square.
Status MatrixDiagPartGradient(GradientContext* context) {
  context->SetDx(0,
                 context->builder()->Op("MatrixSetDiag", {ZerosLike(context, 0), context->dy(0)}));
  return absl::OkStatus();
}

Status MatrixSetDiagGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  context->SetDx(0, builder->Op("MatrixSetDiag", {dy, ZerosLike(context, 1)}));
  context->SetDx(1, builder->Op("MatrixDiagPart", {dy}));
  return absl::OkStatus();
}

Output TakeDiagonals(GradientContext* context, Output matrices, Output k) {
  const Output zero = context->builder()->ScalarOf(matrices.dtype(), 0);
  return context->builder()->Op("MatrixDiagPartV2", {matrices, k, zero});
}

Output ElementAt(GraphBuilder* builder, Output vector, Output i) {
  return builder->Op("GatherV2", {vector, i, builder->Int32(0)});
}

// True if k is known to name no diagonal above the main one, or one alone.
bool HasNoUpperRows(const GraphBuilder& builder, Output k) {
  if (builder.ShapeOf(k).rank() == 0) return true;
  const Tensor* const value = Graph::ConstantValue(k);
  if (value == nullptr || value->num_elements() == 0) return false;
  const int32_t* const ends = value->data<int32_t>();
  const int32_t upper = ends[value->num_elements() - 1];
  return upper <= 0 || ends[0] == upper;
}

// How far each of the diagonals lower to upper, a row each, is shifted to end in the last column:
// those above the main one.
Output UpperShifts(GraphBuilder* builder, Output matrices, Output diagonals, Output width) {
  const Output shape = builder->Op("Shape", {matrices});
  const Output rank = builder->Op("Rank", {matrices});
  const auto size = [&](int from_end) {
    return ElementAt(builder, shape, builder->Op("Sub", {rank, builder->Int32(from_end)}));
  };
  const Output zero = builder->Int32(0);
  const Output above = builder->Op("Maximum", {diagonals, zero});
  const Output below = builder->Op("Minimum", {diagonals, zero});
  const Output length = builder->Op(
      "Minimum", {builder->Op("Add", {size(2), below}), builder->Op("Sub", {size(1), above})});
  const Output is_above = builder->Op("Cast", {builder->Op("Greater", {diagonals, zero})},
                                      {{"DstT", DataType::kInt32}});
  return builder->Op("Mul", {is_above, builder->Op("Sub", {width, length})});
}

// The same, but a diagonal above the main one ends in the last column of its row. So programs get
// the gradient of several diagonals, although the ops take them from the first column on.
Output TakeShiftedDiagonals(GradientContext* context, Output matrices, Output k) {
  GraphBuilder* builder = context->builder();
  const Output taken = TakeDiagonals(context, matrices, k);
  if (HasNoUpperRows(*builder, k)) return taken;
  const Output ends = builder->Op("Reshape", {k, builder->Int32Vector({-1})});
  const Output one = builder->Int32(1);
  const Output zero = builder->Int32(0);
  const Output lower = ElementAt(builder, ends, zero);
  const Output upper =
      ElementAt(builder, ends, builder->Op("Sub", {builder->Op("Size", {ends}), one}));
  const Output diagonals =
      builder->Op("Range", {upper, builder->Op("Sub", {lower, one}), builder->Int32(-1)});
  const Output shape = builder->Op("Shape", {taken});
  const Output width =
      ElementAt(builder, shape, builder->Op("Sub", {builder->Op("Rank", {taken}), one}));
  const Output shifts = UpperShifts(builder, matrices, diagonals, width);
  // The column that each element comes from, and whether there is one.
  const Output columns = builder->Op(
      "Sub", {builder->Op("ExpandDims", {builder->Op("Range", {zero, width, one}), zero}),
              builder->Op("ExpandDims", {shifts, one})});
  const Output is_inside = builder->Op("GreaterEqual", {columns, zero});
  const Output rows = builder->Op("Size", {diagonals});
  const Output starts = builder->Op("Mul", {builder->Op("Range", {zero, rows, one}), width});
  const Output flat = builder->Int32Vector({-1});
  const Output places =
      builder->Op("Reshape", {builder->Op("Add", {builder->Op("Maximum", {columns, zero}),
                                                  builder->Op("ExpandDims", {starts, one})}),
                              flat});
  const Output in_band = builder->Op("Mul", {rows, width});
  const Output bands = builder->Op(
      "FloorDiv", {builder->Op("Size", {taken}), builder->Op("Maximum", {in_band, one})});
  const Node* sizes = builder->Variadic("Pack", {{bands, in_band}});
  if (sizes == nullptr) return Output();
  const Output moved =
      builder->Op("GatherV2", {builder->Op("Reshape", {taken, sizes->output(0)}), places, one});
  const Output mask =
      builder->Op("Cast", {builder->Op("Reshape", {is_inside, flat})}, {{"DstT", taken.dtype()}});
  return builder->Op("Reshape", {builder->Op("Mul", {moved, mask}), shape});
}

Status MatrixDiagV2Gradient(GradientContext* context) {
  context->SetDx(0, TakeShiftedDiagonals(context, context->dy(0), context->input(1)));
  SetFillerGradient(context, 4, TakeDiagonals(context, context->dy(0), context->input(1)));
  return absl::OkStatus();
}

Status MatrixDiagPartV2Gradient(GradientContext* context) {
  const Output dx = context->builder()->Op(
      "MatrixSetDiagV2", {ZerosLike(context, 0), context->dy(0), context->input(1)});
  context->SetDx(0, dx);
  SetFillerGradient(context, 2, dx);
  return absl::OkStatus();
}

Status MatrixSetDiagV2Gradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output k = context->input(2);
  context->SetDx(0, builder->Op("MatrixSetDiagV2", {dy, ZerosLike(context, 1), k}));
  context->SetDx(1, TakeShiftedDiagonals(context, dy, k));
  return absl::OkStatus();
}

Status MatrixBandPartGradient(GradientContext* context) {
  context->SetDx(0, context->builder()->Op("MatrixBandPart",
                                           {context->dy(0), context->input(1), context->input(2)}));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("Diag", DiagGradient);
MILLSTREAM_GRADIENT("DiagPart", DiagPartGradient);
MILLSTREAM_GRADIENT("MatrixDiag", MatrixDiagGradient);
MILLSTREAM_GRADIENT("BatchMatrixDiag", MatrixDiagGradient);
MILLSTREAM_GRADIENT("MatrixDiagPart", MatrixDiagPartGradient);
MILLSTREAM_GRADIENT("BatchMatrixDiagPart", MatrixDiagPartGradient);
MILLSTREAM_GRADIENT("MatrixSetDiag", MatrixSetDiagGradient);
MILLSTREAM_GRADIENT("BatchMatrixSetDiag", MatrixSetDiagGradient);
MILLSTREAM_GRADIENT("MatrixDiagV2", MatrixDiagV2Gradient);
MILLSTREAM_GRADIENT("MatrixDiagPartV2", MatrixDiagPartV2Gradient);
MILLSTREAM_GRADIENT("MatrixSetDiagV2", MatrixSetDiagV2Gradient);
MILLSTREAM_GRADIENT("MatrixBandPart", MatrixBandPartGradient);
MILLSTREAM_GRADIENT("BatchMatrixBandPart", MatrixBandPartGradient);

}  // namespace
}  // namespace millstream
