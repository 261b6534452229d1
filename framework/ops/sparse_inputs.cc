#include "framework/ops/sparse_inputs.h"

#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"

namespace millstream {

StatusOr<PartialShape> SparsePartsShape(const ShapeContext& context, int indices, int values,
                                        int shape) {
  MS_ASSIGN_OR_RETURN(const PartialShape places, context.WithRank(indices, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape elements, context.WithRank(values, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape sizes, context.WithRank(shape, 1));
  if (!context.MergeDim(places.dim(0), elements.dim(0)).ok()) {
    return InvalidInput(context, values, UnequalDims(places.dim(0), elements.dim(0)),
                        "expected an element for each row of '", context.InputName(indices), "' ",
                        places.ToString(), ", got ", elements.ToString());
  }
  const StatusOr<int64_t> rank = context.MergeDim(places.dim(1), sizes.dim(0));
  if (!rank.ok()) {
    return InvalidInput(context, shape, UnequalDims(places.dim(1), sizes.dim(0)),
                        "expected as many sizes as the rows of '", context.InputName(indices), "' ",
                        places.ToString(), " have numbers, got ", sizes.ToString());
  }
  MS_ASSIGN_OR_RETURN(PartialShape known, ShapeFromSizes(context, shape));
  if (known.known_rank()) return known;
  if (*rank == kUnknownDim) return PartialShape();
  MS_RETURN_IF_ERROR(CheckEntryCount(context, shape, *rank));
  return PartialShape::UnknownOfRank(static_cast<int>(*rank));
}

StatusOr<PartialShape> SparseInputShape(const ShapeContext& context, int first) {
  return SparsePartsShape(context, first, first + 1, first + 2);
}

void SetSparseOutput(ShapeContext* context, int first, int64_t rank, int64_t count) {
  context->SetOutput(first, PartialShape::Matrix(count, rank));
  context->SetOutput(first + 1, PartialShape::Vector(count));
  context->SetOutput(first + 2, PartialShape::Vector(rank));
}

}  // namespace millstream
