// The part of a graph that a step needs.
#ifndef MILLSTREAM_CORE_GRAPH_PRUNE_H_
#define MILLSTREAM_CORE_GRAPH_PRUNE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/graph/graph.h"
#include "core/graph/step_signature.h"
#include "framework/status.h"

namespace millstream {

struct BranchBody;
struct LoopBody;

// Where a node stands that is a copy of one of a loop, in a step in which the loop became its
// iterations.
struct NodeIteration {
  std::shared_ptr<const std::string> frame;  // the name of the loop's frame in the program
  int number = 0;                            // of the iteration
};
using NodeIterations = absl::flat_hash_map<const Node*, NodeIteration>;

// Adds the detail "loop" to an error of the node, if it is such a copy. `iterations` may be null.
Status WithNodeIteration(const Status& status, const NodeIterations* iterations, const Node* node);

// A copy of the members that the graph's lock guards, so that the graph may grow while steps run.
struct PrunedGraph {
  std::vector<const Node*> nodes;  // every edge points forward, except back edges of loops
  // The control inputs of nodes[i]. May include nodes that the step does not need.
  std::vector<std::vector<const Node*>> controls;
  // True if a node is a control flow op or may receive a dead tensor. Then the nodes need the
  // dynamic executor.
  bool has_control_flow = false;
  // What _Loop and _Branch nodes stand for.
  absl::flat_hash_map<const Node*, std::shared_ptr<const LoopBody>> loops;
  absl::flat_hash_map<const Node*, std::shared_ptr<const BranchBody>> branches;
  // Nodes of loops that became their iterations; null: there are none. Shapes that do not fit in
  // one are told when it runs, as in a loop: what the loop waits for may tell it in words of its
  // own.
  std::shared_ptr<NodeIterations> iterations;
};

// Finds the nodes that the fetches and targets need: walks back over data and control edges, and
// stops at fed tensors. INVALID_ARGUMENT names a placeholder that is needed and not fed, a node on
// a cycle that is no loop, or a loop without a back edge. Readers of the feeds `transparent` wait
// for the control inputs of the fed node instead.
StatusOr<PrunedGraph> Prune(const Graph& graph, const StepSignature& signature,
                            const std::vector<Output>& transparent = {});

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_PRUNE_H_
