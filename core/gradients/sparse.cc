// Gradients of arithmetic on sparse tensors, by their values. Indices and shapes have none.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/math_helpers.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

Output ToInt64(GraphBuilder* builder, Output tensor) {
  return builder->Op("Cast", {tensor}, {{"DstT", DataType::kInt64}});
}

Output Shape64(GraphBuilder* builder, Output tensor) {
  return builder->Op("Shape", {tensor}, {{"out_type", DataType::kInt64}});
}

// Output i of a node of several.
Output OutputOf(const Node* node, int i) { return node == nullptr ? Output() : node->output(i); }

// ---- Places ----

// The values go back where they were.
Status ReorderGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output count = builder->Op("Size", {context->dy(1)});
  const Output numbers = builder->Op("Range", {builder->Int32(0), count, builder->Int32(1)});
  const Node* sorted =
      builder->NodeOf("SparseReorder", {context->input(0), numbers, context->input(2)});
  const Output inverse = builder->Op("InvertPermutation", {OutputOf(sorted, 1)});
  context->SetDx(1, builder->Op("GatherV2", {context->dy(1), inverse, builder->Int32(0)}));
  return absl::OkStatus();
}

Status SliceGradient(GradientContext* context) {
  context->SetDx(
      1, context->builder()->Op("SparseSliceGrad", {context->dy(1), context->input(0),
                                                    context->input(3), context->output(0)}));
  return absl::OkStatus();
}

Status FillEmptyRowsGradient(GradientContext* context) {
  const Node* gradients =
      context->builder()->NodeOf("SparseFillEmptyRowsGrad", {context->output(3), context->dy(1)});
  context->SetDx(1, OutputOf(gradients, 0));
  context->SetDx(3, OutputOf(gradients, 1));
  return absl::OkStatus();
}

// ---- Sums ----

Status AddGradient(GradientContext* context) {
  const Node* gradients = context->builder()->NodeOf(
      "SparseAddGrad", {context->dy(1), context->input(0), context->input(3), context->output(0)});
  context->SetDx(1, OutputOf(gradients, 0));
  context->SetDx(4, OutputOf(gradients, 1));
  return absl::OkStatus();
}

Status DenseAddGradient(GradientContext* context) {
  context->SetDx(1, context->builder()->Op("GatherNd", {context->dy(0), context->input(0)}));
  context->SetDx(3, context->dy(0));
  return absl::OkStatus();
}

// Each element gets the gradient of its sum: that at its index with 0 for the reduced dimensions.
Status ReduceSumGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output shape = context->input(2);
  const Output rank = builder->Op("Size", {shape});
  const Output all = builder->Op("Range", {builder->Int32(0), rank, builder->Int32(1)});
  const Output axes = builder->Op(
      "FloorMod", {builder->Op("Reshape", {context->input(3), builder->Int32Vector({-1})}), rank});
  const Output ones = builder->Op("OnesLike", {shape});
  const auto with_axes = [&](Output others, Output reduced) {
    return OutputOf(builder->Variadic("DynamicStitch", {{all, axes}, {others, reduced}}), 0);
  };
  const Output axes64 = ToInt64(builder, axes);
  const Output is_kept = with_axes(ones, builder->Op("ZerosLike", {axes64}));
  const Output kept = with_axes(shape, builder->Op("OnesLike", {axes64}));
  const Output places = builder->Op("Mul", {context->input(0), is_kept});
  const Output sums = builder->Op("Reshape", {context->dy(0), kept});
  context->SetDx(1, builder->Op("GatherNd", {sums, places}));
  return absl::OkStatus();
}

// ---- With a dense tensor that is broadcast ----

// What the dense tensor, input 3, has at the places of the sparse one.
class DenseElements {
 public:
  explicit DenseElements(GradientContext* context) : context_(context) {
    GraphBuilder* builder = context->builder();
    const Output dense = context->input(3);
    const Output missing = builder->Op(
        "Sub", {builder->Op("Size", {context->input(2)}), builder->Op("Rank", {dense})});
    const Output ones = ToInt64(builder, OnesVector(builder, missing));
    shape_ = ConcatVectors(builder, {ones, Shape64(builder, dense)});
    const Output one = builder->ScalarOf(DataType::kInt64, 1);
    const Output is_whole = ToInt64(builder, builder->Op("NotEqual", {shape_, one}));
    places_ = builder->Op("Mul", {context->input(0), is_whole});
    whole_ = builder->Op("Reshape", {dense, shape_});
  }

  Output Gathered() const { return context_->builder()->Op("GatherNd", {whole_, places_}); }
  // The sums of `values`, one for each element of the sparse tensor, in the dense one's shape.
  Output Scattered(Output values) const {
    GraphBuilder* builder = context_->builder();
    const Output sums = builder->Op("SparseTensorDenseAdd",
                                    {places_, values, shape_, builder->Op("ZerosLike", {whole_})});
    return ReshapeLike(builder, sums, context_->input(3));
  }

 private:
  GradientContext* const context_;
  Output shape_;
  Output places_;
  Output whole_;
};

Status CwiseAddGradient(GradientContext* context) {
  context->SetDx(1, context->dy(0));
  context->SetDx(3, DenseElements(context).Scattered(context->dy(0)));
  return absl::OkStatus();
}

Status CwiseMulGradient(GradientContext* context) {
  const DenseElements dense(context);
  const Output dy = context->dy(0);
  context->SetDx(1, Mul(context, dy, Conjugate(context, dense.Gathered())));
  context->SetDx(3, dense.Scattered(Mul(context, dy, Conjugate(context, context->input(1)))));
  return absl::OkStatus();
}

// x / y: dx = dy / y, and -x / y^2 for the divisor.
Status CwiseDivGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const DenseElements dense(context);
  const Output y = Conjugate(context, dense.Gathered());
  const Output dx = builder->Op("RealDiv", {context->dy(0), y});
  const Output quotient = builder->Op("RealDiv", {Conjugate(context, context->input(1)), y});
  context->SetDx(1, dx);
  context->SetDx(3, dense.Scattered(builder->Op("Neg", {Mul(context, dx, quotient)})));
  return absl::OkStatus();
}

// dx = y (dy - sum(y dy)), the sum being over a row.
Status SoftmaxGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output indices = context->input(0);
  const Output shape = context->input(2);
  const Output y = context->output(0);
  const Output products = builder->Op("Mul", {y, context->dy(0)});
  const Output sums =
      builder->Op("SparseReduceSum", {indices, products, shape, builder->Int32Vector({-1})},
                  {{"keep_dims", true}});
  const Output differences = builder->Op(
      "SparseDenseCwiseAdd", {indices, context->dy(0), shape, builder->Op("Neg", {sums})});
  context->SetDx(1, builder->Op("Mul", {y, differences}));
  return absl::OkStatus();
}

// ---- Products ----

// Column `i` of the indices of the sparse matrix.
Output ColumnOf(GradientContext* context, int i) {
  GraphBuilder* builder = context->builder();
  return builder->Op("GatherV2", {context->input(0), builder->Int32(i), builder->Int32(1)});
}

Output RowsOf(GradientContext* context, Output matrix, Output rows) {
  return context->builder()->Op("GatherV2", {matrix, rows, context->builder()->Int32(0)});
}

Output Transposed(GraphBuilder* builder, Output matrix) {
  return builder->Op("Transpose", {matrix, builder->Int32Vector({1, 0})});
}

// Y = op(A) op(B): dB is a product of the same kind, and each element of A gets a sum over a row of
// dY and one of op(B), which it multiplied.
Status MatMulGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  MS_ASSIGN_OR_RETURN(const bool adjoint_a, context->Attr<bool>("adjoint_a"));
  MS_ASSIGN_OR_RETURN(const bool adjoint_b, context->Attr<bool>("adjoint_b"));
  const Output dy = context->dy(0);
  const Output b = context->input(3);
  const Output db = builder->Op("SparseTensorDenseMatMul",
                                {context->input(0), context->input(1), context->input(2), dy},
                                {{"adjoint_a", !adjoint_a}, {"adjoint_b", false}});
  context->SetDx(3, adjoint_b ? Conjugate(context, Transposed(builder, db)) : db);
  const Output of_dy = RowsOf(context, dy, ColumnOf(context, adjoint_a ? 1 : 0));
  const Output of_b =
      RowsOf(context, adjoint_b ? Transposed(builder, b) : b, ColumnOf(context, adjoint_a ? 0 : 1));
  const Output products = Mul(context, adjoint_a ? Conjugate(context, of_dy) : of_dy,
                              adjoint_a == adjoint_b ? Conjugate(context, of_b) : of_b);
  context->SetDx(1, builder->Op("Sum", {products, builder->Int32Vector({1})}));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("SparseReorder", ReorderGradient);
MILLSTREAM_GRADIENT("SparseSlice", SliceGradient);
MILLSTREAM_GRADIENT("SparseFillEmptyRows", FillEmptyRowsGradient);
MILLSTREAM_GRADIENT("SparseAdd", AddGradient);
MILLSTREAM_GRADIENT("SparseTensorDenseAdd", DenseAddGradient);
MILLSTREAM_GRADIENT("SparseReduceSum", ReduceSumGradient);
MILLSTREAM_GRADIENT("SparseDenseCwiseAdd", CwiseAddGradient);
MILLSTREAM_GRADIENT("SparseDenseCwiseMul", CwiseMulGradient);
MILLSTREAM_GRADIENT("SparseDenseCwiseDiv", CwiseDivGradient);
MILLSTREAM_GRADIENT("SparseSoftmax", SoftmaxGradient);
MILLSTREAM_GRADIENT("SparseTensorDenseMatMul", MatMulGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("SparseAddGrad");
MILLSTREAM_NOT_DIFFERENTIABLE("SparseConcat");
MILLSTREAM_NOT_DIFFERENTIABLE("SparseReshape");

}  // namespace
}  // namespace millstream
