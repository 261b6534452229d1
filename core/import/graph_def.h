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

struct ImportOptions {
  std::string prefix;  // put before every name, with "/"; empty: none
  // Replaces inputs by name ("x:0" or "x", in the GraphDef) with tensors of the graph.
  std::vector<std::pair<std::string, Output>> input_map;
  // Nodes of the graph that run before all that is imported, by name.
  std::vector<std::string> control_dependencies;
  std::vector<std::string> return_tensors;  // names in the GraphDef
  std::string source;                       // the user's line that imports: of every new node
  ForbiddenOps forbidden_ops;               // a GraphDef that has one of them is refused
  // Bytes that constants and outputs may take beyond the GraphDef's size; 0: what that size makes
  // plausible; negative: any number.
  int64_t max_expansion = 0;
};

struct ImportResult {
  std::vector<const Node*> nodes;  // in the order of the GraphDef
  std::vector<Output> return_tensors;
};

// Adds the nodes of serialized GraphDef `bytes`; those on references to variables as
// core/import/import_refs.h says. All or nothing: names, ops, attributes, inputs,
// cycles, types and shapes are checked before the first node is added. INVALID_ARGUMENT;
// ALREADY_EXISTS for a name that the graph has; NOT_FOUND names the unknown ops, PERMISSION_DENIED
// a forbidden one; RESOURCE_EXHAUSTED when what it encodes is far larger than the encoding.
StatusOr<ImportResult> ImportGraphDef(Graph* graph, absl::string_view bytes,
                                      const ImportOptions& options = ImportOptions());
// The graph as a serialized GraphDef, deterministic. Nodes that were imported are written as they
// came.
StatusOr<std::string> ExportGraphDef(const Graph& graph, bool with_shapes = false);
// Some of its nodes as a serialized GraphDef, all on `device`.
StatusOr<std::string> ExportNodes(const Graph& graph, const std::vector<const Node*>& nodes,
                                  const std::string& device);
// What a GraphDef calls a tensor of the graph: "v", "v:1".
std::string ExportedName(const Output& output);
// One node of it as NodeDef bytes.
StatusOr<std::string> ExportNodeDef(const Graph& graph, const Node& node);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_GRAPH_DEF_H_
