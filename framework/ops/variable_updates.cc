#include "framework/ops/variable_updates.h"

#include <utility>

#include "framework/ops/gather_shape.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/variable_handles.h"

namespace millstream {
namespace {

// What is known of the one shape that `variables` inputs have, variables of the type T: the one at
// `first`, and others `stride` apart.
StatusOr<PartialShape> MergeVariables(const ShapeContext& context, int variables, int first = 0,
                                      int stride = 1) {
  MS_ASSIGN_OR_RETURN(DataType dtype, context.Attr<DataType>("T"));
  PartialShape shape;
  for (int k = 0; k < variables; ++k) {
    const int i = first + k * stride;
    MS_ASSIGN_OR_RETURN(PartialShape variable, VariableShape(context, i, dtype));
    StatusOr<PartialShape> merged = shape.MergeWith(variable);
    if (!merged.ok()) {
      return InvalidInput(context, i, "expected a variable of shape ", shape.ToString(),
                          ", got one of ", variable.ToString());
    }
    shape = *std::move(merged);
  }
  return shape;
}

}  // namespace

StatusOr<PartialShape> VariableShapeWithRows(const ShapeContext& context, DataType dtype) {
  MS_ASSIGN_OR_RETURN(PartialShape variable, VariableShape(context, 0, dtype));
  if (variable.rank() == 0) {
    return InvalidInput(context, 0, "expected a variable of rank 1 or above, got a scalar one");
  }
  return variable;
}

Status ScatterRowsShape(ShapeContext* context, DataType dtype) {
  MS_ASSIGN_OR_RETURN(PartialShape variable, VariableShapeWithRows(*context, dtype));
  if (context->num_outputs() > 0) context->SetOutput(0, variable);
  const PartialShape& indices = context->input(1);
  const PartialShape& updates = context->input(2);
  if (!variable.known_rank() || !indices.known_rank() || updates.rank() == 0) {
    return absl::OkStatus();
  }
  PartialShape expected = indices;
  for (int i = 1; i < variable.rank(); ++i) expected.AddDim(variable.dim(i));
  if (expected.IsCompatibleWith(updates)) return absl::OkStatus();
  return InvalidInput(*context, 2, "expected a scalar or the shape ", expected.ToString(),
                      ", a row of the variable ", variable.ToString(), " for each index, got ",
                      updates.ToString());
}

Status ScatterSlicesShape(ShapeContext* context, DataType dtype) {
  MS_ASSIGN_OR_RETURN(PartialShape variable, VariableShape(*context, 0, dtype));
  if (context->num_outputs() > 0) context->SetOutput(0, variable);
  return CheckSlices(*context, variable, 1, 2);
}

Status CountUpToShape(ShapeContext* context, DataType dtype) {
  MS_ASSIGN_OR_RETURN(PartialShape variable, VariableShape(*context, 0, dtype));
  if (variable.known_rank() && variable.rank() != 0) {
    return InvalidInput(*context, 0, "expected a scalar variable, got one of shape ",
                        variable.ToString());
  }
  context->SetOutput(0, PartialShape::Scalar());
  return absl::OkStatus();
}

Status OptimizerStepShape(ShapeContext* context, int variables, int gradient) {
  const StatusOr<int64_t> number = context->Attr<int64_t>("N");
  const int count = number.ok() ? static_cast<int>(*number) : 1;
  const int first_gradient = gradient + variables * (count - 1);
  for (int i = variables * count; i < context->num_inputs(); ++i) {
    const bool is_gradient = i >= first_gradient && i < first_gradient + count;
    if (!is_gradient) MS_RETURN_IF_ERROR(context->WithRank(i, 0).status());
  }
  for (int k = 0; k < count; ++k) {
    MS_ASSIGN_OR_RETURN(PartialShape shape, MergeVariables(*context, variables, k, count));
    MS_ASSIGN_OR_RETURN(shape, MergeWithVariable(*context, first_gradient + k, shape));
    if (context->num_outputs() > 0) context->SetOutput(0, std::move(shape));
  }
  return absl::OkStatus();
}

Status OptimizerRowsShape(ShapeContext* context, int variables, int gradient, int indices) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, MergeVariables(*context, variables));
  for (int i = variables; i < context->num_inputs(); ++i) {
    if (i != gradient && i != indices) MS_RETURN_IF_ERROR(context->WithRank(i, 0).status());
  }
  MS_ASSIGN_OR_RETURN(PartialShape places, context->WithRank(indices, 1));
  if (context->num_outputs() > 0) context->SetOutput(0, shape);
  if (!shape.known_rank()) return absl::OkStatus();
  if (shape.rank() == 0) {
    return InvalidInput(*context, 0, "expected a variable that has rows, got a scalar");
  }
  shape.set_dim(0, places.dim(0));
  if (shape.MergeWith(context->input(gradient)).ok()) return absl::OkStatus();
  return InvalidInput(*context, gradient, "expected a row of the variable for each of '",
                      context->InputName(indices), "', ", shape.ToString(), ", got ",
                      context->input(gradient).ToString());
}

}  // namespace millstream
