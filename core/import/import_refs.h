// Graphs that work on references to variables (VariableV2, Assign, ...), rewritten to handles.
//
// There are no references in the runtime. An import that has some is changed, once it is checked:
//  - A variable `v` becomes a handle, a new hidden node, and `v` itself reads it, so that `v:0` is
//    the variable's value.
//  - An op that changes a variable and passes the reference on, `a`, becomes a hidden node, its
//  twin
//    on handles (Assign is AssignVariableOp, ScatterAdd is ResourceScatterAdd), and `a` reads the
//    variable after it.
//  - Every other input that took a reference gets a read of its own, which runs after the control
//    inputs of the node that it is for, and after the write whose result it is. A feed of that
//    output feeds the read (core/session/fed_variables.h).
//  - Control flow on references (RefSwitch, RefMerge, RefEnter, ...) becomes the same on handles,
//    and the named node the same on values.
// An ImportedNode in each says what it was, for errors and export.
#ifndef MILLSTREAM_CORE_IMPORT_IMPORT_REFS_H_
#define MILLSTREAM_CORE_IMPORT_IMPORT_REFS_H_

#include "core/import/import_plan.h"

namespace millstream {

// REQUIRES: the plan is in order and checked. Adds nodes behind those of the GraphDef and keeps the
// order; signatures and facts must be found again afterwards. Does nothing to a plan without
// references. INVALID_ARGUMENT where a reference is expected and a tensor comes; UNIMPLEMENTED for
// a loop that passes a reference from one iteration to the next.
Status RewriteReferences(const Graph& graph, ImportPlan* plan);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_IMPORT_REFS_H_
