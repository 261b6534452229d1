// Unique, its forms along an axis and with counts, and ListDiff.
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

void SetCountShape(ShapeContext* context) {
  if (context->num_outputs() > 2) context->SetOutput(2, PartialShape::Vector(kUnknownDim));
}

Status UniqueShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape x, context->WithRank(0, 1));
  context->SetOutput(0, PartialShape::Vector(kUnknownDim));
  context->SetOutput(1, x);
  SetCountShape(context);
  return absl::OkStatus();
}

// The axis is a vector of one element, or of none for the elements of a vector.
Status UniqueV2Shape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape entries, context->WithRank(1, 1));
  if (entries.dim(0) == 0) return UniqueShape(context);
  if (entries.dim(0) > 1) {
    return InvalidInput(*context, 1, "expected one axis or none, got ", entries.dim(0));
  }
  MS_ASSIGN_OR_RETURN(PartialShape x, context->WithRankAtLeast(0, 1));
  context->SetOutput(1, PartialShape::Vector(kUnknownDim));
  SetCountShape(context);
  const std::optional<std::vector<int64_t>> axes = KnownIndexElements(*context, 1);
  if (x.known_rank() && axes.has_value() && axes->size() == 1) {
    const StatusOr<int> axis = NormalizeAxis((*axes)[0], x.rank());
    if (!axis.ok()) return InputError(*context, 1, axis.status());
    context->SetOutput(1, PartialShape::Vector(x.dim(*axis)));
    x.set_dim(*axis, kUnknownDim);
  } else if (x.known_rank()) {
    x = PartialShape::UnknownOfRank(x.rank());
  }
  context->SetOutput(0, std::move(x));
  return absl::OkStatus();
}

Status ListDiffShape(ShapeContext* context) {
  for (int i = 0; i < 2; ++i) {
    MS_RETURN_IF_ERROR(context->WithRank(i, 1).status());
    context->SetOutput(i, PartialShape::Vector(kUnknownDim));
  }
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

MILLSTREAM_OP("UniqueWithCounts")
    .Input("x: T")
    .Output("y: T")
    .Output("idx: out_idx")
    .Output("count: out_idx")
    .Attr("T: type")
    .Attr(TypeAttr("out_idx", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Shape(UniqueShape)
    .Doc(R"(Finds the different elements of a vector, and how often each comes.

y and idx are those of Unique; count[i] is how many elements of x are y[i].)")
    .Example(R"(
>>> y, idx, count = tf.unique_with_counts([7, 3, 7])
>>> y.eval(), count.eval()
(array([7, 3], dtype=int32), array([2, 1], dtype=int32)))");

// The output argument of the counts comes between these.
void AlongAxis(OpSpec* spec) {
  spec->Input("x: T").Input("axis: Taxis").Output("y: T").Output("idx: out_idx");
}
void AlongAxisAttrs(OpSpec* spec) {
  spec->Attr("T: type")
      .Attr(TypeAttr("Taxis", kIndexTypes, " = int64"))
      .Attr(TypeAttr("out_idx", kIndexTypes, " = int32"))
      .KeepsFinite()
      .Shape(UniqueV2Shape);
}

MILLSTREAM_OP("UniqueV2")
    .With(AlongAxis)
    .With(AlongAxisAttrs)
    .Doc(R"(Finds the different slices of a tensor along an axis.

axis is a vector of one element; an empty one stands for the only axis of a vector. y holds each
slice once, in the order in which they first come; slice i of x is slice idx[i] of y. Zeros of
either sign are equal, and a NaN equals nothing.)");

MILLSTREAM_OP("UniqueWithCountsV2")
    .With(AlongAxis)
    .Output("count: out_idx")
    .With(AlongAxisAttrs)
    .Doc(R"(Finds the different slices of a tensor along an axis, and how often each comes.

y and idx are those of UniqueV2; count[i] is how many slices of x are slice i of y.)");

MILLSTREAM_OP("ListDiff")
    .Input("x: T")
    .Input("y: T")
    .Output("out: T")
    .Output("idx: out_idx")
    .Attr("T: type")
    .Attr(TypeAttr("out_idx", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Shape(ListDiffShape)
    .Doc(R"(Finds the elements of a vector that another one lacks.

out holds the elements of x that are not in y, in their order; out[i] = x[idx[i]]. Zeros of
either sign are equal, and a NaN equals nothing.)")
    .Example(R"(
>>> out, idx = tf.setdiff1d([1, 2, 3, 4], [2, 4])
>>> out.eval(), idx.eval()
(array([1, 3], dtype=int32), array([0, 2], dtype=int32)))");

}  // namespace
}  // namespace millstream
