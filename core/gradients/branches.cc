#include "core/gradients/branches.h"

#include <algorithm>
#include <utility>

#include "core/graph/control_flow.h"

namespace millstream {
namespace {

// What a predicate is a copy of: the pivots of a conditional take the predicate as it is given, and
// what enters its branches takes a copy of it.
Output SourceOf(Output predicate) {
  while (predicate.node->op().name == "Identity") predicate = predicate.node->input(0);
  return predicate;
}

bool IsOfLoop(const Node& node) {
  if (KindOf(node) == ControlFlowKind::kSwitch) {
    return KindOf(*node.input(1).node) == ControlFlowKind::kLoopCond;
  }
  return std::any_of(node.inputs().begin(), node.inputs().end(),
                     [&](const Output& input) { return IsBackEdge(input, node); });
}

}  // namespace

Branches Branches::Of(absl::Span<const Node* const> nodes) {
  Branches branches;
  for (const Node* const node : nodes) branches.Add(*node);
  return branches;
}

int Branches::Find(const Output& tensor) const {
  const auto of_switch = of_switch_.find(tensor);
  if (of_switch != of_switch_.end()) return of_switch->second;
  const auto of_node = of_node_.find(tensor.node);
  return of_node == of_node_.end() ? 0 : of_node->second;
}

int Branches::Innermost(const Node& node) const {
  int found = 0;
  const auto visit = [&](int branch) {
    if (branches_[branch].depth > branches_[found].depth) found = branch;
  };
  const bool is_of_conditional = KindOf(node) == ControlFlowKind::kSwitch && !IsOfLoop(node);
  for (int i = 0; i < node.num_inputs(); ++i) {
    // A predicate is in the branches around its conditional, like the data. What decides a loop is
    // in all branches around the loop, which single variables need not be in.
    const bool is_predicate = is_of_conditional && i == 1;
    if (!is_predicate && !IsBackEdge(node.input(i), node)) visit(Find(node.input(i)));
  }
  for (const Node* const control : node.control_inputs()) {
    // A control edge from a Switch is live whatever the predicate is.
    visit(Find(Output{control, KindOf(*control) == ControlFlowKind::kSwitch ? -1 : 0}));
  }
  return found;
}

std::pair<int, int> Branches::Opposite(int first, int second) const {
  const auto outward = [&](int* branch, int depth) {
    while (branches_[*branch].depth > depth) *branch = branches_[*branch].outer;
  };
  outward(&first, branches_[second].depth);
  outward(&second, branches_[first].depth);
  while (first != 0) {
    const Branch& a = branches_[first];
    const Branch& b = branches_[second];
    const bool same = SourceOf(a.predicate) == SourceOf(b.predicate);
    if (same && a.taken != b.taken && a.outer == b.outer) break;
    first = a.outer;
    second = b.outer;
  }
  return {first, second};
}

int Branches::BranchOf(const Output& predicate, int taken, int outer) {
  const auto [found, is_new] =
      index_.try_emplace({SourceOf(predicate), taken, outer}, static_cast<int>(branches_.size()));
  if (is_new) branches_.push_back(Branch{predicate, taken, outer, branches_[outer].depth + 1});
  return found->second;
}

void Branches::Add(const Node& node) {
  const ControlFlowKind kind = KindOf(node);
  int around = Innermost(node);
  if (kind == ControlFlowKind::kMerge && node.num_inputs() == 2 && !IsOfLoop(node)) {
    around = branches_[Opposite(Find(node.input(0)), Find(node.input(1))).first].outer;
  }
  if (around != 0) of_node_[&node] = around;
  if (kind != ControlFlowKind::kSwitch || IsOfLoop(node)) return;
  for (int taken = 0; taken < 2; ++taken) {
    of_switch_[node.output(taken)] = BranchOf(node.input(1), taken, around);
  }
}

std::optional<Branch> Branches::ChoiceOf(const Node& merge) const {
  if (merge.num_inputs() != 2) return std::nullopt;
  const int first = Opposite(Find(merge.input(0)), Find(merge.input(1))).first;
  if (first == 0) return std::nullopt;
  return branches_[first];
}

}  // namespace millstream
