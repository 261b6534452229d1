// Tests for nodes that have state or use the state of a resource.
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

// True if the results may depend on the order in which nodes run, or on the device.
inline bool HasState(const Node& node) { return node.op().is_stateful || HasResource(node); }

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_NODE_STATE_H_
