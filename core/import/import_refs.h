// Rewrites graphs that use references to variables (VariableV2, Assign, ...) and to queues and the
// like (FIFOQueue, QueueEnqueue, ...) to resource handles.
//
// The runtime has no references. An import with references is rewritten after it is checked:
//  - A variable `v` becomes a handle, which is a new hidden node. `v` itself becomes a read of it,
//    so that `v:0` is the variable's value.
//  - An op `a` that changes a variable and passes the reference on becomes a hidden node of the
//    corresponding op on handles (AssignVariableOp for Assign, ResourceScatterAdd for ScatterAdd).
//    `a` becomes a read of the variable after it.
//  - Every other input that was a reference gets a read of its own. It runs after the control
//    inputs of the node that reads it, and after the write whose result it is. A feed of the
//    referenced output feeds this read (core/session/fed_variables.h).
//  - An array becomes its name itself (TensorArrayV2 for TensorArray).
//  - A queue becomes a handle itself, and the ops that take it become those on handles
//    (QueueEnqueueV2 for QueueEnqueue). An op without such a form, or with one that
//    takes other inputs, has an internal one (_BarrierClose for BarrierClose).
//  - Control flow on references (RefSwitch, RefMerge, RefEnter, ...) becomes control flow on
//    handles. The named node becomes the same control flow on values.
// The ImportedNode of each new node has the original form, for errors and export.
#ifndef MILLSTREAM_CORE_IMPORT_IMPORT_REFS_H_
#define MILLSTREAM_CORE_IMPORT_IMPORT_REFS_H_

#include "core/import/import_plan.h"

namespace millstream {

// Rewrites a plan. Adds nodes after those of the GraphDef and keeps the order valid. The caller
// must call CheckTypesAndShapes again. INVALID_ARGUMENT if an input must be a reference and is a
// tensor.
// REQUIRES: OrderNodes and CheckTypesAndShapes were called for the plan.
Status RewriteReferences(const Graph& graph, ImportPlan* plan);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_IMPORT_REFS_H_
