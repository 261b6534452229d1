// Replaces the loops of a step that need no dynamic executor by nodes.
#ifndef MILLSTREAM_CORE_LOOPS_RAISE_LOOPS_H_
#define MILLSTREAM_CORE_LOOPS_RAISE_LOOPS_H_

#include <functional>
#include <memory>

#include "core/graph/graph.h"
#include "core/graph/prune.h"
#include "core/graph/step_signature.h"
#include "framework/status.h"

namespace millstream {

// A step in which nodes stand for loops: copies of the nodes that remain, and a _Loop for each such
// loop, whose body is in PrunedGraph::loops.
struct RaisedGraph {
  std::unique_ptr<Graph> graph;
  PrunedGraph pruned;
  StepSignature signature;  // in the order of the step's
};

// Null if no loop becomes a node: a loop with branches, with nodes that others see (feeds, fetches,
// targets), or with kernels that end after their call. `runs_at_once`: whether a node's kernel has
// done its work when its call returns. `joins_sums`: products that a loop adds up are computed for
// several iterations at once (LoopSum), and rounded in another order. `unrolls`: a loop of few
// iterations with products becomes its iterations (unroll_loops.h). REQUIRES: the step runs on one
// device; the program's graph outlives the result. INVALID_ARGUMENT if frames contradict each
// other.
StatusOr<std::unique_ptr<RaisedGraph>> RaiseLoops(
    const PrunedGraph& graph, const StepSignature& signature,
    const std::function<bool(const Node&)>& runs_at_once, bool joins_sums, bool unrolls);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_LOOPS_RAISE_LOOPS_H_
