// Which nodes decide what runs, and how often.
#ifndef MILLSTREAM_CORE_GRAPH_CONTROL_FLOW_H_
#define MILLSTREAM_CORE_GRAPH_CONTROL_FLOW_H_

#include <cstdint>

#include "core/graph/graph.h"
#include "framework/op_def.h"

namespace millstream {

enum class ControlFlowKind : uint8_t {
  kNone,  // an op like others
  kSwitch,
  kMerge,
  kEnter,
  kExit,
  kNextIteration,
  kLoopCond,
  kControlTrigger,
};

ControlFlowKind KindOf(const OpDef& op);
inline ControlFlowKind KindOf(const Node& node) { return KindOf(node.op()); }

// Whether the dynamic executor alone knows what to do. A ControlTrigger among nodes that all run is
// a NoOp.
inline bool NeedsDynamicExecutor(ControlFlowKind kind) {
  return kind != ControlFlowKind::kNone && kind != ControlFlowKind::kControlTrigger;
}

// An edge that closes a loop. Such edges do not order nodes; without them a graph has no cycle.
inline bool IsBackEdge(const OpDef& from, const OpDef& to) {
  return KindOf(to) == ControlFlowKind::kMerge && KindOf(from) == ControlFlowKind::kNextIteration;
}
inline bool IsBackEdge(const Output& from, const Node& to) {
  return IsBackEdge(from.node->op(), to.op());
}

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_CONTROL_FLOW_H_
