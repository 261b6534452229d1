// Gradients of ops that combine rows of the same segment: each row gets its part of the gradient of
// its segment.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/math_helpers.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// `per_row`, a tensor of the shape of the ids, input `ids`, in a shape that broadcasts over the
// data, input 0.
Output SpreadOverRows(GradientContext* context, Output per_row) {
  GraphBuilder* builder = context->builder();
  const Output ids = context->input(1);
  const PartialShape data = builder->ShapeOf(context->input(0));
  const PartialShape ids_shape = builder->ShapeOf(ids);
  if (data.known_rank() && ids_shape.known_rank()) {
    for (int i = ids_shape.rank(); i < data.rank(); ++i) {
      per_row = builder->Op("ExpandDims", {per_row, builder->Int32(-1)});
    }
    return per_row;
  }
  const Output more =
      builder->Op("Sub", {builder->Op("Rank", {context->input(0)}), builder->Op("Rank", {ids})});
  const Output ones = OnesVector(builder, more);
  return builder->Op("Reshape",
                     {per_row, ConcatVectors(builder, {builder->Op("Shape", {ids}), ones})});
}

Output CastTo(GradientContext* context, Output tensor, DataType dtype) {
  return context->builder()->Op("Cast", {tensor}, {{"DstT", dtype}});
}

// The rows of `segments` to which the rows of the data belong; those of negative ids get the first.
Output OfSegments(GradientContext* context, Output segments) {
  GraphBuilder* builder = context->builder();
  const Output ids = context->input(1);
  const Output zero = builder->ScalarOf(ids.dtype(), 0);
  return builder->Op("GatherV2",
                     {segments, builder->Op("Maximum", {ids, zero}), builder->Int32(0)});
}

// `rows`, of the shape of the data, with zeros for negative ids, whose rows are left out.
Output WithoutNegative(GradientContext* context, Output rows) {
  GraphBuilder* builder = context->builder();
  const Output ids = context->input(1);
  const Output zero = builder->ScalarOf(ids.dtype(), 0);
  const Output taken =
      CastTo(context, builder->Op("GreaterEqual", {ids, zero}), context->input(0).dtype());
  return builder->Op("Mul", {rows, SpreadOverRows(context, taken)});
}

// The first size of a tensor, a scalar.
Output RowCount(GradientContext* context, Output tensor) {
  GraphBuilder* builder = context->builder();
  return builder->Op(
      "Reshape", {ElementOf(builder, ShapeVector(builder, tensor), 0), builder->Int32Vector({})});
}

// The number of segments: input 2 of ops on unsorted ids.
Output SegmentCount(GradientContext* context) {
  return context->num_inputs() > 2 ? context->input(2) : RowCount(context, context->output(0));
}

// Sums over the segments of `rows`, of the shape of the data.
Output SumOfSegments(GradientContext* context, Output rows) {
  return context->builder()->Op("UnsortedSegmentSum",
                                {rows, context->input(1), SegmentCount(context)});
}

// Of the ops on sorted ids, and of those on unsorted ones.
Status SumGradient(GradientContext* context) {
  const Output rows = OfSegments(context, context->dy(0));
  context->SetDx(0, context->num_inputs() > 2 ? WithoutNegative(context, rows) : rows);
  return absl::OkStatus();
}

Status MeanGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output ones = CastTo(context, builder->Op("OnesLike", {context->input(1)}), dy.dtype());
  const Output counts = SumOfSegments(context, ones);
  const Output count = SpreadOverRows(context, OfSegments(context, counts));
  context->SetDx(0, builder->Op("RealDiv", {OfSegments(context, dy), count}));
  return absl::OkStatus();
}

// The elements that are the greatest or least share the gradient.
Status ExtremeGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output data = context->input(0);
  const Output is_extreme = builder->Op("Equal", {data, OfSegments(context, context->output(0))});
  const Output share = CastTo(context, is_extreme, data.dtype());
  const Output one = builder->ScalarOf(data.dtype(), 1);
  const Output counts = builder->Op("Maximum", {SumOfSegments(context, share), one});
  const Output parts = builder->Op("RealDiv", {context->dy(0), counts});
  const Output rows = builder->Op("Mul", {OfSegments(context, parts), share});
  context->SetDx(0, context->num_inputs() > 2 ? WithoutNegative(context, rows) : rows);
  return absl::OkStatus();
}

// The product divided by the element. One that is zero gets the product of the others, unless
// another one is zero as well. Where a slope is zero because one other element is, it is that
// element times the rest: so the gradient of the gradient is right, too.
Status ProductGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output data = context->input(0);
  const Output zeros = builder->Op("ZerosLike", {data});
  const Output is_zero = builder->Op("Equal", {data, zeros});
  const Output factors = builder->Op("Select", {is_zero, builder->Op("OnesLike", {data}), data});
  const Output product_of_others =
      builder->Op("UnsortedSegmentProd", {factors, context->input(1), SegmentCount(context)});
  const Output number_of_zeros =
      OfSegments(context, SumOfSegments(context, CastTo(context, is_zero, DataType::kInt32)));
  const Output others = OfSegments(context, product_of_others);
  const Output zero =
      OfSegments(context, SumOfSegments(context, builder->Op("Select", {is_zero, data, zeros})));
  // `value` where there are so many zeros, and times `one_more` where there is another one.
  const auto where_zeros_are = [&](int32_t count, Output value, Output one_more) {
    const auto are = [&](int32_t wanted) {
      return builder->Op("Equal", {number_of_zeros, builder->Int32(wanted)});
    };
    const Output further = builder->Op("Mul", {value, one_more});
    const Output else_zero = builder->Op("Select", {are(count + 1), further, zeros});
    return builder->Op("Select", {are(count), value, else_zero});
  };
  const Output other_zero = builder->Op("Sub", {zero, data});
  const Output at_zero = where_zeros_are(1, others, other_zero);
  const Output elsewhere = where_zeros_are(0, builder->Op("RealDiv", {others, factors}), zero);
  const Output slope = Conjugate(context, builder->Op("Select", {is_zero, at_zero, elsewhere}));
  const Output rows = builder->Op("Mul", {OfSegments(context, context->dy(0)), slope});
  context->SetDx(0, context->num_inputs() > 2 ? WithoutNegative(context, rows) : rows);
  return absl::OkStatus();
}

// ---- Rows that are chosen by index ----

Output AsInt32(GradientContext* context, Output tensor) {
  return tensor.dtype() == DataType::kInt32 ? tensor : CastTo(context, tensor, DataType::kInt32);
}

Status SparseSumGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output rows =
      builder->Op("GatherV2", {context->dy(0), context->input(2), builder->Int32(0)});
  context->SetDx(0, builder->Op("UnsortedSegmentSum",
                                {rows, context->input(1), RowCount(context, context->input(0))}));
  return absl::OkStatus();
}

Status SparseDividedGradient(GradientContext* context, const char* op) {
  const Output rows = AsInt32(context, RowCount(context, context->input(0)));
  context->SetDx(
      0, context->builder()->Op(op, {context->dy(0), context->input(1), context->input(2), rows}));
  return absl::OkStatus();
}
Status SparseMeanGradient(GradientContext* context) {
  return SparseDividedGradient(context, "SparseSegmentMeanGrad");
}
Status SparseSqrtNGradient(GradientContext* context) {
  return SparseDividedGradient(context, "SparseSegmentSqrtNGrad");
}

// The gradient of a gradient is the op itself, for as many segments as there were.
Status SparseGradGradient(GradientContext* context, const char* op) {
  const Output segments = RowCount(context, context->input(0));
  context->SetDx(0, context->builder()->Op(
                        op, {context->dy(0), context->input(1), context->input(2), segments}));
  return absl::OkStatus();
}
Status SparseMeanGradGradient(GradientContext* context) {
  return SparseGradGradient(context, "SparseSegmentMeanWithNumSegments");
}
Status SparseSqrtNGradGradient(GradientContext* context) {
  return SparseGradGradient(context, "SparseSegmentSqrtNWithNumSegments");
}

MILLSTREAM_GRADIENT("UnsortedSegmentSum", SumGradient);
MILLSTREAM_GRADIENT("UnsortedSegmentProd", ProductGradient);
MILLSTREAM_GRADIENT("UnsortedSegmentMax", ExtremeGradient);
MILLSTREAM_GRADIENT("UnsortedSegmentMin", ExtremeGradient);
MILLSTREAM_GRADIENT("SegmentSum", SumGradient);
MILLSTREAM_GRADIENT("SegmentMean", MeanGradient);
MILLSTREAM_GRADIENT("SegmentProd", ProductGradient);
MILLSTREAM_GRADIENT("SegmentMax", ExtremeGradient);
MILLSTREAM_GRADIENT("SegmentMin", ExtremeGradient);
MILLSTREAM_GRADIENT("SparseSegmentSum", SparseSumGradient);
MILLSTREAM_GRADIENT("SparseSegmentSumWithNumSegments", SparseSumGradient);
MILLSTREAM_GRADIENT("SparseSegmentMean", SparseMeanGradient);
MILLSTREAM_GRADIENT("SparseSegmentMeanWithNumSegments", SparseMeanGradient);
MILLSTREAM_GRADIENT("SparseSegmentSqrtN", SparseSqrtNGradient);
MILLSTREAM_GRADIENT("SparseSegmentSqrtNWithNumSegments", SparseSqrtNGradient);
MILLSTREAM_GRADIENT("SparseSegmentMeanGrad", SparseMeanGradGradient);
MILLSTREAM_GRADIENT("SparseSegmentSqrtNGrad", SparseSqrtNGradGradient);

}  // namespace
}  // namespace millstream
