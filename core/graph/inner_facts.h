// The static shapes of what loops and conditionals compute.
#ifndef MILLSTREAM_CORE_GRAPH_INNER_FACTS_H_
#define MILLSTREAM_CORE_GRAPH_INNER_FACTS_H_

#include <vector>

#include "core/graph/inner_graph.h"
#include "framework/shape.h"
#include "framework/shape_context.h"

namespace millstream {

// The shapes that the variables have in all iterations, from the facts of the node's inputs: a
// dimension that changes from one iteration to the next is unknown. If inference fails, which is
// told where the iteration is compiled, all shapes are unknown. Thread-safe.
std::vector<PartialShape> LoopShapes(const LoopBody& loop, const std::vector<OutputFacts>& inputs);

// The shapes that the node's outputs have in both branches; unknown if inference fails for one.
// Thread-safe.
std::vector<PartialShape> BranchShapes(const BranchBody& branch,
                                       const std::vector<OutputFacts>& inputs);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_INNER_FACTS_H_
