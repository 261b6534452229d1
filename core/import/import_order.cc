// Ordering the nodes of an import.
#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/graph/control_flow.h"
#include "core/import/import_plan.h"

namespace millstream {
namespace {

// A longer cycle is told in part.
constexpr size_t kMaxNamesOfCycle = 12;

// Calls visit(i) for each node of the GraphDef that must be added before `node`: not for those that
// close a loop.
template <typename Visit>
void ForEachDependency(const ImportPlan& plan, const PlannedNode& node, Visit visit) {
  for (const PlannedInput& input : node.inputs) {
    if (input.node >= 0 && !IsBackEdge(plan, input, node)) visit(input.node);
  }
  for (const PlannedInput& control : node.control_inputs) {
    if (control.node >= 0) visit(control.node);
  }
}

// A cycle among the nodes that wait for others, in the direction of the edges and from the first of
// the GraphDef on. Each of them depends on another one, so walking back must come round.
std::vector<int> FindCycle(const ImportPlan& plan, const std::vector<int>& waiting_for) {
  std::vector<int> position(plan.nodes.size(), -1);
  std::vector<int> path;
  int node = 0;
  while (waiting_for[node] == 0) ++node;
  while (position[node] < 0) {
    position[node] = static_cast<int>(path.size());
    path.push_back(node);
    int next = -1;
    ForEachDependency(plan, plan.nodes[node], [&](int dependency) {
      if (next < 0 && waiting_for[dependency] > 0) next = dependency;
    });
    node = next;
  }
  path.erase(path.begin(), path.begin() + position[node]);
  std::reverse(path.begin(), path.end());
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  return path;
}

Status CycleError(const ImportPlan& plan, const std::vector<int>& cycle) {
  std::string text;
  for (size_t i = 0; i < std::min(cycle.size(), kMaxNamesOfCycle); ++i) {
    absl::StrAppend(&text, plan.nodes[cycle[i]].spec.name, " -> ");
  }
  if (cycle.size() > kMaxNamesOfCycle) absl::StrAppend(&text, "... -> ");
  const NodeSpec& first = plan.nodes[cycle[0]].spec;
  return AnnotateWithSpec(
      errors::InvalidArgument("a cycle of ", cycle.size(), " nodes: ", text, first.name), first);
}

}  // namespace

bool IsBackEdge(const ImportPlan& plan, const PlannedInput& input, const PlannedNode& node) {
  return input.node >= 0 && IsBackEdge(*plan.nodes[input.node].op, *node.op);
}

Status OrderNodes(ImportPlan* plan) {
  const int count = static_cast<int>(plan->nodes.size());
  std::vector<int> waiting_for(count, 0);
  std::vector<std::vector<int>> users(count);
  for (int i = 0; i < count; ++i) {
    ForEachDependency(*plan, plan->nodes[i], [&](int dependency) {
      users[dependency].push_back(i);
      ++waiting_for[i];
    });
  }
  // The first of the GraphDef that is ready goes next.
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < count; ++i) {
    if (waiting_for[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    plan->order.push_back(node);
    for (int user : users[node]) {
      if (--waiting_for[user] == 0) ready.push(user);
    }
  }
  if (static_cast<int>(plan->order.size()) == count) return absl::OkStatus();
  return CycleError(*plan, FindCycle(*plan, waiting_for));
}

}  // namespace millstream
