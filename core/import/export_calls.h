// Which imported nodes are exported as the nodes of the bodies that they call (import_functions.h).
#ifndef MILLSTREAM_CORE_IMPORT_EXPORT_CALLS_H_
#define MILLSTREAM_CORE_IMPORT_EXPORT_CALLS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/graph/graph.h"

namespace millstream {

// True for a hidden node of what an imported node calls, chooses or repeats.
bool IsOfBody(const Node& node);

// The names of the imported nodes whose bodies have nodes in `nodes`.
absl::flat_hash_set<std::string> CallersOf(const std::vector<const Node*>& nodes);

// Those of `nodes`, all of the graph, of which other nodes read or await a node of the body, as the
// gradient of a conditional does. An imported node alone does not have what these read, so an
// export writes the body.
absl::flat_hash_set<std::string> OpenCalls(const Graph& graph,
                                           const std::vector<const Node*>& nodes);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_EXPORT_CALLS_H_
