// Summaries: serialized Summary messages that event files hold.
#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status ScalarSummaryShape(ShapeContext* context) {
  const StatusOr<PartialShape> shape = context->input(0).MergeWith(context->input(1));
  if (!shape.ok()) return InputError(*context, 1, shape.status());
  context->SetOutput(0, PartialShape::Scalar());
  return absl::OkStatus();
}

MILLSTREAM_OP("ScalarSummary")
    .Input("tags: string")
    .Input("values: T")
    .Output("summary: string")
    .Attr(TypeAttr("T", kRealTypes))
    .Shape(ScalarSummaryShape)
    .Doc(R"(Makes a summary that gives each value the tag at the same place.

tags and values have one shape. The output is one serialized Summary.)");

MILLSTREAM_OP("MergeSummary")
    .Input("inputs: N * string")
    .Output("summary: string")
    .Attr("N: int >= 1")
    .Shape(ScalarShape)
    .Doc(R"(Joins serialized summaries into one.

inputs may have any shape. INVALID_ARGUMENT when a tag occurs twice, or for a string that is
no summary.)");

}  // namespace
}  // namespace millstream
