// Ops on slices that index vectors name: the last dimension of their indices holds a place along
// each of the first dimensions of a tensor.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/gather_shape.h"
#include "framework/ops/index_values.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status GatherNdShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape output, SlicesShape(*context, context->input(0), 1));
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

Status ScatterNdShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape output, ShapeFromSizes(*context, 2));
  MS_RETURN_IF_ERROR(CheckSlices(*context, output, 0, 1));
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

Status TensorScatterShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckSlices(*context, context->input(0), 1, 2));
  context->SetOutput(0, context->input(0));
  return absl::OkStatus();
}

MILLSTREAM_OP("GatherNd")
    .Input("params: Tparams")
    .Input("indices: Tindices")
    .Output("output: Tparams")
    .Attr("Tparams: type")
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .KeepsFinite()
    .Shape(GatherNdShape)
    .Doc(R"(Takes the slices of params that index vectors name.

The last dimension of indices holds the vectors: n numbers name a place along each of the first n
dimensions of params, and so a slice of the others. In the output a slice stands for each vector.
INVALID_ARGUMENT for an index outside.)");

MILLSTREAM_OP("ScatterNd")
    .Input("indices: Tindices")
    .Input("updates: T")
    .Input("shape: Tindices")
    .Output("output: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Shape(ScatterNdShape)
    .Doc(R"(Adds updates to slices of a tensor of zeros of a shape.

The last dimension of indices holds index vectors, as for GatherNd, and updates a slice for each of
them. A slice that is named several times receives every update, in their order; of bool, true if
one of them is. INVALID_ARGUMENT for an index outside.)");

void TensorScatterArguments(OpSpec* spec) {
  (*spec)
      .Input("tensor: T")
      .Input("indices: Tindices")
      .Input("updates: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr(TypeAttr("Tindices", kIndexTypes))
      .Shape(TensorScatterShape);
}

MILLSTREAM_OP("TensorScatterUpdate")
    .With(TensorScatterArguments)
    .KeepsFinite()
    .Doc(R"(Puts updates in the place of slices of a tensor.

The output is tensor elsewhere. The last dimension of indices holds index vectors, as for GatherNd,
and updates a slice for each of them. Of several updates of a slice the last one counts.
INVALID_ARGUMENT for an index outside.)");

MILLSTREAM_OP("TensorScatterAdd")
    .With(TensorScatterArguments)
    .Doc(R"(Adds updates to slices of a tensor.

As TensorScatterUpdate, but a slice that is named several times receives every update, in their
order.)");

MILLSTREAM_OP("TensorScatterSub")
    .With(TensorScatterArguments)
    .Doc(R"(Subtracts updates from slices of a tensor.

As TensorScatterUpdate, but a slice that is named several times loses every update, in their
order.)");

MILLSTREAM_OP("ScatterNdNonAliasingAdd")
    .Input("input: T")
    .Input("indices: Tindices")
    .Input("updates: T")
    .Output("output: T")
    .Attr(TypeAttr("T", kNumbersAndBool))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Shape(TensorScatterShape)
    .Doc(R"(Adds updates to slices of a tensor, as TensorScatterAdd.)");

}  // namespace
}  // namespace millstream
