#include "core/loops/step_items.h"

#include <functional>
#include <queue>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "core/graph/control_flow.h"
#include "core/graph/structural_role.h"

namespace millstream {

StepItem StepItem::Of(const Node* node, std::vector<const Node*> controls) {
  StepItem item;
  item.node = node;
  item.inputs = node->inputs();
  for (int i = 0; i < node->num_outputs(); ++i) item.outputs.push_back(node->output(i));
  item.controls = std::move(controls);
  item.stands_for = {node};
  return item;
}

bool InnerLimits::IsHidden(const StepItem& item) const {
  const auto is_visible = [&](const Node* node) { return visible.contains(node); };
  const auto is_fed = [&](const Output& output) { return fed.contains(output); };
  return absl::c_none_of(item.stands_for, is_visible) && absl::c_none_of(item.outputs, is_fed);
}

bool InnerLimits::Allow(const StepItem& item) const {
  if (!IsHidden(item)) return false;
  if (item.is_inner()) return true;
  return KindOf(*item.node) == ControlFlowKind::kNone && runs_at_once(*item.node);
}

bool IsSource(const Node& node) {
  const StructuralRole role = RoleOf(node.op().name);
  if (node.num_inputs() > 0) return false;
  if (role == StructuralRole::kConstant) return node.control_inputs().empty();
  return role == StructuralRole::kHandle;
}

bool IsConstantEnter(const Node& node) {
  return KindOf(node) == ControlFlowKind::kEnter && node.Attr<bool>("is_constant").value_or(false);
}

Output BehindEnters(Output value) {
  while (IsConstantEnter(*value.node)) value = value.node->input(0);
  return value;
}

bool Sort(std::vector<StepItem>* items) {
  absl::flat_hash_map<Output, int> producers;
  absl::flat_hash_map<const Node*, int> places;
  for (size_t i = 0; i < items->size(); ++i) {
    for (const Output& output : (*items)[i].outputs) producers[output] = static_cast<int>(i);
    for (const Node* node : (*items)[i].stands_for) places[node] = static_cast<int>(i);
  }
  std::vector<std::vector<int>> successors(items->size());
  std::vector<int> pending(items->size(), 0);
  const auto wait_for = [&](const auto& found, const auto& end, size_t i) {
    if (found == end) return;
    successors[found->second].push_back(static_cast<int>(i));
    ++pending[i];
  };
  for (size_t i = 0; i < items->size(); ++i) {
    const StepItem& item = (*items)[i];
    for (const Output& input : item.inputs) {
      if (!item.is_inner() && IsBackEdge(input, *item.node)) continue;
      wait_for(producers.find(input), producers.end(), i);
    }
    for (const Node* control : item.controls) wait_for(places.find(control), places.end(), i);
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < items->size(); ++i) {
    if (pending[i] == 0) ready.push(static_cast<int>(i));
  }
  std::vector<StepItem> sorted;
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    sorted.push_back(std::move((*items)[i]));
    for (const int successor : successors[i]) {
      if (--pending[successor] == 0) ready.push(successor);
    }
  }
  if (sorted.size() != items->size()) return false;
  *items = std::move(sorted);
  return true;
}

}  // namespace millstream
