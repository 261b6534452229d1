// The operations of a step that concern an array of tensors, and the arrays that have the gradients
// of its elements (TensorArrayGradV3).
#ifndef MILLSTREAM_CORE_PASSES_ARRAY_FAMILY_H_
#define MILLSTREAM_CORE_PASSES_ARRAY_FAMILY_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/passes/row_program.h"
#include "core/passes/step_ops.h"

namespace millstream {

// The uses of one array.
struct ArrayUsers {
  std::vector<int> ops;    // operations of the step that read or write elements
  std::vector<int> loops;  // whose bodies do
};

// An array, and the arrays with the gradients of its elements, by their names (GradientArray). The
// name of the array itself is "".
struct ArrayFamily {
  int made = -1;               // the TensorArrayV3
  std::vector<int> gradients;  // the operations that give arrays of the family
  std::map<std::string, ArrayUsers> users;
};

// The family of the array of floats that operation `made` makes. What the loop at `place` does is
// left out; -1 for no loop. None if an operation is not known.
std::optional<ArrayFamily> FindArrayFamily(const StepOps& ops, int made, int place);

// The TensorArrayV3 that makes the array of floats of a handle. If the handle is that of an array
// of gradients, the array whose gradients they are. `*gradient` gets the name of the handle's array
// in that family. -1 if it is not known.
int FindArray(const StepOps& ops, Output handle, std::string* gradient);

// True if operation i can be removed once other operations give its outputs: it need not run for an
// effect or for a control edge, names no kernel, and no output of it leaves the step.
bool MayRemoveOp(const StepOps& ops, int i);

// Removes what concerns arrays of the family of operation `made` that nothing reads. -1: no array.
void RemoveUnreadArrays(int made, StepOps* ops);

// True if all operations that read the flow read it as a flow: it is not needed where nothing else
// concerns its array.
bool IsOnlyFlow(const StepOps& ops, const Output& flow);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_ARRAY_FAMILY_H_
