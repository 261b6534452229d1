// Sparse tensors that are kept between steps, in maps under numbers.
#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/sparse_inputs.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status AddShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(SparseInputShape(*context, 0).status());
  return ScalarShape(context);
}

Status AddManyShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, SparseInputShape(*context, 0));
  if (shape.known_rank() && shape.rank() < 2) {
    return InvalidInput(*context, 2,
                        "Rank of input SparseTensor should be > 1, but saw rank: ", shape.rank());
  }
  context->SetOutput(0, PartialShape::Vector(shape.known_rank() ? shape.dim(0) : kUnknownDim));
  return absl::OkStatus();
}

Status TakeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 1).status());
  SetSparseOutput(context, 0, kUnknownDim);
  return absl::OkStatus();
}

void OnMap(OpSpec* spec) {
  spec->Attr("container: string = \"\"").Attr("shared_name: string = \"\"").Stateful();
}

void OfSparse(OpSpec* spec) {
  spec->Input("sparse_indices: int64").Input("sparse_values: T").Input("sparse_shape: int64");
}

MILLSTREAM_OP("AddSparseToTensorsMap")
    .With(OfSparse)
    .Output("sparse_handle: int64")
    .Attr("T: type")
    .With(OnMap)
    .Shape(AddShape)
    .Doc(R"(Keeps a sparse tensor in a map, and gives its number there.

The map is that of shared_name in the container, or of the node's name.)");

MILLSTREAM_OP("AddManySparseToTensorsMap")
    .With(OfSparse)
    .Output("sparse_handles: int64")
    .Attr("T: type")
    .With(OnMap)
    .Shape(AddManyShape)
    .Doc(R"(Keeps each row of a sparse tensor in a map, and gives their numbers there.

The map is that of AddSparseToTensorsMap.)");

MILLSTREAM_OP("TakeManySparseFromTensorsMap")
    .Input("sparse_handles: int64")
    .Output("sparse_indices: int64")
    .Output("sparse_values: dtype")
    .Output("sparse_shape: int64")
    .Attr("dtype: type")
    .With(OnMap)
    .Shape(TakeShape)
    .Doc(R"(Takes sparse tensors out of a map, as the rows of one.

shared_name is that of the nodes that added them, or the name of such a node. Sizes behind the first are the
largest. INVALID_ARGUMENT for a number that the map does not have, and for tensors of different ranks.)");

}  // namespace
}  // namespace millstream
