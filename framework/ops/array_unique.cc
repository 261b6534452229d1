// Unique.
#include "framework/op_registry.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status UniqueShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape x, context->WithRank(0, 1));
  context->SetOutput(0, PartialShape::Vector(kUnknownDim));
  context->SetOutput(1, x);
  return absl::OkStatus();
}

MILLSTREAM_OP("Unique")
    .Input("x: T")
    .Output("y: T")
    .Output("idx: out_idx")
    .Attr("T: type")
    .Attr(TypeAttr("out_idx", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Shape(UniqueShape)
    .Doc(R"(Finds the different elements of a vector.

y holds each element of x once, in the order in which they first come; y[idx[i]] = x[i]. Zeros
of either sign are equal, and a NaN equals nothing.)")
    .Example(R"(
>>> y, idx = tf.unique([7, 3, 7])
>>> y.eval(), idx.eval()
(array([7, 3], dtype=int32), array([0, 1, 0], dtype=int32)))");

}  // namespace
}  // namespace millstream
