#include "core/session/fed_variables.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/graph/imported_node.h"
#include "core/import/graph_def.h"

namespace millstream {
namespace {

constexpr char kRead[] = "ReadVariableOp";

bool IsHandle(const Output& output) { return output.dtype() == DataType::kResource; }

// Whether the output's own node is one that gave references.
bool WasReference(const Output& output) {
  const ImportedNode* imported = output.node->imported();
  return imported != nullptr && !imported->hidden;
}

// The feeds, by the variables that they stand for.
struct FedVariables {
  absl::flat_hash_map<Output, int> handles;
  absl::flat_hash_map<std::string, int> references;

  explicit FedVariables(const std::vector<Output>& feeds) {
    for (size_t i = 0; i < feeds.size(); ++i) {
      const int feed = static_cast<int>(i);
      if (IsHandle(feeds[i])) {
        handles[feeds[i]] = feed;
      } else if (WasReference(feeds[i])) {
        references[ExportedName(feeds[i])] = feed;
      }
    }
  }
  bool empty() const { return handles.empty() && references.empty(); }
};

Status CheckNode(const Node& node, const FedVariables& fed) {
  for (const Output& input : node.inputs()) {
    if (!fed.handles.contains(input) || node.op().name == kRead) continue;
    return errors::InvalidArgument("works on the variable ", input.node->name(),
                                   " itself, but a value is fed for it");
  }
  if (node.imported() == nullptr) return absl::OkStatus();
  for (const std::string& reference : node.imported()->references) {
    if (!fed.references.contains(reference)) continue;
    return errors::InvalidArgument("expected a reference to a variable, but a value is fed for ",
                                   reference);
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<HandleInfo> FedFacts(const Graph& graph, const Output& feed) {
  OutputFacts facts = graph.Facts(feed);
  if (!IsHandle(feed)) return HandleInfo{feed.dtype(), std::move(facts.shape)};
  if (feed.node->op().name == "VarHandleOp" && facts.handle.has_value()) return *facts.handle;
  return AnnotateWithNode(
      errors::InvalidArgument(feed.name(), " is a resource handle, which cannot be fed"),
      *feed.node);
}

ExpandedFeeds ExpandFeeds(const Graph& graph, const std::vector<Output>& feeds) {
  ExpandedFeeds expanded;
  const auto add = [&](const Output& output, int source) {
    expanded.outputs.push_back(output);
    expanded.sources.push_back(source);
  };
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (!IsHandle(feeds[i])) add(feeds[i], static_cast<int>(i));
  }
  const FedVariables fed(feeds);
  if (fed.empty()) return expanded;
  const absl::flat_hash_set<Output> given(feeds.begin(), feeds.end());
  for (const Node* node : graph.nodes()) {
    if (node->op().name != kRead || given.contains(node->output(0))) continue;
    const auto handle = fed.handles.find(node->input(0));
    if (handle != fed.handles.end()) {
      add(node->output(0), handle->second);
      expanded.reads.push_back(node->output(0));
    }
    if (node->imported() == nullptr || !node->imported()->is_read) continue;
    const auto reference = fed.references.find(ExportedName(node->output(0)));
    if (reference != fed.references.end()) add(node->output(0), reference->second);
  }
  return expanded;
}

Status CheckFedVariables(const PrunedGraph& pruned, const std::vector<Output>& feeds) {
  const FedVariables fed(feeds);
  if (fed.empty()) return absl::OkStatus();
  for (const Node* node : pruned.nodes) {
    const Status status = CheckNode(*node, fed);
    if (!status.ok()) return AnnotateWithNode(status, *node);
  }
  return absl::OkStatus();
}

}  // namespace millstream
