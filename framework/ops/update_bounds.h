// Bounds of the results of updates, by interval arithmetic (R. E. Moore, "Interval Analysis",
// 1966), for OpSpec::UpdateBounds. If the bounds prove that an update is finite, numeric checks
// need not scan its result, nor copy the previous values.
#ifndef MILLSTREAM_FRAMEWORK_OPS_UPDATE_BOUNDS_H_
#define MILLSTREAM_FRAMEWORK_OPS_UPDATE_BOUNDS_H_

#include "framework/attr_value.h"
#include "framework/op_def.h"

namespace millstream {

// Of each: null for element types other than float and double, whose rounding the rules do not
// count, and for attributes that leave a variable among the inputs as it is.

// AssignAddVariableOp and AssignSubVariableOp; the type is the attribute dtype.
BoundsRule AssignmentBounds(const AttrMap& attrs);
// Optimizers' updates; the type is the attribute T.
BoundsRule GradientDescentBounds(const AttrMap& attrs);
BoundsRule MomentumBounds(const AttrMap& attrs);
BoundsRule AdagradBounds(const AttrMap& attrs);
BoundsRule AdamBounds(const AttrMap& attrs);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_UPDATE_BOUNDS_H_
