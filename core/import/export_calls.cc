#include "core/import/export_calls.h"

#include "absl/strings/strip.h"
#include "core/graph/imported_node.h"

namespace millstream {
namespace {

// The node of "v", "v:1" or "^v"; null if the graph has none.
const Node* NodeOfInput(const Graph& graph, absl::string_view input) {
  absl::ConsumePrefix(&input, "^");
  const StatusOr<const Node*> found = graph.FindNode(input.substr(0, input.find(':')));
  return found.ok() ? *found : nullptr;
}

// Calls `visit` with each node that the export of the node names as an input.
template <typename Visit>
void VisitSources(const Graph& graph, const Node& node, Visit visit) {
  for (const Output& input : node.inputs()) visit(*input.node);
  for (const Node* control : graph.ControlInputs(&node)) visit(*control);
  if (node.imported() == nullptr) return;
  for (const std::string& input : node.imported()->inputs) {
    const Node* const source = NodeOfInput(graph, input);
    if (source != nullptr) visit(*source);
  }
}

}  // namespace

// Hidden nodes that work on references are named after the imported node instead.
bool IsOfBody(const Node& node) {
  const ImportedNode* const imported = node.imported();
  return imported != nullptr && imported->hidden && imported->name == node.name();
}

absl::flat_hash_set<std::string> CallersOf(const std::vector<const Node*>& nodes) {
  absl::flat_hash_set<std::string> callers;
  for (const Node* node : nodes) {
    if (IsOfBody(*node)) callers.insert(node->imported()->stands_for);
  }
  return callers;
}

absl::flat_hash_set<std::string> OpenCalls(const Graph& graph,
                                           const std::vector<const Node*>& nodes) {
  absl::flat_hash_set<std::string> open;
  if (CallersOf(nodes).empty()) return open;
  for (const Node* node : nodes) {
    const bool is_of_body = IsOfBody(*node);
    // What reads a reference for a node is never exported itself.
    if (node->imported() != nullptr && node->imported()->hidden && !is_of_body) continue;
    const std::string& caller = is_of_body ? node->imported()->stands_for : node->name();
    VisitSources(graph, *node, [&](const Node& source) {
      if (IsOfBody(source) && source.imported()->stands_for != caller) {
        open.insert(source.imported()->stands_for);
      }
    });
  }
  return open;
}

}  // namespace millstream
