#include "core/import/body_effects.h"

#include <algorithm>

#include "core/graph/control_flow.h"

namespace millstream {
namespace {

// How many branches and loops of the body the nodes are in.
class BodyDepths {
 public:
  BodyDepths(const ImportPlan& plan, int first)
      : plan_(plan), first_(first), depths_(plan.nodes.size() - first, kUnknown) {}

  // Of the node's outputs. Inputs come first, by a stack of our own: a body may be a long chain.
  int Of(int node) {
    std::vector<int> waiting = {node};
    while (!waiting.empty()) {
      const int last = waiting.back();
      int& depth = depths_[last - first_];
      if (depth == kUnknown) {
        depth = kBegun;
        VisitInputs(last, [&](int input, bool) {
          if (depths_[input - first_] == kUnknown) waiting.push_back(input);
        });
        continue;
      }
      if (depth == kBegun) depth = FromInputs(last);
      waiting.pop_back();
    }
    return depths_[node - first_];
  }

 private:
  static constexpr int kUnknown = -2;
  static constexpr int kBegun = -1;

  bool IsOfLoop(const PlannedNode& node) const {
    if (KindOf(*node.op) == ControlFlowKind::kSwitch && node.inputs.size() == 2) {
      const int decision = node.inputs[1].node;
      return decision >= first_ && KindOf(*plan_.nodes[decision].op) == ControlFlowKind::kLoopCond;
    }
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](const PlannedInput& input) { return IsBackEdge(plan_, input, node); });
  }

  // `visit` gets a node of the body and whether it is a control input.
  template <typename Visit>
  void VisitInputs(int number, Visit visit) const {
    const PlannedNode& node = plan_.nodes[number];
    for (const PlannedInput& input : node.inputs) {
      if (input.node >= first_ && !IsBackEdge(plan_, input, node)) visit(input.node, false);
    }
    for (const PlannedInput& control : node.control_inputs) {
      if (control.node >= first_) visit(control.node, true);
    }
  }

  int FromInputs(int number) const {
    int depth = 0;
    VisitInputs(number, [&](int input, bool is_control) {
      // A Switch itself runs whatever it decides.
      const PlannedNode& node = plan_.nodes[input];
      const bool is_before =
          is_control && KindOf(*node.op) == ControlFlowKind::kSwitch && !IsOfLoop(node);
      depth = std::max(depth, depths_[input - first_] - (is_before ? 1 : 0));
    });
    const PlannedNode& node = plan_.nodes[number];
    switch (KindOf(*node.op)) {
      case ControlFlowKind::kEnter: return depth + 1;
      case ControlFlowKind::kExit: return std::max(depth - 1, 0);
      case ControlFlowKind::kSwitch: return IsOfLoop(node) ? depth : depth + 1;
      case ControlFlowKind::kMerge: return IsOfLoop(node) ? depth : std::max(depth - 1, 0);
      default: return depth;
    }
  }

  const ImportPlan& plan_;
  const int first_;
  std::vector<int> depths_;
};

bool EndsPart(const PlannedNode& node) {
  const ControlFlowKind kind = KindOf(*node.op);
  return kind == ControlFlowKind::kMerge || kind == ControlFlowKind::kExit;
}

}  // namespace

std::vector<int> BodyEffects(const ImportPlan& plan, int first) {
  std::vector<int> effects;
  std::vector<int> ends;
  bool has_inner = false;
  BodyDepths depths(plan, first);
  for (int k = first; k < static_cast<int>(plan.nodes.size()); ++k) {
    const PlannedNode& node = plan.nodes[k];
    if (!node.op->is_stateful && !EndsPart(node)) continue;
    const bool is_outermost = depths.Of(k) == 0;
    if (EndsPart(node)) {
      if (is_outermost) ends.push_back(k);
    } else if (is_outermost) {
      effects.push_back(k);
    } else {
      has_inner = true;
    }
  }
  if (has_inner) effects.insert(effects.end(), ends.begin(), ends.end());
  return effects;
}

}  // namespace millstream
