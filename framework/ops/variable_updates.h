// Shapes of ops that change variables in place, whether they take handles or references.
#ifndef MILLSTREAM_FRAMEWORK_OPS_VARIABLE_UPDATES_H_
#define MILLSTREAM_FRAMEWORK_OPS_VARIABLE_UPDATES_H_

#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

// The shape of the variable of input 0, of `dtype`, which has rows or is of unknown rank.
StatusOr<PartialShape> VariableShapeWithRows(const ShapeContext& context, DataType dtype);

// Input 0 is a variable of `dtype`, 1 the indices of rows, 2 the updates: a scalar for all rows, or
// a row for each index. An output, if the op has one, is the variable.
Status ScatterRowsShape(ShapeContext* context, DataType dtype);

// Input 0 is a variable of `dtype`, 1 index vectors, 2 a slice of the variable for each of them. An
// output, if the op has one, is the variable.
Status ScatterSlicesShape(ShapeContext* context, DataType dtype);

// Input 0 is a variable of `dtype`, a scalar; the output is its value.
Status CountUpToShape(ShapeContext* context, DataType dtype);

// The shape function of an optimizer's update. Its inputs are `variables` variables, then scalars
// and, at index `gradient`, the gradient. The variables and the gradient have the same shape and
// the type of the attribute T. An output, if the op has one, is the first variable. If the op has
// the attribute N, each variable and the gradient are N successive inputs, and the k-th of each
// have the same shape; `gradient` is the index for N = 1.
Status OptimizerStepShape(ShapeContext* context, int variables, int gradient);

// The same for some rows of the variables: the gradient has a row for each element of the vector
// at `indices`.
Status OptimizerRowsShape(ShapeContext* context, int variables, int gradient, int indices);

// The same as functions for OptimizerSpec::Shape.
template <int variables, int gradient>
Status StepShape(ShapeContext* context) {
  return OptimizerStepShape(context, variables, gradient);
}
template <int variables, int gradient, int indices>
Status RowsShape(ShapeContext* context) {
  return OptimizerRowsShape(context, variables, gradient, indices);
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_VARIABLE_UPDATES_H_
