// Which nodes have state, or use that of another.
#ifndef MILLSTREAM_CORE_GRAPH_NODE_STATE_H_
#define MILLSTREAM_CORE_GRAPH_NODE_STATE_H_

#include "absl/algorithm/container.h"
#include "core/graph/graph.h"

namespace millstream {

inline bool HasResource(const Node& node) {
  return absl::c_any_of(node.inputs(),
                        [](const Output& o) { return o.dtype() == DataType::kResource; }) ||
         absl::c_linear_search(node.signature().output_types, DataType::kResource);
}

// In what order such nodes run, and on which device, may show in what they give.
inline bool HasState(const Node& node) { return node.op().is_stateful || HasResource(node); }

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_NODE_STATE_H_
