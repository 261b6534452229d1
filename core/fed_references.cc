#include "core/fed_references.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/graph_def.h"
#include "core/imported_node.h"

namespace millstream {
namespace {

// Whether the output's own node is one that gave references.
bool WasReference(const Output& output) {
  const ImportedNode* imported = output.node->imported();
  return imported != nullptr && !imported->hidden;
}

}  // namespace

FedReads FindFedReads(const Graph& graph, const std::vector<Output>& feeds) {
  FedReads fed;
  absl::flat_hash_map<std::string, int> by_name;
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (WasReference(feeds[i])) by_name.emplace(ExportedName(feeds[i]), static_cast<int>(i));
  }
  if (by_name.empty()) return fed;
  for (const Node* node : graph.nodes()) {
    if (node->imported() == nullptr || !node->imported()->is_read) continue;
    const auto feed = by_name.find(ExportedName(node->output(0)));
    if (feed == by_name.end()) continue;
    fed.reads.push_back(node->output(0));
    fed.feeds.push_back(feed->second);
  }
  return fed;
}

Status CheckFedReferences(const PrunedGraph& pruned, const std::vector<Output>& feeds) {
  absl::flat_hash_set<std::string> fed;
  for (const Output& feed : feeds) {
    if (WasReference(feed)) fed.insert(ExportedName(feed));
  }
  if (fed.empty()) return absl::OkStatus();
  for (const Node* node : pruned.nodes) {
    if (node->imported() == nullptr) continue;
    for (const std::string& reference : node->imported()->references) {
      if (!fed.contains(reference)) continue;
      return AnnotateWithNode(
          errors::InvalidArgument("expected a reference to a variable, but a value is fed for ",
                                  reference),
          *node);
    }
  }
  return absl::OkStatus();
}

}  // namespace millstream
