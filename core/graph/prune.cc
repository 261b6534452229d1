#include "core/graph/prune.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/graph/control_flow.h"
#include "core/graph/error_details.h"
#include "core/graph/structural_role.h"

namespace millstream {
namespace {

// A longer cycle is told in part.
constexpr size_t kMostNamesOfCycle = 12;

// A Merge without its back edge refers to itself; see Graph::AddNode.
bool IsOpenLoop(const Node& node) {
  const std::vector<Output>& inputs = node.inputs();
  return node.num_outputs() > 0 &&
         std::find(inputs.begin(), inputs.end(), node.output(0)) != inputs.end();
}

class Pruner {
 public:
  Pruner(const Graph& graph, const StepSignature& signature, const std::vector<Output>& transparent)
      : graph_(graph),
        fed_(signature.feeds.begin(), signature.feeds.end()),
        transparent_(transparent.begin(), transparent.end()) {}

  void Need(const Node* node) {
    if (IsFedPlaceholder(node)) return;
    if (controls_.try_emplace(node).second) waiting_.push_back(node);
  }
  void NeedOutput(const Output& output) {
    if (!fed_.contains(output)) Need(output.node);
  }

  // Collects everything that the needed nodes need.
  void Close() {
    while (!waiting_.empty()) {
      const Node* node = waiting_.back();
      waiting_.pop_back();
      std::vector<const Node*> controls = graph_.ControlInputs(node);
      for (const Output& input : node->inputs()) {
        NeedOutput(input);
        for (const Node* control : PassedOn(input)) {
          if (!absl::c_linear_search(controls, control)) controls.push_back(control);
        }
      }
      controls.erase(
          std::remove_if(controls.begin(), controls.end(),
                         [this](const Node* control) { return IsFedPlaceholder(control); }),
          controls.end());
      for (const Node* control : controls) Need(control);
      controls_[node] = std::move(controls);
    }
  }

  Status CheckPlaceholders() const {
    for (const auto& [node, controls] : controls_) {
      if (RoleOf(node->op().name) != StructuralRole::kMustFeed) continue;
      const PartialShape shape = graph_.Facts(node->output(0)).shape;
      return AnnotateWithNode(
          errors::InvalidArgument("You must feed a value for placeholder tensor '", node->name(),
                                  "' with dtype ", DataTypeSpecName(node->output_type(0)),
                                  " and shape ", shape.ToString()),
          *node);
    }
    return absl::OkStatus();
  }

  StatusOr<PrunedGraph> Sort();

 private:
  // The nodes that it waits for, by edges that order nodes.
  std::vector<const Node*> Awaited(const Node* node) const {
    std::vector<const Node*> awaited;
    for (const Output& input : node->inputs()) {
      if (!fed_.contains(input) && !IsBackEdge(input, *node)) awaited.push_back(input.node);
    }
    const std::vector<const Node*>& controls = controls_.at(node);
    awaited.insert(awaited.end(), controls.begin(), controls.end());
    return awaited;
  }
  Status CycleError(const absl::flat_hash_map<const Node*, int>& pending) const;

  // Waiting for it, or running it, is done as soon as the step begins.
  bool IsFedPlaceholder(const Node* node) const {
    return RoleOf(node->op().name) == StructuralRole::kMustFeed && fed_.contains(node->output(0));
  }

  // What an output's node waits for, where a feed of it does not hide that.
  std::vector<const Node*> PassedOn(const Output& output) const {
    if (!transparent_.contains(output)) return {};
    return graph_.ControlInputs(output.node);
  }

  const Graph& graph_;
  const absl::flat_hash_set<Output> fed_;
  const absl::flat_hash_set<Output> transparent_;
  absl::flat_hash_map<const Node*, std::vector<const Node*>> controls_;
  std::vector<const Node*> waiting_;
};

// Kahn's algorithm; among the nodes that are ready the oldest goes first, so that the order is the
// program's own and the same in every run.
StatusOr<PrunedGraph> Pruner::Sort() {
  absl::flat_hash_map<const Node*, int> pending;
  absl::flat_hash_map<const Node*, std::vector<const Node*>> successors;
  for (const auto& [node, controls] : controls_) {
    int& count = pending[node];
    for (const Node* awaited : Awaited(node)) {
      successors[awaited].push_back(node);
      ++count;
    }
  }
  std::priority_queue<std::pair<int, const Node*>, std::vector<std::pair<int, const Node*>>,
                      std::greater<>>
      ready;
  for (const auto& [node, count] : pending) {
    if (count == 0) ready.emplace(node->id(), node);
  }
  PrunedGraph pruned;
  while (!ready.empty()) {
    const Node* node = ready.top().second;
    ready.pop();
    pruned.nodes.push_back(node);
    pruned.has_control_flow |= NeedsDynamicExecutor(KindOf(*node));
    pruned.controls.push_back(controls_[node]);
    for (const Node* successor : successors[node]) {
      if (--pending[successor] == 0) ready.emplace(successor->id(), successor);
    }
  }
  if (pruned.nodes.size() == controls_.size()) return pruned;
  for (const auto& [node, count] : pending) {
    if (count > 0 && IsOpenLoop(*node)) {
      return AnnotateWithNode(errors::FailedPrecondition(
                                  "the loop was not closed: an input of the Merge was not given"),
                              *node);
    }
  }
  return CycleError(pending);
}

// Names a cycle among the nodes that wait for others, in the direction of the edges. Each of them
// waits for another one, so walking back from any must come round; the oldest begins, so that the
// text is the same in every run.
Status Pruner::CycleError(const absl::flat_hash_map<const Node*, int>& pending) const {
  const auto is_older = [](const Node* a, const Node* b) { return a->id() < b->id(); };
  const auto waits = [&](const Node* node) { return pending.at(node) > 0; };
  const Node* node = nullptr;
  for (const auto& [other, count] : pending) {
    if (count > 0 && (node == nullptr || is_older(other, node))) node = other;
  }
  std::vector<const Node*> path;
  absl::flat_hash_map<const Node*, size_t> position;
  while (position.try_emplace(node, path.size()).second) {
    path.push_back(node);
    const std::vector<const Node*> awaited = Awaited(node);
    node = *absl::c_find_if(awaited, waits);
  }
  std::vector<const Node*> cycle(path.begin() + position[node], path.end());
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), absl::c_min_element(cycle, is_older), cycle.end());
  std::string text;
  for (size_t i = 0; i < std::min(cycle.size(), kMostNamesOfCycle); ++i) {
    absl::StrAppend(&text, cycle[i]->name(), " -> ");
  }
  if (cycle.size() > kMostNamesOfCycle) absl::StrAppend(&text, "... -> ");
  return AnnotateWithNode(
      errors::InvalidArgument("a cycle of ", cycle.size(), " nodes: ", text, cycle.front()->name()),
      *cycle.front());
}

}  // namespace

StatusOr<PrunedGraph> Prune(const Graph& graph, const StepSignature& signature,
                            const std::vector<Output>& transparent) {
  Pruner pruner(graph, signature, transparent);
  for (const Output& fetch : signature.fetches) pruner.NeedOutput(fetch);
  for (const Node* target : signature.targets) pruner.Need(target);
  pruner.Close();
  MS_RETURN_IF_ERROR(pruner.CheckPlaceholders());
  return pruner.Sort();
}

Status WithNodeIteration(const Status& status, const NodeIterations* iterations, const Node* node) {
  if (iterations == nullptr) return status;
  const auto found = iterations->find(node);
  if (found == iterations->end()) return status;
  return WithErrorDetail(
      status, "loop",
      absl::StrCat("iteration ", found->second.number, " of frame '", *found->second.frame, "'"));
}

}  // namespace millstream
