// The ops of control flow.
#ifndef MILLSTREAM_CORE_GRAPH_CONTROL_FLOW_H_
#define MILLSTREAM_CORE_GRAPH_CONTROL_FLOW_H_

#include <cstdint>

#include "core/graph/graph.h"
#include "framework/op_def.h"

namespace millstream {

enum class ControlFlowKind : uint8_t {
  kNone,  // not a control flow op
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

// True if only the dynamic executor can run the node. A ControlTrigger is a NoOp if no node is
// dead.
inline bool NeedsDynamicExecutor(ControlFlowKind kind) {
  return kind != ControlFlowKind::kNone && kind != ControlFlowKind::kControlTrigger;
}

// True for an edge that closes a loop. Back edges do not order nodes. Without them, a graph has no
// cycle.
inline bool IsBackEdge(const OpDef& from, const OpDef& to) {
  return KindOf(to) == ControlFlowKind::kMerge && KindOf(from) == ControlFlowKind::kNextIteration;
}
inline bool IsBackEdge(const Output& from, const Node& to) {
  return IsBackEdge(from.node->op(), to.op());
}

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_CONTROL_FLOW_H_
