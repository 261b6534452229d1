// Ops that combine rows of the same segment.
#include <optional>
#include <string>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// ---- Unsorted segments ----

Status UnsortedSegmentShape(ShapeContext* context) {
  const PartialShape& data = context->input(0);
  const PartialShape& ids = context->input(1);
  MS_ASSIGN_OR_RETURN(std::optional<int64_t> segments, IndexScalar(*context, 2));
  if (segments.has_value() && *segments < 0) {
    return InvalidInput(*context, 2, "must not be negative, got ", *segments);
  }
  context->SetOutput(0, PartialShape());
  if (!data.known_rank() || !ids.known_rank()) return absl::OkStatus();
  if (ids.rank() > data.rank()) {
    return InvalidInput(*context, 1, "expected leading dimensions of data ", data.ToString(),
                        ", got ", ids.ToString());
  }
  for (int i = 0; i < ids.rank(); ++i) {
    const StatusOr<int64_t> merged = context->MergeDim(data.dim(i), ids.dim(i));
    if (!merged.ok()) return InputError(*context, 1, merged.status());
  }
  PartialShape output = PartialShape::Vector(segments.value_or(kUnknownDim));
  for (int i = ids.rank(); i < data.rank(); ++i) output.AddDim(data.dim(i));
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

// ---- Sorted segments ----

// `rows` rows in the place of those of `data`, of rank 1 or more.
PartialShape WithRows(PartialShape data, int64_t rows) {
  if (data.known_rank()) data.set_dim(0, rows);
  return data;
}

// The last id tells how many segments there are.
Status SortedSegmentShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape data, context->WithRankAtLeast(0, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape ids, context->WithRank(1, 1));
  if (data.known_rank()) {
    const StatusOr<int64_t> rows = context->MergeDim(data.dim(0), ids.dim(0));
    if (!rows.ok()) return InputError(*context, 1, rows.status());
  }
  context->SetOutput(0, WithRows(std::move(data), kUnknownDim));
  return absl::OkStatus();
}

// ---- Rows that are chosen by index ----

// INVALID_ARGUMENT unless inputs 1 and 2 are vectors of one length.
Status CheckIndices(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(const PartialShape indices, context.WithRank(1, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape ids, context.WithRank(2, 1));
  const StatusOr<PartialShape> merged = indices.MergeWith(ids);
  return merged.ok() ? absl::OkStatus() : InputError(context, 2, merged.status());
}

Status SparseSegmentShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape data, context->WithRankAtLeast(0, 1));
  MS_RETURN_IF_ERROR(CheckIndices(*context));
  context->SetOutput(0, WithRows(std::move(data), kUnknownDim));
  return absl::OkStatus();
}

// Input 3 is the number of rows of the output.
Status SparseSegmentOfSizeShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape data, context->WithRankAtLeast(0, 1));
  MS_RETURN_IF_ERROR(CheckIndices(*context));
  MS_ASSIGN_OR_RETURN(const std::optional<int64_t> rows, IndexScalar(*context, 3));
  if (rows.has_value() && *rows < 0) {
    return InvalidInput(*context, 3, "must not be negative, got ", *rows);
  }
  context->SetOutput(0, WithRows(std::move(data), rows.value_or(kUnknownDim)));
  return absl::OkStatus();
}

// ---- Definitions ----

MILLSTREAM_OP("UnsortedSegmentSum")
    .Input("data: T")
    .Input("segment_ids: Tindices")
    .Input("num_segments: Tnumsegments")
    .Output("output: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr(TypeAttr("Tnumsegments", kIndexTypes, " = int32"))
    .Shape(UnsortedSegmentShape)
    .Doc(R"(Sums the parts of data that have the same id.

The shape of segment_ids is that of the leading dimensions of data, which num_segments
replaces in the output: row i is the sum of all slices with id i, zero when there is none.
Slices with a negative id are dropped; INVALID_ARGUMENT for an id of num_segments or above.)")
    .Example(R"(
>>> tf.unsorted_segment_sum([1, 2, 4], [1, 1, 0], 2).eval().tolist()
[4, 3])");

void Unsorted(OpSpec* spec, absl::string_view types) {
  spec->Input("data: T")
      .Input("segment_ids: Tindices")
      .Input("num_segments: Tnumsegments")
      .Output("output: T")
      .Attr(TypeAttr("T", types))
      .Attr(TypeAttr("Tindices", kIndexTypes))
      .Attr(TypeAttr("Tnumsegments", kIndexTypes, " = int32"))
      .Shape(UnsortedSegmentShape);
}
void UnsortedNumbers(OpSpec* spec) { Unsorted(spec, kNumberTypes); }
void UnsortedReals(OpSpec* spec) { Unsorted(spec, kRealTypes); }

MILLSTREAM_OP("UnsortedSegmentProd")
    .With(UnsortedNumbers)
    .Doc(R"(Multiplies the parts of data that have the same id.

Ids are those of UnsortedSegmentSum. The product of no parts is 1.)")
    .Example(R"(
>>> tf.unsorted_segment_prod([2, 3, 4], [1, 1, 0], 3).eval().tolist()
[4, 6, 1])");

MILLSTREAM_OP("UnsortedSegmentMax")
    .With(UnsortedReals)
    .Doc(R"(Finds the greatest of the parts of data that have the same id, element by element.

Ids are those of UnsortedSegmentSum. Where an id has no parts, it is the lowest finite number.)")
    .Example(R"(
>>> tf.unsorted_segment_max([2, 3, 4], [1, 1, 0], 2).eval().tolist()
[4, 3])");

MILLSTREAM_OP("UnsortedSegmentMin")
    .With(UnsortedReals)
    .Doc(R"(Finds the least of the parts of data that have the same id, element by element.

Ids are those of UnsortedSegmentSum. Where an id has no parts, it is the greatest finite number.)")
    .Example(R"(
>>> tf.unsorted_segment_min([2, 3, 4], [1, 1, 0], 2).eval().tolist()
[4, 2])");

void Sorted(OpSpec* spec, absl::string_view types) {
  spec->Input("data: T")
      .Input("segment_ids: Tindices")
      .Output("output: T")
      .Attr(TypeAttr("T", types))
      .Attr(TypeAttr("Tindices", kIndexTypes))
      .Shape(SortedSegmentShape);
}
void SortedNumbers(OpSpec* spec) { Sorted(spec, kNumberTypes); }
void SortedReals(OpSpec* spec) { Sorted(spec, kRealTypes); }

MILLSTREAM_OP("SegmentSum")
    .With(SortedNumbers)
    .Doc(R"(Sums the rows of data that have the same id.

segment_ids has an id for each row, none smaller than the one before. The output has as many rows as
the last id says; that of an id without rows is zero.)")
    .Example(R"(
>>> tf.segment_sum([1, 2, 4], [0, 0, 2]).eval().tolist()
[3, 0, 4])");

MILLSTREAM_OP("SegmentMean")
    .With(SortedNumbers)
    .Doc(R"(Averages the rows of data that have the same id.

Ids are those of SegmentSum. The row of an id without rows is zero. Means of integers are rounded
towards zero.)")
    .Example(R"(
>>> tf.segment_mean([1.0, 2.0, 4.0], [0, 0, 2]).eval().tolist()
[1.5, 0.0, 4.0])");

MILLSTREAM_OP("SegmentProd")
    .With(SortedNumbers)
    .Doc(R"(Multiplies the rows of data that have the same id.

Ids are those of SegmentSum. The row of an id without rows is one.)")
    .Example(R"(
>>> tf.segment_prod([2, 3, 4], [0, 0, 2]).eval().tolist()
[6, 1, 4])");

MILLSTREAM_OP("SegmentMax")
    .With(SortedReals)
    .Doc(R"(Finds the greatest of the rows of data that have the same id, element by element.

Ids are those of SegmentSum. The row of an id without rows is zero.)")
    .Example(R"(
>>> tf.segment_max([1, 2, 4], [0, 0, 2]).eval().tolist()
[2, 0, 4])");

MILLSTREAM_OP("SegmentMin")
    .With(SortedReals)
    .Doc(R"(Finds the least of the rows of data that have the same id, element by element.

Ids are those of SegmentSum. The row of an id without rows is zero.)")
    .Example(R"(
>>> tf.segment_min([1, 2, 4], [0, 0, 2]).eval().tolist()
[1, 0, 4])");

constexpr absl::string_view kFloatOrDouble = "{float, double}";

// The input num_segments and the output come between this and the attributes.
void ChoosesRows(OpSpec* spec) {
  spec->Input("data: T").Input("indices: Tidx").Input("segment_ids: int32");
}
void Sparse(OpSpec* spec, absl::string_view types) {
  spec->With(ChoosesRows)
      .Output("output: T")
      .Attr(TypeAttr("T", types))
      .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
      .Shape(SparseSegmentShape);
}
void SparseOfSize(OpSpec* spec, absl::string_view types) {
  spec->With(ChoosesRows)
      .Input("num_segments: Tnumsegments")
      .Output("output: T")
      .Attr(TypeAttr("T", types))
      .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
      .Attr(TypeAttr("Tnumsegments", kIndexTypes, " = int32"))
      .Shape(SparseSegmentOfSizeShape);
}
void SparseReals(OpSpec* spec) { Sparse(spec, kRealTypes); }
void SparseFloats(OpSpec* spec) { Sparse(spec, kFloatOrDouble); }
void SparseRealsOfSize(OpSpec* spec) { SparseOfSize(spec, kRealTypes); }
void SparseFloatsOfSize(OpSpec* spec) { SparseOfSize(spec, kFloatOrDouble); }

MILLSTREAM_OP("SparseSegmentSum")
    .With(SparseReals)
    .Doc(R"(Sums rows of data that are chosen by index and have the same id.

Row indices[k] has the id segment_ids[k], which is not smaller than the one before. The output has as
many rows as the last id says; that of an id without rows is zero.)")
    .Example(R"(
>>> tf.sparse_segment_sum([[1, 2], [3, 4], [5, 6]], [0, 2, 1], [0, 0, 1]).eval().tolist()
[[6, 8], [3, 4]])");

MILLSTREAM_OP("SparseSegmentSumWithNumSegments")
    .With(SparseRealsOfSize)
    .Doc(R"(Sums rows of data that are chosen by index, as SparseSegmentSum does.

The output has num_segments rows.)");

MILLSTREAM_OP("SparseSegmentMean")
    .With(SparseFloats)
    .Doc(R"(Averages rows of data that are chosen by index and have the same id.

Indices and ids are those of SparseSegmentSum.)");

MILLSTREAM_OP("SparseSegmentMeanWithNumSegments")
    .With(SparseFloatsOfSize)
    .Doc(R"(Averages rows of data that are chosen by index, as SparseSegmentMean does.

The output has num_segments rows.)");

MILLSTREAM_OP("SparseSegmentSqrtN")
    .With(SparseFloats)
    .Doc(R"(Sums rows of data that are chosen by index, divided by the root of their number.

Indices and ids are those of SparseSegmentSum.)");

MILLSTREAM_OP("SparseSegmentSqrtNWithNumSegments")
    .With(SparseFloatsOfSize)
    .Doc(R"(Sums rows of data, divided by the root of their number, as SparseSegmentSqrtN does.

The output has num_segments rows.)");

void SparseGradient(OpSpec* spec) {
  spec->Input("grad: T")
      .Input("indices: Tidx")
      .Input("segment_ids: int32")
      .Input("output_dim0: int32")
      .Output("output: T")
      .Attr(TypeAttr("T", kFloatOrDouble))
      .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
      .Shape(SparseSegmentOfSizeShape);
}

MILLSTREAM_OP("SparseSegmentMeanGrad")
    .With(SparseGradient)
    .Doc(R"(Computes the gradient of the data of SparseSegmentMean from that of its output.

output_dim0 is the number of rows of the data.)");

MILLSTREAM_OP("SparseSegmentSqrtNGrad")
    .With(SparseGradient)
    .Doc(R"(Computes the gradient of the data of SparseSegmentSqrtN from that of its output.

output_dim0 is the number of rows of the data.)");

}  // namespace
}  // namespace millstream
