// Expands calls of functions when a graph is imported.
//
// Each call adds the nodes of the function's body to the graph. They are named "CALL/NODE", the
// path of the instance, so that the state of a kernel belongs to one call. The call becomes an
// IdentityN of the body's results. The nodes of the body are hidden, and an export writes the
// original call (ImportedNode). A function may call other functions, but not itself. Nodes that
// choose among functions or repeat one become calls first (lower_control_flow.h). A gradient of a
// function is expanded to its nodes (lower_gradient.cc).
#ifndef MILLSTREAM_CORE_IMPORT_IMPORT_FUNCTIONS_H_
#define MILLSTREAM_CORE_IMPORT_IMPORT_FUNCTIONS_H_

#include "core/import/function_library.h"
#include "core/import/import_budget.h"
#include "core/import/import_plan.h"

namespace millstream {

// True if nodes of this op call a function of the library.
bool IsCall(const OpDef& op);

// Makes `node` a call of the function whose name `def` has as its op, the form of old graphs.
// Errors: see FunctionLibrary::Bind.
Status PlanCallByName(const proto::NodeDef& def, const FunctionLibrary& library, PlannedNode* node);

// Expands the calls of a plan, and adds nodes after those of the GraphDef. NOT_FOUND for an unknown
// function or op, INVALID_ARGUMENT for a malformed body, UNIMPLEMENTED for a function that calls
// itself, RESOURCE_EXHAUSTED if the budget is exceeded. REQUIRES: OrderNodes was not called for the
// plan yet.
Status ExpandCalls(const Graph& graph, const FunctionLibrary& library, const ImportOptions& options,
                   ImportPlan* plan, ImportBudget* budget);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_IMPORT_FUNCTIONS_H_
