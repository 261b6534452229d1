// Calls of functions, expanded as a graph is imported.
//
// The nodes of a function's body become nodes of the graph, once for each call: they are named
// "CALL/NODE", the path of the instance, so that the state of a kernel belongs to one instance. The
// call becomes an IdentityN of the body's results. The body's nodes are hidden, and an export
// writes the call as it came (ImportedNode). A function may call others, but not itself.
#ifndef MILLSTREAM_CORE_IMPORT_IMPORT_FUNCTIONS_H_
#define MILLSTREAM_CORE_IMPORT_IMPORT_FUNCTIONS_H_

#include "core/import/function_library.h"
#include "core/import/import_budget.h"
#include "core/import/import_plan.h"

namespace millstream {

// Whether a node of this op calls a function of the library.
bool IsCall(const OpDef& op);

// Makes `node` a call of the function that `def` has in the place of an op, as graphs of version 1
// say it. NOT_FOUND, INVALID_ARGUMENT: see FunctionLibrary::Bind.
Status PlanCallByName(const proto::NodeDef& def, const FunctionLibrary& library, PlannedNode* node);

// Expands the calls of a plan that is not in order yet; adds nodes behind those of the GraphDef.
// Does nothing to a plan without calls. NOT_FOUND for a function or op that is not there,
// INVALID_ARGUMENT for a body that cannot be read, UNIMPLEMENTED for a function that calls itself,
// RESOURCE_EXHAUSTED beyond the budget.
Status ExpandCalls(const Graph& graph, const FunctionLibrary& library, ImportPlan* plan,
                   ImportBudget* budget);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_IMPORT_FUNCTIONS_H_
