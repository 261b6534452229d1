// Ops that put tensors together along an axis, and take them apart.
#include <optional>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// `shape` with every dimension unknown: all that is left when the axis is not known.
PartialShape RankOnly(const PartialShape& shape) {
  return shape.known_rank() ? PartialShape::UnknownOfRank(shape.rank()) : PartialShape();
}

// Unknown too when no tensor could be that large.
std::optional<int64_t> AddSizes(std::optional<int64_t> a, int64_t b) {
  int64_t sum = 0;
  if (!a.has_value() || b == kUnknownDim || __builtin_add_overflow(*a, b, &sum)) {
    return std::nullopt;
  }
  return sum;
}

// ---- Concat, ConcatV2 and ParallelConcat ----

// The rank that inputs [begin, end), all but the axis, have; -1 when no rank is known.
StatusOr<int> ConcatRank(const ShapeContext& context, int begin, int end) {
  int rank = -1;
  for (int i = begin; i < end; ++i) {
    const PartialShape& shape = context.input(i);
    if (!shape.known_rank()) continue;
    MS_RETURN_IF_ERROR(context.WithRankAtLeast(i, 1).status());
    if (rank >= 0 && shape.rank() != rank) {
      return InvalidInput(context, i, "expected rank ", rank, " as before, got ", shape.ToString());
    }
    rank = shape.rank();
  }
  return rank;
}

Status ConcatShapeOf(ShapeContext* context, int begin, int end, int axis_input) {
  MS_ASSIGN_OR_RETURN(int rank, ConcatRank(*context, begin, end));
  MS_ASSIGN_OR_RETURN(std::optional<int> axis, AxisInput(*context, axis_input, rank));
  if (!axis.has_value()) {
    context->SetOutput(0, rank < 0 ? PartialShape() : PartialShape::UnknownOfRank(rank));
    return absl::OkStatus();
  }
  PartialShape output = PartialShape::UnknownOfRank(rank);
  std::optional<int64_t> joined = 0;
  for (int i = begin; i < end; ++i) {
    PartialShape shape = context->input(i);
    if (!shape.known_rank()) {
      joined.reset();
      continue;
    }
    joined = AddSizes(joined, shape.dim(*axis));
    shape.set_dim(*axis, kUnknownDim);
    StatusOr<PartialShape> merged = output.MergeWith(shape);
    if (!merged.ok()) return InputError(*context, i, merged.status());
    output = *std::move(merged);
  }
  output.set_dim(*axis, joined.value_or(kUnknownDim));
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

Status ConcatShape(ShapeContext* context) {
  return ConcatShapeOf(context, 1, context->num_inputs(), 0);
}
Status ConcatV2Shape(ShapeContext* context) {
  const int axis_input = context->num_inputs() - 1;
  return ConcatShapeOf(context, 0, axis_input, axis_input);
}

// Inputs: the axis, N tensors, and the ends of their ranges.
Status QuantizedConcatShape(ShapeContext* context) {
  const int count = (context->num_inputs() - 1) / 3;
  for (int i = 1 + count; i < context->num_inputs(); ++i) {
    MS_RETURN_IF_ERROR(context->WithRank(i, 0).status());
  }
  for (int i = 1; i < 3; ++i) context->SetOutput(i, PartialShape::Scalar());
  return ConcatShapeOf(context, 1, 1 + count, 0);
}

void ConcatValueOf(ShapeContext* context, int begin, int end) {
  PartialValue joined;
  for (int i = begin; i < end; ++i) {
    const std::optional<PartialValue> value = IndexElements(*context, i);
    if (!value.has_value()) return;
    joined.insert(joined.end(), value->begin(), value->end());
  }
  SetIndexValue(context, 0, std::move(joined));
}

void ConcatValue(ShapeContext* context) { ConcatValueOf(context, 1, context->num_inputs()); }
void ConcatV2Value(ShapeContext* context) { ConcatValueOf(context, 0, context->num_inputs() - 1); }

// The attribute says the shape of the output, of which each input is a row.
Status ParallelConcatShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape output, context->Attr<PartialShape>("shape"));
  if (!output.IsFullyKnown() || output.rank() == 0) {
    return InvalidAttr(*context, "shape", "expected a fully known shape of rank 1 or more, got ",
                       output.ToString());
  }
  if (output.dim(0) != context->num_inputs()) {
    return InvalidAttr(*context, "shape", "expected ", context->num_inputs(),
                       " rows, as N says, got ", output.ToString());
  }
  PartialShape row = output;
  row.set_dim(0, 1);
  for (int i = 0; i < context->num_inputs(); ++i) {
    const StatusOr<PartialShape> merged = context->input(i).MergeWith(row);
    if (!merged.ok()) return InputError(*context, i, merged.status());
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

// ---- Split and SplitV ----

Status SplitShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape piece, context->WithRankAtLeast(1, 1));
  MS_ASSIGN_OR_RETURN(std::optional<int> axis, AxisInput(*context, 0, piece.rank()));
  const int count = context->num_outputs();
  if (!axis.has_value()) {
    piece = RankOnly(piece);
  } else if (piece.dim(*axis) != kUnknownDim) {
    if (piece.dim(*axis) % count != 0) {
      return InvalidInput(*context, 1, "cannot split dimension ", *axis, " of ", piece.ToString(),
                          " into ", count, " equal pieces: their number should evenly divide it");
    }
    piece.set_dim(*axis, piece.dim(*axis) / count);
  }
  for (int i = 0; i < count; ++i) context->SetOutput(i, piece);
  return absl::OkStatus();
}

// The parts of a vector, one for each output.
void SplitValue(ShapeContext* context) {
  const std::optional<PartialValue> value = IndexElements(*context, 1);
  if (!value.has_value() || context->input(1).rank() != 1) return;
  const size_t count = context->num_outputs();
  if (value->size() % count != 0) return;
  const size_t size = value->size() / count;
  for (size_t i = 0; i < count; ++i) {
    const auto begin = value->begin() + i * size;
    SetIndexValue(context, static_cast<int>(i), PartialValue(begin, begin + size));
  }
}

// The sizes of SplitV's pieces as far as known, the -1 filled in from `total` where possible.
StatusOr<PartialValue> PieceSizes(const ShapeContext& context, PartialValue sizes, int64_t total) {
  int inferred = -1;
  bool all_others_known = true;
  int64_t sum = 0;
  for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
    if (!sizes[i].has_value()) {
      all_others_known = false;
    } else if (*sizes[i] >= 0) {
      if (__builtin_add_overflow(sum, *sizes[i], &sum)) {
        return InvalidInput(context, 1, "the sizes are too large, got ", *sizes[i], " at position ",
                            i);
      }
    } else if (*sizes[i] < -1 || inferred >= 0) {
      return InvalidInput(context, 1, "expected sizes that are not negative, one of them -1 at ",
                          "most, got ", *sizes[i], " at position ", i);
    } else {
      inferred = i;
    }
  }
  const bool fits = inferred >= 0 || !all_others_known ? sum <= total : sum == total;
  if (total != kUnknownDim && !fits) {
    return InvalidInput(context, 1, "the sizes add up to ", sum, ", but the dimension has ", total);
  }
  if (inferred >= 0) {
    const bool follows = all_others_known && total != kUnknownDim;
    sizes[inferred] = follows ? std::optional<int64_t>(total - sum) : std::nullopt;
  }
  return sizes;
}

Status SplitVShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape piece, context->WithRankAtLeast(0, 1));
  MS_ASSIGN_OR_RETURN(PartialShape sizes_shape, context->WithRank(1, 1));
  const int count = context->num_outputs();
  if (sizes_shape.dim(0) != kUnknownDim && sizes_shape.dim(0) != count) {
    return InvalidInput(*context, 1, "expected ", count, " sizes, as num_split says, got ",
                        sizes_shape.dim(0));
  }
  MS_ASSIGN_OR_RETURN(std::optional<int> axis, AxisInput(*context, 2, piece.rank()));
  const int64_t total = axis.has_value() ? piece.dim(*axis) : kUnknownDim;
  PartialValue sizes = IndexElements(*context, 1).value_or(PartialValue(count));
  MS_ASSIGN_OR_RETURN(sizes, PieceSizes(*context, std::move(sizes), total));
  if (!axis.has_value()) {
    for (int i = 0; i < count; ++i) context->SetOutput(i, RankOnly(piece));
    return absl::OkStatus();
  }
  for (int i = 0; i < count; ++i) {
    piece.set_dim(*axis, sizes[i].value_or(kUnknownDim));
    context->SetOutput(i, piece);
  }
  return absl::OkStatus();
}

// ---- Pack and Unpack ----

Status PackShape(ShapeContext* context) {
  PartialShape shape;
  for (int i = 0; i < context->num_inputs(); ++i) {
    StatusOr<PartialShape> merged = shape.MergeWith(context->input(i));
    if (!merged.ok()) return InputError(*context, i, merged.status());
    shape = *std::move(merged);
  }
  context->SetOutput(0, PartialShape());
  if (!shape.known_rank()) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(int64_t axis_attr, context->Attr<int64_t>("axis"));
  const StatusOr<int> axis = NormalizeAxis(axis_attr, shape.rank() + 1);
  if (!axis.ok()) return AttrError(*context, "axis", axis.status());
  PartialShape output = PartialShape::Scalar();
  for (int i = 0; i < shape.rank() + 1; ++i) {
    if (i == *axis) output.AddDim(context->num_inputs());
    if (i < shape.rank()) output.AddDim(shape.dim(i));
  }
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

// A vector is packed of scalars, also where the rank of some of them is not known.
void PackValue(ShapeContext* context) {
  if (context->output(0).rank() != 1) return;
  PartialValue packed;
  for (int i = 0; i < context->num_inputs(); ++i) {
    const std::optional<PartialValue> value = IndexElements(*context, i);
    packed.push_back(value.has_value() ? (*value)[0] : std::nullopt);
  }
  SetIndexValue(context, 0, std::move(packed));
}

Status UnpackShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape value, context->WithRankAtLeast(0, 1));
  MS_ASSIGN_OR_RETURN(int64_t axis_attr, context->Attr<int64_t>("axis"));
  const int count = context->num_outputs();
  PartialShape piece;
  if (value.known_rank()) {
    const StatusOr<int> axis = NormalizeAxis(axis_attr, value.rank());
    if (!axis.ok()) return AttrError(*context, "axis", axis.status());
    if (value.dim(*axis) != kUnknownDim && value.dim(*axis) != count) {
      return InvalidInput(*context, 0, "expected size ", count, ", as num says, in dimension ",
                          *axis, ", got ", value.ToString());
    }
    piece = PartialShape::Scalar();
    for (int i = 0; i < value.rank(); ++i) {
      if (i != *axis) piece.AddDim(value.dim(i));
    }
  }
  for (int i = 0; i < count; ++i) context->SetOutput(i, piece);
  return absl::OkStatus();
}

void UnpackValue(ShapeContext* context) {
  const std::optional<PartialValue> value = IndexElements(*context, 0);
  if (!value.has_value() || static_cast<int>(value->size()) != context->num_outputs()) return;
  for (int i = 0; i < context->num_outputs(); ++i) SetIndexValue(context, i, {(*value)[i]});
}

// ---- Definitions ----

MILLSTREAM_OP("QuantizedConcat")
    .Input("concat_dim: int32")
    .Input("values: N * T")
    .Input("input_mins: N * float")
    .Input("input_maxes: N * float")
    .Output("output: T")
    .Output("output_min: float")
    .Output("output_max: float")
    .Attr("N: int >= 2")
    .Attr("T: type")
    .Shape(QuantizedConcatShape)
    .Doc(R"(Joins quantized tensors along the dimension concat_dim.

input_mins and input_maxes are the ends of their ranges. The range of the output has all of them.)")
    .Example(R"(
>>> x = tf.bitcast(tf.constant([0, 255], tf.uint8), tf.quint8)
>>> joined, low, high = tf.quantized_concat(0, [x, x], [0.0, 0.0], [1.0, 3.0])
>>> tf.bitcast(joined, tf.uint8).eval().tolist()
[0, 85, 0, 255])");

MILLSTREAM_OP("ConcatV2")
    .Input("values: N * T")
    .Input("axis: Tidx")
    .Output("output: T")
    .Attr("N: int >= 2")
    .Attr("T: type")
    .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Speculatable()
    .Shape(ConcatV2Shape)
    .Value(ConcatV2Value)
    .Doc(R"(Joins tensors along one axis.

values have one rank, at least 1, and equal sizes but along axis, where the output's size is
the sum of theirs. axis is a scalar; negative values count from the end.)");

MILLSTREAM_OP("Concat")
    .Input("concat_dim: int32")
    .Input("values: N * T")
    .Output("output: T")
    .Attr("N: int >= 2")
    .Attr("T: type")
    .KeepsFinite()
    .Shape(ConcatShape)
    .Value(ConcatValue)
    .Doc(R"(Joins tensors along one axis, as ConcatV2 does, in old graphs.)");

MILLSTREAM_OP("ParallelConcat")
    .Input("values: N * T")
    .Output("output: T")
    .Attr("N: int >= 1")
    .Attr("T: type")
    .Attr("shape: shape")
    .KeepsFinite()
    .Shape(ParallelConcatShape)
    .Doc(R"(Joins tensors of one row to one of N rows, whose shape the program knows.

shape is that of the output; each of values has it too, but for its first dimension, 1.)");

MILLSTREAM_OP("Split")
    .Input("split_dim: int32")
    .Input("value: T")
    .Output("output: num_split * T")
    .Attr("num_split: int >= 1")
    .Attr("T: type")
    .KeepsFinite()
    .Speculatable()
    .Shape(SplitShape)
    .Value(SplitValue)
    .Doc(R"(Cuts a tensor into num_split equal pieces along one axis.

split_dim is a scalar; negative values count from the end. INVALID_ARGUMENT when the size of
that dimension is no multiple of num_split.)");

MILLSTREAM_OP("SplitV")
    .Input("value: T")
    .Input("size_splits: Tlen")
    .Input("split_dim: int32")
    .Output("output: num_split * T")
    .Attr("num_split: int >= 1")
    .Attr("T: type")
    .Attr(TypeAttr("Tlen", kIndexTypes, " = int64"))
    .KeepsFinite()
    .Speculatable()
    .Shape(SplitVShape)
    .Doc(R"(Cuts a tensor into pieces of given sizes along one axis.

size_splits is a vector of num_split sizes that add up to the size of dimension split_dim;
one of them may be -1 and takes what is left.)");

MILLSTREAM_OP("Pack")
    .Input("values: N * T")
    .Output("output: T")
    .Attr("N: int >= 1")
    .Attr("T: type")
    .Attr("axis: int = 0")
    .KeepsFinite()
    .Speculatable()
    .Shape(PackShape)
    .Value(PackValue)
    .Doc(R"(Stacks N tensors of one shape along a new axis.

axis is the place of the new dimension, of size N, in the output; negative values count from
the end.)");

MILLSTREAM_OP("Unpack")
    .Input("value: T")
    .Output("output: num * T")
    .Attr("num: int >= 0")
    .Attr("T: type")
    .Attr("axis: int = 0")
    .KeepsFinite()
    .Shape(UnpackShape)
    .Value(UnpackValue)
    .Doc(R"(Takes a tensor apart along one axis, which the outputs do not have.

num must be the size of that dimension; a negative axis counts from the end.)");

}  // namespace
}  // namespace millstream
