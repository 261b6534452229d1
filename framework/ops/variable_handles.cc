#include "framework/ops/variable_handles.h"

#include "framework/ops/op_errors.h"

namespace millstream {

StatusOr<PartialShape> VariableShape(const ShapeContext& context, int i, DataType dtype) {
  if (context.input_type(i) != DataType::kResource) return context.input(i);
  MS_RETURN_IF_ERROR(context.WithRank(i, 0).status());
  const HandleInfo* handle = context.handle(i);
  if (handle == nullptr) return PartialShape();
  if (handle->dtype != DataType::kInvalid && handle->dtype != dtype) {
    return InvalidInput(context, i, "expected a variable of ", DataTypeName(dtype), ", got one of ",
                        DataTypeName(handle->dtype));
  }
  return handle->shape;
}

StatusOr<PartialShape> MergeWithVariable(const ShapeContext& context, int i,
                                         const PartialShape& variable) {
  StatusOr<PartialShape> merged = variable.MergeWith(context.input(i));
  if (merged.ok()) return merged;
  return InvalidInput(context, i, "expected the variable's shape, ", variable.ToString(), ", got ",
                      context.input(i).ToString());
}

}  // namespace millstream
