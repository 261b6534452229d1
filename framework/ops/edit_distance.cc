// EditDistance.
#include <algorithm>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/sparse_inputs.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// Known if both shapes are constants.
Status EditDistanceShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape a, SparseInputShape(*context, 0));
  MS_ASSIGN_OR_RETURN(const PartialShape b, SparseInputShape(*context, 3));
  if (a.rank() == 0) return InvalidInput(*context, 2, "expected at least one dimension, got none");
  if (a.known_rank() && b.known_rank() && a.rank() != b.rank()) {
    return InvalidInput(*context, 5, "expected the rank of 'hypothesis_shape', ", a.rank(),
                        ", got ", b.rank());
  }
  context->SetOutput(0, PartialShape());
  if (!a.IsFullyKnown() || !b.IsFullyKnown()) return absl::OkStatus();
  PartialShape output = PartialShape::Scalar();
  for (int i = 0; i + 1 < a.rank(); ++i) output.AddDim(std::max(a.dim(i), b.dim(i)));
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

MILLSTREAM_OP("EditDistance")
    .Input("hypothesis_indices: int64")
    .Input("hypothesis_values: T")
    .Input("hypothesis_shape: int64")
    .Input("truth_indices: int64")
    .Input("truth_values: T")
    .Input("truth_shape: int64")
    .Output("output: float")
    .Attr("normalize: bool = true")
    .Attr("T: type")
    .Shape(EditDistanceShape)
    .Doc(R"(Counts the insertions, deletions and changes that make one sequence of another.

The sequences are in the last dimension of two sparse tensors (V. Levenshtein: Binary codes capable of
correcting deletions, insertions, and reversals, 1966). With normalize, the number is divided by the length of
the truth; that of an empty one is infinite, or 0 for an empty hypothesis.)");

}  // namespace
}  // namespace millstream
