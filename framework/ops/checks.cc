// Ops that fail the step if values do not satisfy a condition.
#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status AssertShape(ShapeContext* context) {
  const StatusOr<PartialShape> condition = context->input(0).MergeWith(PartialShape::Scalar());
  return condition.ok() ? absl::OkStatus() : InputError(*context, 0, condition.status());
}

MILLSTREAM_OP("Assert")
    .Input("condition: bool")
    .Input("data: T")
    .Attr("T: list(type) >= 1")
    .Attr("summarize: int = 3")
    .Stateful()
    .Shape(AssertShape)
    .Doc(R"(Fails the step when a condition does not hold.

condition is a scalar. INVALID_ARGUMENT when it is false; the message shows the first
summarize elements of each tensor of data, all of them when it is negative.)");

MILLSTREAM_OP("CheckNumerics")
    .Input("tensor: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kRealFloatTypes))
    .Attr("message: string")
    .Stateful()
    .Shape(UnchangedShape)
    .Doc(R"(Passes on a tensor whose elements are all finite.

INVALID_ARGUMENT when an element is an infinity or no number; the error starts with message.)");

}  // namespace
}  // namespace millstream
