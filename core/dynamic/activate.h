// What every node does at its end: the nodes that waited for it become ready. Inline, because the
// cost of a node of the dynamic executor is that of such calls.
#ifndef MILLSTREAM_CORE_DYNAMIC_ACTIVATE_H_
#define MILLSTREAM_CORE_DYNAMIC_ACTIVATE_H_

#include "core/dynamic/dynamic_run.h"

namespace millstream {

inline void DynamicRun::MakeReady(uint32_t node, Iteration* iteration, bool is_dead) {
  ++iteration->outstanding;
  ++iteration->begun;
  state_->ready.Push({iteration, node, is_dead});
}

inline void DynamicRun::Activate(const WaitEdge& edge, Iteration* iteration, bool is_dead) {
  if (edge.merge_input != WaitEdge::kPlain) {
    ActivateMerge(edge, iteration, is_dead);
    return;
  }
  Pending& pending = iteration->pending[edge.local];
  if (is_dead) ++pending.dead;
  if (--pending.waits == 0) MakeReady(edge.node, iteration, pending.dead > 0);
}

inline void DynamicRun::ActivateAll(uint32_t first_edge, uint32_t count, Iteration* iteration,
                                    bool is_dead) {
  const WaitEdge* const edges = program_.edges.data() + first_edge;
  for (uint32_t i = 0; i < count; ++i) Activate(edges[i], iteration, is_dead);
}

inline void DynamicRun::ActivateOutputs(const NodeProgram& node, Iteration* iteration,
                                        bool is_dead) {
  for (uint32_t k = 0; k < node.num_outputs; ++k) {
    const OutputProgram& output = program_.outputs[node.first_output + k];
    ActivateAll(output.first_edge, output.num_edges, iteration, is_dead);
  }
}

// Activates all nodes that wait for an output of the node, or for its end.
inline void DynamicRun::ActivateNode(const NodeProgram& node, Iteration* iteration, bool is_dead) {
  ActivateOutputs(node, iteration, is_dead);
  ActivateAll(node.first_control_edge, node.num_control_edges, iteration, is_dead);
}

// A node of the iteration has run and passed on what it gave.
inline void DynamicRun::Finish(Iteration* iteration) {
  if (--iteration->outstanding == 0) RetireIterations(iteration->frame);
}

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DYNAMIC_ACTIVATE_H_
