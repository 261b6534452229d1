// Gradients of arithmetic on sparse tensors, by their values. Indices and shapes have none.
#include <vector>

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

Status SplitGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const int count = context->num_outputs() / 3;
  const Output size = builder->Op("Size", {context->input(2)});
  const Output numbers = builder->Op("Range", {builder->Int32(0), size, builder->Int32(1)});
  const Node* split = builder->NodeOf(
      "SparseSplit", {context->input(0), context->input(1), numbers, context->input(3)},
      {{"num_split", int64_t{count}}});
  std::vector<Output> numbers_of_parts;
  std::vector<Output> dy;
  for (int i = 0; i < count; ++i) {
    numbers_of_parts.push_back(OutputOf(split, count + i));
    dy.push_back(context->dy(count + i));
  }
  const auto joined = [&](const std::vector<Output>& parts) {
    if (count == 1) return parts[0];
    return OutputOf(builder->Variadic("ConcatV2", {parts, {builder->Int32(0)}}), 0);
  };
  const Output inverse = builder->Op("InvertPermutation", {joined(numbers_of_parts)});
  context->SetDx(2, builder->Op("GatherV2", {joined(dy), inverse, builder->Int32(0)}));
  return absl::OkStatus();
}

// The gradient of input 0 of an op of gradients, which gives each of its elements to other ones.
// What `places` gives for the numbers from 1 on tells which ones: 0 where none came.
Output SumOfGivenTo(GradientContext* context, Output places, Output dy) {
  GraphBuilder* builder = context->builder();
  return builder->Op("UnsortedSegmentSum", {dy, builder->Op("Sub", {places, builder->Int32(1)}),
                                            builder->Op("Size", {context->input(0)})});
}

Output NumbersFromOne(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output one = builder->Int32(1);
  const Output end = builder->Op("AddV2", {builder->Op("Size", {context->input(0)}), one});
  return builder->Op("Range", {one, end, one});
}

Status GradientOfSliceGrad(GradientContext* context) {
  const Output places = context->builder()->Op(
      "SparseSliceGrad",
      {NumbersFromOne(context), context->input(1), context->input(2), context->input(3)});
  context->SetDx(0, SumOfGivenTo(context, places, context->dy(0)));
  return absl::OkStatus();
}

Status GradientOfAddGrad(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Node* places = builder->NodeOf("SparseAddGrad", {NumbersFromOne(context), context->input(1),
                                                         context->input(2), context->input(3)});
  const Output of_a = SumOfGivenTo(context, OutputOf(places, 0), context->dy(0));
  const Output of_b = SumOfGivenTo(context, OutputOf(places, 1), context->dy(1));
  context->SetDx(0, builder->Op("AddV2", {of_a, of_b}));
  return absl::OkStatus();
}

Status FillEmptyRowsGradient(GradientContext* context) {
  const Node* gradients =
      context->builder()->NodeOf("SparseFillEmptyRowsGrad", {context->output(3), context->dy(1)});
  context->SetDx(1, OutputOf(gradients, 0));
  context->SetDx(3, OutputOf(gradients, 1));
  return absl::OkStatus();
}

// Elements of rows that were empty are the default value.
Status GradientOfFillGrad(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output places = context->input(0);
  const Output size = builder->Op("Size", {context->input(1)});
  const auto spread = [&](Output values) {
    return builder->Op("UnsortedSegmentSum", {values, places, size});
  };
  const DataType dtype = context->input(1).dtype();
  const Output counts = spread(builder->Op("OnesLike", {context->dy(0)}));
  // A place may be named more than once.
  const Output is_default = builder->Op("Equal", {counts, builder->ScalarOf(dtype, 0)});
  const Output of_default =
      builder->Op("Mul", {builder->Op("Cast", {is_default}, {{"DstT", dtype}}), context->dy(1)});
  context->SetDx(1, builder->Op("AddV2", {spread(context->dy(0)), of_default}));
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

// Both take the values where they are; of equal ones that of a. An element that is not there is 0.
Status ExtremeGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const bool is_maximum = context->call().op->name == "SparseSparseMaximum";
  std::vector<Output> inputs;
  for (int i = 0; i < context->num_inputs(); ++i) inputs.push_back(context->input(i));
  const Node* others =
      builder->NodeOf(is_maximum ? "SparseSparseMinimum" : "SparseSparseMaximum", inputs);
  // What elements of the result have at those of a and of b.
  const auto of_both = [&](Output values) {
    return builder->NodeOf("SparseAddGrad", {values, inputs[0], inputs[3], context->output(0)});
  };
  const Node* dy = of_both(context->dy(1));
  const Node* chosen = of_both(context->output(1));
  const Output other = OutputOf(of_both(OutputOf(others, 1)), 1);
  const auto masked = [&](Output gradient, Output mask) {
    const DataType dtype = inputs[1].dtype();
    return builder->Op("Mul", {gradient, builder->Op("Cast", {mask}, {{"DstT", dtype}})});
  };
  const Output from_a = builder->Op("Equal", {inputs[1], OutputOf(chosen, 0)});
  const Output is_b = builder->Op("Equal", {inputs[4], OutputOf(chosen, 1)});
  const Output from_b =
      builder->Op("LogicalAnd", {is_b, builder->Op("NotEqual", {inputs[4], other})});
  context->SetDx(1, masked(OutputOf(dy, 0), from_a));
  context->SetDx(4, masked(OutputOf(dy, 1), from_b));
  return absl::OkStatus();
}

// A reduction, whose results are a dense tensor or, as sparse ones, indices, values and a shape.
class Reduction {
 public:
  explicit Reduction(GradientContext* context) : context_(context) {
    GraphBuilder* builder = context->builder();
    const Output shape = context->input(2);
    const Output rank = builder->Op("Size", {shape});
    const Output all = builder->Op("Range", {builder->Int32(0), rank, builder->Int32(1)});
    const Output axes = builder->Op(
        "FloorMod",
        {builder->Op("Reshape", {context->input(3), builder->Int32Vector({-1})}), rank});
    const auto with_axes = [&](Output others, Output reduced) {
      return OutputOf(builder->Variadic("DynamicStitch", {{all, axes}, {others, reduced}}), 0);
    };
    const Output axes64 = ToInt64(builder, axes);
    const Output is_kept =
        with_axes(builder->Op("OnesLike", {shape}), builder->Op("ZerosLike", {axes64}));
    kept_ = with_axes(shape, builder->Op("OnesLike", {axes64}));
    places_ = builder->Op("Mul", {context->input(0), is_kept});
  }

  // The output that has values.
  int output() const { return context_->num_outputs() == 1 ? 0 : 1; }
  // `values`, one for each result, as a dense tensor.
  Output Dense(Output values) const {
    if (output() == 0) return values;
    GraphBuilder* builder = context_->builder();
    return builder->Op("SparseToDense", {context_->output(0), context_->output(2), values,
                                         builder->ScalarOf(values.dtype(), 0)});
  }
  // What each element finds in a dense tensor at its result: that is at its index with 0 for the
  // reduced dimensions.
  Output OfElements(Output dense) const {
    GraphBuilder* builder = context_->builder();
    return builder->Op("GatherNd", {builder->Op("Reshape", {dense, kept_}), places_});
  }

 private:
  GradientContext* const context_;
  Output kept_;
  Output places_;
};

Status ReduceSumGradient(GradientContext* context) {
  const Reduction reduction(context);
  const Output sums = reduction.Dense(context->dy(reduction.output()));
  context->SetDx(1, reduction.OfElements(sums));
  return absl::OkStatus();
}

// The elements that are the greatest share the gradient.
Status ReduceMaxGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Reduction reduction(context);
  const Output values = context->input(1);
  const Output dy = reduction.Dense(context->dy(reduction.output()));
  const Output greatest = reduction.Dense(context->output(reduction.output()));
  const Output is_greatest = builder->Op("Equal", {values, reduction.OfElements(greatest)});
  const Output share = builder->Op("Cast", {is_greatest}, {{"DstT", values.dtype()}});
  const Output counts = builder->Op(
      "SparseReduceSum", {context->input(0), share, context->input(2), context->input(3)});
  const Output one = builder->ScalarOf(values.dtype(), 1);
  const Output count = builder->Op("Maximum", {reduction.OfElements(counts), one});
  const Output part = builder->Op("RealDiv", {reduction.OfElements(dy), count});
  context->SetDx(1, builder->Op("Mul", {part, share}));
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
MILLSTREAM_GRADIENT("SparseSliceGrad", GradientOfSliceGrad);
MILLSTREAM_NOT_DIFFERENTIABLE("SparseConcat");
MILLSTREAM_GRADIENT("SparseSplit", SplitGradient);
MILLSTREAM_GRADIENT("SparseFillEmptyRows", FillEmptyRowsGradient);
MILLSTREAM_GRADIENT("SparseFillEmptyRowsGrad", GradientOfFillGrad);
MILLSTREAM_GRADIENT("SparseAdd", AddGradient);
MILLSTREAM_GRADIENT("SparseAddGrad", GradientOfAddGrad);
MILLSTREAM_GRADIENT("SparseSparseMaximum", ExtremeGradient);
MILLSTREAM_GRADIENT("SparseSparseMinimum", ExtremeGradient);
MILLSTREAM_GRADIENT("SparseTensorDenseAdd", DenseAddGradient);
MILLSTREAM_GRADIENT("SparseReduceSum", ReduceSumGradient);
MILLSTREAM_GRADIENT("SparseReduceSumSparse", ReduceSumGradient);
MILLSTREAM_GRADIENT("SparseReduceMax", ReduceMaxGradient);
MILLSTREAM_GRADIENT("SparseReduceMaxSparse", ReduceMaxGradient);
MILLSTREAM_GRADIENT("SparseDenseCwiseAdd", CwiseAddGradient);
MILLSTREAM_GRADIENT("SparseDenseCwiseMul", CwiseMulGradient);
MILLSTREAM_GRADIENT("SparseDenseCwiseDiv", CwiseDivGradient);
MILLSTREAM_GRADIENT("SparseSoftmax", SoftmaxGradient);
MILLSTREAM_GRADIENT("SparseTensorDenseMatMul", MatMulGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("SparseReshape");

}  // namespace
}  // namespace millstream
