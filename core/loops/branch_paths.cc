#include "core/loops/branch_paths.h"

#include "core/graph/control_flow.h"

namespace millstream {
namespace {

bool IsOfLoop(const StepItem& item) {
  const Node& node = *item.node;
  if (KindOf(node) == ControlFlowKind::kSwitch) {
    return KindOf(*node.input(1).node) == ControlFlowKind::kLoopCond;
  }
  for (const Output& input : node.inputs()) {
    if (IsBackEdge(input, node)) return true;
  }
  return false;
}

}  // namespace

BranchPaths::BranchPaths(const InnerLimits& limits, const std::vector<StepItem>& items)
    : limits_(limits), paths_(1), is_switch_(items.size()), is_merge_(items.size()) {
  for (size_t i = 0; i < items.size(); ++i) {
    const StepItem& item = items[i];
    const ControlFlowKind kind = item.is_inner() ? ControlFlowKind::kNone : KindOf(*item.node);
    is_switch_[i] = kind == ControlFlowKind::kSwitch && !IsOfLoop(item);
    is_merge_[i] = kind == ControlFlowKind::kMerge && !IsOfLoop(item);
    of_item_.push_back(kRoot);
    for (const Output& input : item.inputs) {
      auto number = numbers_.find(input);
      if (number != numbers_.end()) Open(number->second);
    }
    if (is_merge_[i]) {
      AddMerge(static_cast<int>(i), item);
      continue;
    }
    const int path = PathOf(item);
    if (path == kUnknown) {
      is_switch_[i] = false;
      AddUnknown(item);
      continue;
    }
    of_item_[i] = path;
    for (const Node* node : item.stands_for) of_node_[node] = path;
    if (is_switch_[i]) {
      const Output predicate = PredicateOf(item);
      of_value_[item.outputs[0]] = Child(path, predicate, false);
      of_value_[item.outputs[1]] = Child(path, predicate, true);
      if (!limits.IsHidden(item)) {
        Open(of_value_[item.outputs[0]]);
        Open(of_value_[item.outputs[1]]);
      }
      continue;
    }
    for (const Output& output : item.outputs) of_value_[output] = path;
    if (path != kRoot && !limits.Allow(item)) Open(path);
  }
}

int BranchPaths::Of(const Output& value) const {
  auto found = of_value_.find(value);
  return found == of_value_.end() ? kRoot : found->second;
}

Output BranchPaths::PredicateOf(const StepItem& item) const {
  Output value = item.inputs[1];
  while (value.node->op().name == "Identity" && !limits_.fed.contains(value)) {
    value = value.node->input(0);
  }
  return value;
}

int BranchPaths::Child(int parent, const Output& predicate, bool side) {
  auto [found, is_new] = children_.try_emplace(std::make_tuple(parent, predicate, side), size());
  if (is_new) {
    paths_.push_back({parent, predicate, side, paths_[parent].depth + 1, true});
  }
  return found->second;
}

int BranchPaths::OtherSide(int path) const {
  const Path& known = paths_[path];
  auto found = children_.find(std::make_tuple(known.parent, known.predicate, !known.side));
  return found == children_.end() ? -1 : found->second;
}

bool BranchPaths::IsPrefix(int shorter, int path) const {
  while (paths_[path].depth > paths_[shorter].depth) path = paths_[path].parent;
  return path == shorter;
}

void BranchPaths::Open(int path) {
  if (path == kUnknown) return;
  for (; path != kRoot; path = paths_[path].parent) paths_[path].is_closed = false;
}

int BranchPaths::PathOf(const StepItem& item) {
  std::vector<int> found;
  for (const Output& input : item.inputs) found.push_back(Of(input));
  for (const Node* control : item.controls) {
    auto path = of_node_.find(control);
    if (path != of_node_.end()) found.push_back(path->second);
  }
  int longest = kRoot;
  bool fits = true;
  for (const int path : found) {
    if (path == kUnknown) {
      fits = false;
      continue;
    }
    if (IsPrefix(longest, path)) longest = path;
    fits &= IsPrefix(path, longest);
  }
  if (fits) return longest;
  for (const int path : found) Open(path);
  return kUnknown;
}

void BranchPaths::AddUnknown(const StepItem& item) {
  for (const Output& output : item.outputs) of_value_[output] = kUnknown;
  for (const Node* node : item.stands_for) of_node_[node] = kUnknown;
}

void BranchPaths::AddMerge(int i, const StepItem& item) {
  const int first = Of(item.inputs[0]);
  const int second = item.inputs.size() == 2 ? Of(item.inputs[1]) : kRoot;
  const bool joins = first > kRoot && second > kRoot && OtherSide(first) == second;
  if (!joins) {
    for (const Output& input : item.inputs) Open(Of(input));
    is_merge_[i] = false;
    return AddUnknown(item);
  }
  const int path = paths_[first].parent;
  of_item_[i] = path;
  of_node_[item.node] = path;
  of_value_[item.outputs[0]] = path;
  of_value_[item.outputs[1]] = path;
  // The number of the branch has no place in the node.
  if (limits_.fetched.contains(item.outputs[1])) Open(first);
  numbers_[item.outputs[1]] = first;
  for (const Node* control : item.controls) {
    auto waits = of_node_.find(control);
    if (waits == of_node_.end()) continue;
    const bool fits = waits->second != kUnknown && IsPrefix(waits->second, path);
    if (!fits) Open(waits->second);
  }
}

}  // namespace millstream
