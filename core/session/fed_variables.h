// Feeds of variables: of their handles, and of outputs that were references to them in an imported
// graph.
//
// A feed of a variable replaces its value for whoever takes it. Each of those has a read of its
// own, so that it is the reads that are fed, every one of them.
#ifndef MILLSTREAM_CORE_SESSION_FED_VARIABLES_H_
#define MILLSTREAM_CORE_SESSION_FED_VARIABLES_H_

#include <vector>

#include "core/graph/graph.h"
#include "core/graph/prune.h"
#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

// What a value that is fed for `feed` must be: of a handle that a VarHandleOp gives, as its
// variable. INVALID_ARGUMENT for other handles.
StatusOr<HandleInfo> FedFacts(const Graph& graph, const Output& feed);

// What is fed in a step that is given values for some outputs.
struct ExpandedFeeds {
  std::vector<Output> outputs;
  std::vector<int> sources;  // outputs[i] gets the value of feed sources[i]
  // Those of the outputs that are fed for a handle. What the read would have waited for, who takes
  // its value waits for.
  std::vector<Output> reads;
};

// An output that is fed itself is fed nothing else. Of two feeds of one variable the last counts.
ExpandedFeeds ExpandFeeds(const Graph& graph, const std::vector<Output>& feeds);

// INVALID_ARGUMENT names a node of the step that works on one of the fed variables itself, to
// change it or to pass it on: a value does not tell which variable that is.
Status CheckFedVariables(const PrunedGraph& pruned, const std::vector<Output>& feeds);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_FED_VARIABLES_H_
