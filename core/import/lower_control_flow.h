// Expands nodes that choose among functions or repeat one (If, Case, While, For, MapDefun), or call
// one for several steps (BatchFunction).
//
// Such a node becomes Switches and Merges, in a loop with Enter, Exit and NextIteration, around
// calls of its functions, which import_functions.h expands. These nodes are hidden, as those of
// functions are. The node itself becomes an IdentityN of the results. A RemoteCall becomes a call
// on the device that it names. A BatchFunction becomes a Batch, a call that runs in the one step of
// a batch that has all tensors, and an Unbatch of each result.
#ifndef MILLSTREAM_CORE_IMPORT_LOWER_CONTROL_FLOW_H_
#define MILLSTREAM_CORE_IMPORT_LOWER_CONTROL_FLOW_H_

#include <string>
#include <vector>

#include "core/import/function_library.h"
#include "core/import/import_plan.h"

namespace millstream {

// True for If, StatelessIf, Case, While, StatelessWhile, For, MapDefun, RemoteCall and
// BatchFunction.
bool IsFunctionalControlFlow(const OpDef& op);

// The changes of a plan that LowerControlFlow makes.
class PlanEditor {
 public:
  virtual ~PlanEditor() = default;
  // REQUIRES: the reference is not used after nodes were added.
  virtual PlannedNode& node(int i) = 0;
  // Adds a hidden node of `owner`, named below it, and returns its number.
  virtual StatusOr<int> AddHidden(int owner, const std::string& name, const char* op, AttrMap attrs,
                                  std::vector<PlannedInput> inputs,
                                  std::vector<PlannedInput> control_inputs) = 0;
  // FunctionLibrary::Bind.
  virtual StatusOr<BoundFunction> Bind(const FunctionRef& function) = 0;
  // Makes `owner` give `results`, after `effects`. An export writes it as it came.
  virtual Status Become(int owner, const DataTypeList& types, std::vector<PlannedInput> results,
                        std::vector<PlannedInput> effects) = 0;
};

// REQUIRES: IsFunctionalControlFlow(*editor->node(owner).op). Errors: those of ExpandCalls.
Status LowerControlFlow(int owner, PlanEditor* editor);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_LOWER_CONTROL_FLOW_H_
