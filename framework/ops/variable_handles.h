// Checks of shape functions on inputs that are variables: handles, or references of old graphs.
#ifndef MILLSTREAM_FRAMEWORK_OPS_VARIABLE_HANDLES_H_
#define MILLSTREAM_FRAMEWORK_OPS_VARIABLE_HANDLES_H_

#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

// The shape of the variable that input i is the handle of; unknown when the handle's origin is.
// INVALID_ARGUMENT when the input is no scalar or the variable is not of `dtype`. An input that is
// a reference has the variable's own shape.
StatusOr<PartialShape> VariableShape(const ShapeContext& context, int i, DataType dtype);

// Merges `variable`, the shape of the variable of input 0, with the shape of input i, which must be
// equal. INVALID_ARGUMENT, with both shapes, if they differ.
StatusOr<PartialShape> MergeWithVariable(const ShapeContext& context, int i,
                                         const PartialShape& variable);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_VARIABLE_HANDLES_H_
