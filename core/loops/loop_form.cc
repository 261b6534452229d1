#include "core/loops/loop_form.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/graph/control_flow.h"

namespace millstream {
namespace {

class FormFinder {
 public:
  FormFinder(const FrameItems& frame, const InnerLimits& limits) : frame_(frame), limits_(limits) {}
  std::optional<LoopForm> Run();

 private:
  bool IsHidden() const;
  void AddInvariants();
  bool AddVariable(const Node& merge);
  bool AddVariables();
  bool AddBranch(const StepItem& item);
  bool AddExits();
  bool Classify(StepItem item);
  bool IsOfBody(const StepItem& item) const;
  bool ReadsWhatIsThere(const StepItem& item, bool is_body) const;
  void NoteEnds(const StepItem& item);
  std::vector<bool> NeededByCondition() const;
  bool Divide();

  // The roles that values have inside of the loop.
  // kBefore: computed without a Switch.
  enum class Role { kMerged, kTaken, kLeft, kFirst, kNext, kInvariant, kBefore, kBody };
  struct Computed {
    StepItem item;
    Role role;
  };
  bool Has(const Output& value, Role role) const {
    auto found = roles_.find(value);
    return found != roles_.end() && found->second == role;
  }

  const FrameItems& frame_;
  const InnerLimits& limits_;
  LoopForm form_;
  absl::flat_hash_map<Output, Role> roles_;
  absl::flat_hash_map<const Node*, Role> nodes_;  // of the nodes that stay: kBefore or kBody
  absl::flat_hash_map<Output, int> variable_of_;  // by Merge, and by Switch
  std::vector<Computed> computed_;
};

// Nobody outside sees what is inside.
bool FormFinder::IsHidden() const {
  const auto is_hidden = [&](const StepItem& item) { return limits_.IsHidden(item); };
  return absl::c_all_of(frame_.inside, is_hidden) && absl::c_all_of(frame_.enters, is_hidden);
}

void FormFinder::AddInvariants() {
  for (const StepItem& item : frame_.enters) {
    for (const Node* control : item.controls) form_.controls.push_back(control);
    if (!IsConstantEnter(*item.node)) {
      roles_[item.outputs[0]] = Role::kFirst;
      continue;
    }
    const Output source = BehindEnters(item.inputs[0]);
    const bool is_source = IsSource(*source.node) && !limits_.fed.contains(source);
    form_.invariants.push_back({is_source ? source : item.inputs[0], item.outputs[0], is_source});
    roles_[item.outputs[0]] = Role::kInvariant;
  }
  // A feed is there in all frames.
  for (const StepItem& item : frame_.inside) {
    for (const Output& input : item.inputs) {
      if (!limits_.fed.contains(input) || roles_.contains(input)) continue;
      form_.invariants.push_back({input, input, false});
      roles_[input] = Role::kInvariant;
    }
  }
}

bool FormFinder::AddVariable(const Node& merge) {
  if (merge.num_inputs() != 2) return false;
  const bool is_first = IsBackEdge(merge.input(0), merge);
  const Output& next = merge.input(is_first ? 0 : 1);
  const Output& first = merge.input(is_first ? 1 : 0);
  if (!IsBackEdge(next, merge) || !Has(first, Role::kFirst) || roles_.contains(next)) return false;
  // A handle that exists before the step has no value that could change.
  if (merge.output_type(0) == DataType::kResource &&
      IsSource(*BehindEnters(first.node->input(0)).node)) {
    return false;
  }
  CarriedValue variable;
  variable.initial = first.node->input(0);
  variable.merge = &merge;
  variable.next = next.node;
  roles_[next] = Role::kNext;
  roles_[merge.output(0)] = Role::kMerged;
  variable_of_[merge.output(0)] = static_cast<int>(form_.variables.size());
  form_.variables.push_back(std::move(variable));
  return true;
}

bool FormFinder::AddVariables() {
  int num_next = 0;
  for (const StepItem& item : frame_.inside) {
    if (item.is_inner()) continue;
    switch (KindOf(*item.node)) {
      case ControlFlowKind::kMerge:
        if (!AddVariable(*item.node)) return false;
        break;
      case ControlFlowKind::kNextIteration: ++num_next; break;
      case ControlFlowKind::kLoopCond:
        if (form_.condition != nullptr) return false;
        form_.condition = item.node;
        break;
      default: break;
    }
  }
  const size_t num_first = absl::c_count_if(
      frame_.enters, [](const StepItem& item) { return !IsConstantEnter(*item.node); });
  return form_.condition != nullptr && num_first == form_.variables.size() &&
         num_next == static_cast<int>(form_.variables.size());
}

// A Switch that the condition of the loop decides.
bool FormFinder::AddBranch(const StepItem& item) {
  if (KindOf(*item.node) != ControlFlowKind::kSwitch) return false;
  auto variable = variable_of_.find(item.inputs[0]);
  if (variable == variable_of_.end() || item.inputs[1] != form_.condition->output(0)) return false;
  const int number = variable->second;
  const Node*& branch = form_.variables[number].branch;
  if (branch != nullptr) return false;
  branch = item.node;
  roles_[item.node->output(0)] = Role::kLeft;
  roles_[item.node->output(1)] = Role::kTaken;
  variable_of_[item.node->output(0)] = number;
  return true;
}

bool FormFinder::AddExits() {
  for (const StepItem& item : frame_.exits) {
    if (!Has(item.inputs[0], Role::kLeft)) return false;
    form_.exits.push_back(variable_of_.at(item.inputs[0]));
  }
  return !form_.exits.empty();
}

bool FormFinder::IsOfBody(const StepItem& item) const {
  const auto is_taken = [&](const Output& input) {
    return Has(input, Role::kTaken) || Has(input, Role::kBody);
  };
  const auto is_body = [&](const Node* control) {
    auto found = nodes_.find(control);
    return found != nodes_.end() && found->second == Role::kBody;
  };
  return absl::c_any_of(item.inputs, is_taken) || absl::c_any_of(item.controls, is_body);
}

// Values of the frame that are there when the item runs.
bool FormFinder::ReadsWhatIsThere(const StepItem& item, bool is_body) const {
  return absl::c_all_of(item.inputs, [&](const Output& input) {
    auto found = roles_.find(input);
    if (found == roles_.end()) return false;
    switch (found->second) {
      case Role::kMerged:
      case Role::kInvariant:
      case Role::kBefore: return true;
      case Role::kTaken:
      case Role::kBody: return is_body;
      case Role::kLeft:
      case Role::kFirst:
      case Role::kNext: return false;
    }
    return false;
  });
}

// What only a node waits for that becomes none.
void FormFinder::NoteEnds(const StepItem& item) {
  for (const Node* control : item.controls) {
    auto found = nodes_.find(control);
    if (found == nodes_.end()) continue;
    (found->second == Role::kBody ? form_.ends_body : form_.ends_before).push_back(control);
  }
}

// REQUIRES: the items that it reads and waits for were classified.
bool FormFinder::Classify(StepItem item) {
  if (!item.is_inner()) {
    const ControlFlowKind kind = KindOf(*item.node);
    if (kind == ControlFlowKind::kSwitch) return AddBranch(item);
    if (kind == ControlFlowKind::kMerge || kind == ControlFlowKind::kLoopCond) return true;
    if (kind == ControlFlowKind::kNextIteration) return true;
  }
  if (!limits_.Allow(item)) return false;
  const bool is_body = IsOfBody(item);
  if (!ReadsWhatIsThere(item, is_body)) return false;
  const Role role = is_body ? Role::kBody : Role::kBefore;
  for (const Output& output : item.outputs) roles_[output] = role;
  for (const Node* node : item.stands_for) nodes_[node] = role;
  computed_.push_back({std::move(item), role});
  return true;
}

// The nodes that the condition needs, from the last to the first. All others that need no Switch
// wait for the iteration that reads them.
std::vector<bool> FormFinder::NeededByCondition() const {
  absl::flat_hash_set<Output> values = {form_.condition->input(0)};
  absl::flat_hash_set<const Node*> nodes(form_.ends_before.begin(), form_.ends_before.end());
  std::vector<bool> needed(computed_.size(), false);
  for (size_t i = computed_.size(); i-- > 0;) {
    const StepItem& item = computed_[i].item;
    if (computed_[i].role != Role::kBefore) continue;
    needed[i] =
        absl::c_any_of(item.outputs,
                       [&](const Output& output) { return values.contains(output); }) ||
        absl::c_any_of(item.stands_for, [&](const Node* node) { return nodes.contains(node); });
    if (!needed[i]) continue;
    values.insert(item.inputs.begin(), item.inputs.end());
    nodes.insert(item.controls.begin(), item.controls.end());
  }
  return needed;
}

// Divides the nodes. What both the condition and the body read is computed in both; false if that
// could be seen.
bool FormFinder::Divide() {
  const std::vector<bool> of_condition = NeededByCondition();
  absl::flat_hash_set<Output> values;
  for (const CarriedValue& variable : form_.variables) values.insert(variable.next->input(0));
  std::vector<bool> of_body(computed_.size(), false);
  for (size_t i = computed_.size(); i-- > 0;) {
    const auto& [item, role] = computed_[i];
    of_body[i] =
        role == Role::kBody || !of_condition[i] ||
        absl::c_any_of(item.outputs, [&](const Output& output) { return values.contains(output); });
    if (!of_body[i]) continue;
    values.insert(item.inputs.begin(), item.inputs.end());
    const bool is_stateful = item.is_inner() || item.node->op().is_stateful;
    if (of_condition[i] && is_stateful) return false;
    // On the dynamic executor it would run once more, and a random stream would move on.
    const bool is_random = !item.is_inner() && FindAttr(item.node->attrs(), "seed") != nullptr;
    if (role == Role::kBefore && is_stateful && is_random) return false;
  }
  for (size_t i = 0; i < computed_.size(); ++i) {
    if (of_condition[i]) form_.before.push_back(computed_[i].item);
    if (of_body[i]) form_.body.push_back(std::move(computed_[i].item));
  }
  return true;
}

std::optional<LoopForm> FormFinder::Run() {
  if (!IsHidden()) return std::nullopt;
  AddInvariants();
  if (!AddVariables()) return std::nullopt;
  std::vector<StepItem> items = frame_.inside;
  if (!Sort(&items)) return std::nullopt;
  for (StepItem& item : items) {
    if (!Classify(std::move(item))) return std::nullopt;
  }
  if (!AddExits()) return std::nullopt;
  const auto ends = [&](const Output& value, Role computed) {
    return Has(value, Role::kMerged) || Has(value, Role::kInvariant) || Has(value, computed);
  };
  if (!ends(form_.condition->input(0), Role::kBefore)) return std::nullopt;
  for (const CarriedValue& variable : form_.variables) {
    const Output& next = variable.next->input(0);
    const bool is_there =
        ends(next, Role::kBody) || Has(next, Role::kTaken) || Has(next, Role::kBefore);
    if (!is_there) return std::nullopt;
  }
  for (const StepItem& item : frame_.inside) {
    if (!item.is_inner() && KindOf(*item.node) != ControlFlowKind::kNone) NoteEnds(item);
  }
  for (const StepItem& item : frame_.exits) NoteEnds(item);
  if (!Divide()) return std::nullopt;
  return std::move(form_);
}

}  // namespace

std::optional<LoopForm> FindLoopForm(const FrameItems& frame, const InnerLimits& limits) {
  return FormFinder(frame, limits).Run();
}

}  // namespace millstream
