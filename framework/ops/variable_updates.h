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

// An optimizer's inputs: `variables` variables, then scalars and, at `gradient`, the gradient. The
// variables and the gradient have one shape and the type of the attribute T. An output, if the op
// has one, is the first variable. Of an op with the attribute N, each variable and the gradient are
// N inputs, one beside the other, and the k-th of each have one shape; `gradient` is where it would
// be if N were 1.
Status OptimizerStepShape(ShapeContext* context, int variables, int gradient);

// The same for some rows of the variables: the gradient has a row for each element of the vector
// at `indices`.
Status OptimizerRowsShape(ShapeContext* context, int variables, int gradient, int indices);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_VARIABLE_UPDATES_H_
