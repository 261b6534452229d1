// The part of a graph that a step needs.
#ifndef MILLSTREAM_CORE_GRAPH_PRUNE_H_
#define MILLSTREAM_CORE_GRAPH_PRUNE_H_

#include <vector>

#include "core/graph/graph.h"
#include "core/graph/step_signature.h"
#include "framework/status.h"

namespace millstream {

// A copy of what the graph's lock guards, so that building may go on while steps run.
struct PrunedGraph {
  std::vector<const Node*> nodes;  // every edge points forward, but for the back edges of loops
  // Control inputs of nodes[i], as nodes; those that the step does not need are not in `nodes`.
  std::vector<std::vector<const Node*>> controls;
  // Some node decides what runs, or how often, or may receive what is dead: the nodes need the
  // dynamic executor.
  bool has_control_flow = false;
};

// What reaches the fetches and targets, walking back over data and control edges and stopping at
// fed tensors. INVALID_ARGUMENT names a placeholder that is needed and not fed, a node on a
// cycle that is no loop, or a loop that was not closed.
// `transparent`: feeds that do not hide what their nodes wait for; the nodes that take them wait
// for it.
StatusOr<PrunedGraph> Prune(const Graph& graph, const StepSignature& signature,
                            const std::vector<Output>& transparent = {});

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_PRUNE_H_
