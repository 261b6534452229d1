// Ops that make numbers at equal distances, find numbers among sorted ones, and count them in bins.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// Output 0 is a vector of as many elements as scalar input i says, `least` or more.
Status VectorOfInput(ShapeContext* context, int i, int64_t least) {
  MS_ASSIGN_OR_RETURN(const std::optional<int64_t> size, IndexScalar(*context, i));
  if (size.has_value() && *size < least) {
    return InvalidInput(*context, i, "expected ", least, " or more, got ", *size);
  }
  context->SetOutput(0, PartialShape::Vector(size.value_or(kUnknownDim)));
  return absl::OkStatus();
}

Status LinSpaceShape(ShapeContext* context) {
  for (int i = 0; i < 2; ++i) MS_RETURN_IF_ERROR(context->WithRank(i, 0).status());
  return VectorOfInput(context, 2, 1);
}

Status UnravelIndexShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape indices, context->WithRankAtMost(0, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape dims, context->WithRank(1, 1));
  context->SetOutput(0, PartialShape());
  if (!indices.known_rank()) return absl::OkStatus();
  PartialShape shape = dims;
  if (indices.rank() == 1) shape.AddDim(indices.dim(0));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// Each row of values is looked up in a row of sorted_inputs.
Status BoundShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape sorted, context->WithRank(0, 2));
  MS_ASSIGN_OR_RETURN(PartialShape values, context->WithRank(1, 2));
  const StatusOr<int64_t> rows = context->MergeDim(sorted.dim(0), values.dim(0));
  if (!rows.ok()) return InputError(*context, 1, rows.status());
  values.set_dim(0, *rows);
  context->SetOutput(0, std::move(values));
  return absl::OkStatus();
}

Status BucketizeShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const std::vector<float> boundaries,
                      context->Attr<std::vector<float>>("boundaries"));
  for (size_t i = 1; i < boundaries.size(); ++i) {
    if (boundaries[i] >= boundaries[i - 1]) continue;
    return InvalidAttr(*context, "boundaries", "Expected sorted boundaries, got ", boundaries[i],
                       " after ", boundaries[i - 1]);
  }
  return UnchangedShape(context);
}

// There are no weights, or one for each number.
Status BincountShape(ShapeContext* context) {
  const PartialShape& weights = context->input(2);
  if (weights.num_elements() != kUnknownDim && weights.num_elements() != 0) {
    const StatusOr<PartialShape> merged = weights.MergeWith(context->input(0));
    if (!merged.ok()) return InputError(*context, 2, merged.status());
  }
  return VectorOfInput(context, 1, 0);
}

Status HistogramShape(ShapeContext* context) {
  const StatusOr<PartialShape> range = context->input(1).MergeWith(PartialShape::Vector(2));
  if (!range.ok()) return InputError(*context, 1, range.status());
  return VectorOfInput(context, 2, 1);
}

MILLSTREAM_OP("LinSpace")
    .Input("start: T")
    .Input("stop: T")
    .Input("num: Tidx")
    .Output("output: T")
    .Attr("T: {bfloat16, float, double}")
    .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
    .Shape(LinSpaceShape)
    .Doc(R"(Makes num numbers from start to stop, both included, at equal distances.

With one number it is start.)")
    .Example(R"(
>>> tf.linspace(1.0, 2.0, 5).eval()
array([1.  , 1.25, 1.5 , 1.75, 2.  ], dtype=float32))");

MILLSTREAM_OP("UnravelIndex")
    .Input("indices: Tidx")
    .Input("dims: Tidx")
    .Output("output: Tidx")
    .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
    .Shape(UnravelIndexShape)
    .Doc(R"(Turns places in flat order into indices.

indices is a scalar or a vector of places in a tensor of shape dims. output has a row a dimension:
the index of each place along it. INVALID_ARGUMENT for a place that is not there.)")
    .Example(R"(
>>> tf.unravel_index([2, 5], [3, 2]).eval().tolist()
[[1, 2], [0, 1]])");

void FindsBounds(OpSpec* spec) {
  spec->Input("sorted_inputs: T")
      .Input("values: T")
      .Output("output: out_type")
      .Attr("T: type")
      .Attr(TypeAttr("out_type", kIndexTypes, " = int32"))
      .Shape(BoundShape);
}

MILLSTREAM_OP("LowerBound")
    .With(FindsBounds)
    .Doc(R"(Finds where values stand among sorted numbers, before those that equal them.

Both inputs are matrices. output has, for each number of a row of values, how many numbers of the
same row of sorted_inputs are less than it. Those must be in ascending order.)");

MILLSTREAM_OP("UpperBound")
    .With(FindsBounds)
    .Doc(R"(Finds where values stand among sorted numbers, behind those that equal them.

Both inputs are matrices. output has, for each number of a row of values, how many numbers of the
same row of sorted_inputs are not greater than it. Those must be in ascending order.)");

MILLSTREAM_OP("Bucketize")
    .Input("input: T")
    .Output("output: int32")
    .Attr("T: {int32, int64, float, double}")
    .Attr("boundaries: list(float)")
    .Shape(BucketizeShape)
    .Doc(R"(Numbers the intervals in which elements lie.

output is how many of boundaries, which must be in ascending order, are not greater than the
element.)");

MILLSTREAM_OP("Bincount")
    .Input("arr: int32")
    .Input("size: int32")
    .Input("weights: T")
    .Output("bins: T")
    .Attr("T: {int32, int64, float, double}")
    .Shape(BincountShape)
    .Doc(R"(Counts how often each number from 0 to size, exclusive, is in a tensor.

Where weights are given, of the shape of arr, they are added up in place of counts; an empty tensor
stands for none. Numbers from size on are left out; INVALID_ARGUMENT for a negative one.)");

MILLSTREAM_OP("HistogramFixedWidth")
    .Input("values: T")
    .Input("value_range: T")
    .Input("nbins: int32")
    .Output("out: dtype")
    .Attr("T: {int32, int64, float, double}")
    .Attr(TypeAttr("dtype", kIndexTypes, " = int32"))
    .Shape(HistogramShape)
    .Doc(R"(Counts the elements of a tensor in nbins bins of equal width.

The bins divide value_range, a vector of the least and the greatest value. What lies outside counts
in the first or the last bin. INVALID_ARGUMENT for a NaN, unless there is but one bin.)")
    .Example(R"(
>>> tf.histogram_fixed_width([-1.0, 0.5, 1.5, 4.0], [0.0, 2.0], nbins=2).eval()
array([2, 2], dtype=int32))");

}  // namespace
}  // namespace millstream
