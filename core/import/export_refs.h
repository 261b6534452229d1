// How nodes are exported that work on imported references (import_refs.h), and were added later.
#ifndef MILLSTREAM_CORE_IMPORT_EXPORT_REFS_H_
#define MILLSTREAM_CORE_IMPORT_EXPORT_REFS_H_

#include <optional>

#include "core/graph/graph.h"
#include "framework/attr_value.h"
#include "framework/op_def.h"

namespace millstream {

struct ReferenceForm {
  const OpDef* op = nullptr;
  AttrMap attrs;
};

// The op that does outside, on references, what the node does on their handles: Assign for an
// AssignVariableOp. None if no handle of the node is a reference outside, or if no op does it: such
// as an update of a reference variable and a resource variable.
std::optional<ReferenceForm> ReferenceFormOf(const Node& node);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_EXPORT_REFS_H_
