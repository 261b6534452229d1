// Feeds of outputs that were references to variables in an imported graph.
//
// A feed of `v:0` replaces the value for whoever takes it. The import gave each of them a read of
// its own (core/import_refs.h), so that each of these reads is fed as well.
#ifndef MILLSTREAM_CORE_FED_REFERENCES_H_
#define MILLSTREAM_CORE_FED_REFERENCES_H_

#include <vector>

#include "core/graph.h"
#include "core/prune.h"
#include "framework/status.h"

namespace millstream {

struct FedReads {
  std::vector<Output> reads;
  std::vector<int> feeds;  // reads[i] gets the value of feed feeds[i]
};

FedReads FindFedReads(const Graph& graph, const std::vector<Output>& feeds);

// INVALID_ARGUMENT names a node of the step that takes one of `feeds` as a reference, to change the
// variable or to pass it on: a value does not tell which variable that is.
Status CheckFedReferences(const PrunedGraph& pruned, const std::vector<Output>& feeds);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_FED_REFERENCES_H_
