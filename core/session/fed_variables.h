// Feeds of variables: feeds of their handles, and of outputs that were references to them in an
// imported graph.
//
// A feed of a variable replaces its value for all nodes that read it. Each of these nodes has a
// read of its own, so the feed becomes a feed of each read.
#ifndef MILLSTREAM_CORE_SESSION_FED_VARIABLES_H_
#define MILLSTREAM_CORE_SESSION_FED_VARIABLES_H_

#include <vector>

#include "core/graph/graph.h"
#include "core/graph/prune.h"
#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

// Returns the dtype and shape that a value fed for `feed` must have. For the handle of a
// VarHandleOp these are those of its variable. INVALID_ARGUMENT for other handles.
StatusOr<HandleInfo> FedFacts(const Graph& graph, const Output& feed);

// The feeds inside a step, computed from the feeds of the caller.
struct ExpandedFeeds {
  std::vector<Output> outputs;
  std::vector<int> sources;  // outputs[i] gets the value of feed sources[i]
  // Those of `outputs` that are reads of a fed handle. The readers of such an output wait for the
  // control inputs of the read instead.
  std::vector<Output> reads;
};

// Computes them. If an output is fed both directly and by a variable, the direct feed counts. Of
// two feeds of one variable the last counts.
ExpandedFeeds ExpandFeeds(const Graph& graph, const std::vector<Output>& feeds);

// INVALID_ARGUMENT names a node of the step that uses the handle of a fed variable other than to
// read it: a fed value does not identify a variable that could be changed.
Status CheckFedVariables(const PrunedGraph& pruned, const std::vector<Output>& feeds);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_FED_VARIABLES_H_
