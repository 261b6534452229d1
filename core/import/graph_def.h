// GraphDef import and export.
#ifndef MILLSTREAM_CORE_IMPORT_GRAPH_DEF_H_
#define MILLSTREAM_CORE_IMPORT_GRAPH_DEF_H_

#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "framework/forbidden_ops.h"
#include "framework/status.h"

namespace millstream {

// Adds the gradients of sum(dys_i * ys_i) with respect to xs to a graph. An Output without a node
// stands for zeros.
using GradientAdder = StatusOr<std::vector<Output>> (*)(Graph* graph, const std::vector<Output>& ys,
                                                        const std::vector<Output>& xs,
                                                        const std::vector<Output>& dys);

struct ImportOptions {
  std::string prefix;  // put before every name, with "/"; empty: none
  // Replaces inputs by name ("x:0" or "x", in the GraphDef) with tensors of the graph.
  std::vector<std::pair<std::string, Output>> input_map;
  // The names of nodes of the graph that run before all imported nodes.
  std::vector<std::string> control_dependencies;
  std::vector<std::string> return_tensors;  // names in the GraphDef
  std::string source;                       // the user's line that imports: of every new node
  ForbiddenOps forbidden_ops;               // a GraphDef that has one of them is refused
  // The limit in bytes of constants and outputs beyond the GraphDef's size. 0: a limit derived from
  // that size; negative: no limit.
  int64_t max_expansion = 0;
  // For SymbolicGradient. Null: a GraphDef with this op is UNIMPLEMENTED.
  GradientAdder add_gradients = nullptr;
  int gradient_depth = 0;  // of how many SymbolicGradients this import is a part
};

struct ImportResult {
  std::vector<const Node*> nodes;  // in the order of the GraphDef
  std::vector<Output> return_tensors;
};

// Adds the nodes of the serialized GraphDef `bytes`. Nodes on references to variables are
// rewritten, see core/import/import_refs.h. Names, ops, attributes, inputs, cycles, types and
// shapes are checked before the first node is added, so after an error the graph has not changed.
// INVALID_ARGUMENT for a wrong GraphDef; ALREADY_EXISTS for a name that the graph has; NOT_FOUND
// names the unknown ops; PERMISSION_DENIED names a forbidden op; RESOURCE_EXHAUSTED if the decoded
// graph is far larger than `bytes`. Thread-safe, like the functions below.
StatusOr<ImportResult> ImportGraphDef(Graph* graph, absl::string_view bytes,
                                      const ImportOptions& options = ImportOptions());
// The graph as a serialized GraphDef. Equal graphs give equal bytes. Nodes that an import rewrote
// are written in their original form; one whose body other nodes read, with the nodes of the body
// (export_calls.h).
StatusOr<std::string> ExportGraphDef(const Graph& graph, bool with_shapes = false);
// The given nodes of the graph as a serialized GraphDef. Each node has the device `device`. Calls
// that have nodes of their bodies here are written as they run.
StatusOr<std::string> ExportNodes(const Graph& graph, const std::vector<const Node*>& nodes,
                                  const std::string& device);
// The name of a tensor of the graph in an exported GraphDef: "v", "v:1". For the nodes of bodies,
// in one that has them.
std::string ExportedName(const Output& output);
// One node of the graph as a serialized NodeDef.
StatusOr<std::string> ExportNodeDef(const Graph& graph, const Node& node);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_GRAPH_DEF_H_
