// Cases of the ops that a plugin defines itself. They are drawn from the op's definition: nobody
// else knows the op.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_OWN_OP_CASES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_OWN_OP_CASES_H_

#include <vector>

#include "framework/op_def.h"
#include "framework/plugin/check/kernel_cases.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/shape.h"

namespace millstream::plugin_check {

// The op's definition when a plugin registered it; null for standard ops.
const OpDef* FindOwnOp(const KernelRegistration& kernel);

// Nodes with small inputs, the same in every run, that the op's shape function accepts. Attributes
// have their defaults and each of their allowed values, types are those of the kernel.
// UNIMPLEMENTED when an attribute or an input can have no value here, INVALID_ARGUMENT with the
// shape function's error when it accepts none.
StatusOr<std::vector<KernelCase>> DrawCases(const OpDef& op, const KernelRegistration& kernel);

// What the op's shape function says of a case; when not `shapes_known`, without the shapes of the
// inputs. Unknown shapes without a shape function.
StatusOr<std::vector<PartialShape>> InferOutputShapes(const OpDef& op,
                                                      const KernelCase& kernel_case,
                                                      bool shapes_known);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_OWN_OP_CASES_H_
