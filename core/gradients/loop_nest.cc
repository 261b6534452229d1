#include "core/gradients/loop_nest.h"

#include "core/graph/control_flow.h"

namespace millstream {
namespace {

bool IsMergeOfLoop(const Node& node) {
  return KindOf(node) == ControlFlowKind::kMerge && node.num_inputs() == 2 &&
         KindOf(*node.input(0).node) == ControlFlowKind::kEnter && IsBackEdge(node.input(1), node);
}

bool IsDecision(const Node& node) {
  return KindOf(node) == ControlFlowKind::kSwitch &&
         KindOf(*node.input(1).node) == ControlFlowKind::kLoopCond;
}

}  // namespace

int LoopNest::LoopOf(const Node* node) const {
  const auto found = loop_of_.find(node);
  return found == loop_of_.end() ? kRoot : found->second;
}

int LoopNest::OwnLoop(const Node* node) const {
  return KindOf(*node) == ControlFlowKind::kExit ? LoopOf(node->input(0).node) : LoopOf(node);
}

int LoopNest::ChildAround(int around, int inner) const {
  while (inner != kRoot) {
    if (loops_[inner].parent == around) return inner;
    inner = loops_[inner].parent;
  }
  return -1;
}

bool LoopNest::IsFrame(const Node& node) const {
  switch (KindOf(node)) {
    case ControlFlowKind::kEnter:
    case ControlFlowKind::kExit:
    case ControlFlowKind::kNextIteration:
    case ControlFlowKind::kLoopCond: return true;
    case ControlFlowKind::kMerge: return IsMergeOfLoop(node);
    case ControlFlowKind::kSwitch: return IsDecision(node);
    default: return false;
  }
}

int LoopNest::LoopOfInputs(const Node& node) const {
  for (const Output& input : node.inputs()) {
    if (!IsBackEdge(input, node)) return LoopOf(input.node);
  }
  for (const Node* const control : node.control_inputs()) {
    const int loop = LoopOf(control);
    if (loop != kRoot) return loop;
  }
  return kRoot;
}

Status LoopNest::Place(const Node& node) {
  int loop = LoopOfInputs(node);
  if (KindOf(node) == ControlFlowKind::kEnter) {
    MS_ASSIGN_OR_RETURN(const std::string name, node.Attr<std::string>("frame_name"));
    const auto [found, is_new] =
        by_name_.try_emplace({loop, name}, static_cast<int>(loops_.size()));
    if (is_new) {
      MS_ASSIGN_OR_RETURN(const int64_t parallel, node.Attr<int64_t>("parallel_iterations"));
      loops_.emplace_back();
      loops_.back().frame_name = name;
      loops_.back().parent = loop;
      loops_.back().parallel_iterations = parallel;
    }
    loop = found->second;
    loops_[loop].enters.push_back(&node);
  } else if (KindOf(node) == ControlFlowKind::kExit) {
    loop = loops_[loop].parent;
  } else if (KindOf(node) == ControlFlowKind::kLoopCond) {
    loops_[loop].condition = &node;
  }
  if (loop != kRoot) loop_of_[&node] = loop;
  return absl::OkStatus();
}

void LoopNest::FindVariables(absl::Span<const Node* const> nodes) {
  absl::flat_hash_map<const Node*, std::pair<int, size_t>> by_part;  // Enters, Merges, Switches
  for (const Node* const node : nodes) {
    if (!IsMergeOfLoop(*node)) continue;
    const Node* const enter = node->input(0).node;
    std::vector<LoopVariable>& variables = loops_[LoopOf(node)].variables;
    const std::pair<int, size_t> place = {LoopOf(node), variables.size()};
    by_part[enter] = place;
    by_part[node] = place;
    variables.push_back(LoopVariable{enter, node, nullptr, node->input(1).node, {}});
  }
  for (const Node* const node : nodes) {
    const bool is_exit = KindOf(*node) == ControlFlowKind::kExit;
    if (!is_exit && !IsDecision(*node)) continue;
    const auto found = by_part.find(node->input(0).node);
    if (found == by_part.end()) {
      loops_[OwnLoop(node)].form =
          AnnotateWithNode(errors::Unimplemented(
                               "expected a variable of the loop as input, to have a gradient, got ",
                               node->input(0).node->Describe()),
                           *node);
      continue;
    }
    const std::pair<int, size_t> place = found->second;
    LoopVariable& variable = loops_[place.first].variables[place.second];
    if (is_exit) {
      variable.exits.push_back(node);
    } else {
      variable.decision = node;
      by_part[node] = place;
    }
  }
  for (Loop& loop : loops_) {
    for (const Node* const enter : loop.enters) {
      if (!by_part.contains(enter)) loop.invariants.push_back(enter);
    }
    CheckForm(&loop);
  }
}

void LoopNest::CheckForm(Loop* loop) const {
  if (loop->enters.empty()) return;
  const auto refuse = [&](const Node* node, const char* missing) {
    if (!loop->form.ok()) return;
    loop->form =
        AnnotateWithNode(errors::Unimplemented("the loop of '", loop->frame_name, "' has no ",
                                               missing, ", which it needs to have a gradient"),
                         *node);
  };
  if (loop->condition == nullptr) refuse(loop->enters[0], "LoopCond");
  for (const Node* const enter : loop->invariants) {
    const StatusOr<bool> is_constant = enter->Attr<bool>("is_constant");
    if (!is_constant.ok() || !*is_constant) refuse(enter, "Merge for a variable");
  }
}

StatusOr<LoopNest> LoopNest::Of(absl::Span<const Node* const> nodes) {
  LoopNest nest;
  for (const Node* const node : nodes) MS_RETURN_IF_ERROR(nest.Place(*node));
  nest.FindVariables(nodes);
  return nest;
}

}  // namespace millstream
