#include "core/import/import_functions.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/graph/colocation.h"
#include "core/graph/imported_node.h"
#include "core/import/body_effects.h"
#include "core/import/lower_control_flow.h"
#include "core/import/lowering.h"
#include "framework/op_registry.h"

namespace millstream {
namespace {

constexpr char kCall[] = "PartitionedCall";
constexpr char kStatefulCall[] = "StatefulPartitionedCall";
constexpr char kFunctionAttr[] = "f";

bool IsGradient(const OpDef& op) { return op.name == "SymbolicGradient"; }

using Tensors = std::vector<PlannedInput>;

// Puts the call's attributes in the place of what a body calls them.
Status FillPlaceholders(const AttrProtoMap& given, AttrProtoMap* attrs) {
  for (auto& [name, value] : *attrs) {
    if (value.has_func()) {
      MS_RETURN_IF_ERROR(FillPlaceholders(given, value.mutable_func()->mutable_attr()));
    }
    if (value.has_list()) {
      for (auto& function : *value.mutable_list()->mutable_func()) {
        MS_RETURN_IF_ERROR(FillPlaceholders(given, function.mutable_attr()));
      }
    }
    if (value.value_case() != proto::AttrValue::kPlaceholder) continue;
    const auto found = given.find(value.placeholder());
    if (found == given.end()) {
      return errors::InvalidArgument("attribute '", name, "' is that of the function called '",
                                     value.placeholder(), "', which the call does not give");
    }
    const proto::AttrValue filled = found->second;
    value = filled;
  }
  return absl::OkStatus();
}

// What a body can name: its arguments and its nodes, by name.
class Scope {
 public:
  void AddArguments(const BoundFunction& function, const Tensors& given) {
    for (size_t k = 0; k < function.signature.inputs.size(); ++k) {
      Tensors& argument = arguments_[function.signature.inputs[k].name];
      const std::vector<int>& starts = function.expanded.input_starts;
      argument.assign(given.begin() + starts[k], given.begin() + starts[k + 1]);
    }
  }
  // Outputs are named by `signature`, the op's or that of the function which the node calls.
  void AddNode(const std::string& name, int number, const OpDef& signature,
               const NodeSignature& expanded) {
    BodyNode& node = nodes_[name];
    node.number = number;
    for (size_t k = 0; k < signature.outputs.size(); ++k) {
      Tensors& output = node.outputs[signature.outputs[k].name];
      for (int i = expanded.output_starts[k]; i < expanded.output_starts[k + 1]; ++i) {
        output.push_back(PlannedInput{number, i, Output()});
      }
    }
  }
  bool HasNode(absl::string_view name) const { return nodes_.contains(name); }
  // REQUIRES: HasNode(name).
  int NumberOf(absl::string_view name) const { return nodes_.find(name)->second.number; }

  // "argument", "argument:1", "node:output" (all its tensors) or "node:output:1".
  StatusOr<Tensors> FindTensors(absl::string_view text) const {
    const std::vector<std::string> parts = absl::StrSplit(text, ':');
    const auto argument = arguments_.find(parts[0]);
    if (argument != arguments_.end() && parts.size() <= 2) {
      return Select(argument->second, text, parts, 1);
    }
    const auto node = nodes_.find(parts[0]);
    if (node == nodes_.end() || parts.size() < 2 || parts.size() > 3) return NoTensor(text);
    const auto output = node->second.outputs.find(parts[1]);
    if (output == node->second.outputs.end()) return NoTensor(text);
    return Select(output->second, text, parts, 2);
  }
  // The node of "node", or those that give an argument.
  StatusOr<Tensors> FindControls(absl::string_view name) const {
    const auto node = nodes_.find(name);
    if (node != nodes_.end()) {
      return Tensors{PlannedInput{node->second.number, TensorName::kControl, Output()}};
    }
    const auto argument = arguments_.find(name);
    if (argument == arguments_.end()) return NoTensor(absl::StrCat("^", name));
    Tensors controls = argument->second;
    for (PlannedInput& control : controls) control.index = TensorName::kControl;
    return controls;
  }

 private:
  struct BodyNode {
    int number = -1;
    absl::flat_hash_map<std::string, Tensors> outputs;
  };

  static Status NoTensor(absl::string_view text) {
    return errors::InvalidArgument("the function's body has no '", text,
                                   "'; expected ARGUMENT, ARGUMENT:INDEX, NODE:OUTPUT or "
                                   "NODE:OUTPUT:INDEX");
  }
  // All of `tensors`, or the one whose index is part `index`.
  static StatusOr<Tensors> Select(const Tensors& tensors, absl::string_view text,
                                  const std::vector<std::string>& parts, size_t index) {
    if (parts.size() == index) return tensors;
    int number = -1;
    if (!absl::SimpleAtoi(parts[index], &number) || number < 0 || number >= tensors.size()) {
      return NoTensor(text);
    }
    return Tensors{tensors[number]};
  }

  absl::flat_hash_map<std::string, Tensors> arguments_;
  absl::flat_hash_map<std::string, BodyNode> nodes_;
};

class Expander : public PlanEditor {
 public:
  Expander(const Graph& graph, const FunctionLibrary& library, const ImportOptions& options,
           ImportPlan* plan, ImportBudget* budget)
      : graph_(graph), library_(library), options_(options), plan_(*plan), budget_(*budget) {
    for (size_t i = 0; i < plan->nodes.size(); ++i) names_.insert(plan->nodes[i].spec.name);
    callers_.resize(plan->nodes.size(), -1);
    functions_.resize(plan->nodes.size());
  }

  // Bodies have calls too, which come behind.
  Status Run() {
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const Status status = ExpandNode(static_cast<int>(i));
      if (!status.ok()) return AnnotateWithSpec(status, plan_.nodes[i].spec);
    }
    return absl::OkStatus();
  }

 private:
  Status ExpandNode(int i) {
    const OpDef& op = *node(i).op;
    if (IsCall(op)) return Expand(i);
    if (IsFunctionalControlFlow(op)) return LowerControlFlow(i, this);
    if (IsGradient(op)) return LowerSymbolicGradient(i, library_, options_, this);
    return absl::OkStatus();
  }

  PlannedNode& node(int i) override { return plan_.nodes[i]; }
  StatusOr<int> AddHidden(int owner, const std::string& name, const char* op, AttrMap attrs,
                          Tensors inputs, Tensors control_inputs) override;
  StatusOr<BoundFunction> Bind(const FunctionRef& function) override {
    return library_.Bind(function);
  }
  Status Become(int owner, const DataTypeList& types, Tensors results, Tensors effects) override;

  Status Expand(int call);
  Status CheckCall(int call, const BoundFunction& function);
  Status CheckRecursion(int call, const std::string& name) const;
  Status AddBody(int call, const BoundFunction& function, Scope* scope);
  Status PlanBodyNode(int call, const proto::NodeDef& def, PlannedNode* added);
  void Hide(int owner, const std::string& op, PlannedNode* added);
  int AddNode(int owner, PlannedNode added);
  Status ConnectBody(int call, const BoundFunction& function, int first, const Scope& scope);
  Status ConnectNode(int call, const proto::NodeDef& def, int number, int first,
                     const Scope& scope);
  StatusOr<Tensors> ResultsOf(const BoundFunction& function, const Scope& scope) const;
  StatusOr<Tensors> EffectsOf(const BoundFunction& function, int first, const Scope& scope) const;
  std::string FreeName(const std::string& name);

  const Graph& graph_;
  const FunctionLibrary& library_;
  const ImportOptions& options_;
  ImportPlan& plan_;
  ImportBudget& budget_;
  absl::flat_hash_set<std::string> names_;
  std::vector<int> callers_;            // the node that each hidden node is a part of; -1: none
  std::vector<std::string> functions_;  // of each call that was expanded: what it calls
};

std::string Expander::FreeName(const std::string& name) {
  std::string free = name;
  for (int i = 1; names_.contains(free) || graph_.FindNode(free).ok(); ++i) {
    free = absl::StrCat(name, "_", i);
  }
  names_.insert(free);
  return free;
}

// Expanding has no end for a function that calls itself.
Status Expander::CheckRecursion(int call, const std::string& name) const {
  std::vector<std::string> path = {name};
  for (int caller = callers_[call]; caller >= 0; caller = callers_[caller]) {
    if (functions_[caller].empty()) continue;  // it chooses among functions
    path.insert(path.begin(), functions_[caller]);
    if (functions_[caller] != name) continue;
    return errors::Unimplemented("function '", name, "' calls itself, which cannot be expanded: ",
                                 absl::StrJoin(path, " calls "));
  }
  return absl::OkStatus();
}

Status Expander::CheckCall(int call, const BoundFunction& function) {
  const AttrMap& attrs = node(call).spec.attrs;
  MS_ASSIGN_OR_RETURN(const DataTypeList given, GetAttr<DataTypeList>(attrs, "Tin"));
  MS_ASSIGN_OR_RETURN(const DataTypeList wanted, GetAttr<DataTypeList>(attrs, "Tout"));
  const std::string& name = function.definition->signature().name();
  if (given != function.expanded.input_types || wanted != function.expanded.output_types) {
    return errors::InvalidArgument("the call has arguments ", DataTypeListName(given),
                                   " and results ", DataTypeListName(wanted), "; function '", name,
                                   "' has ", DataTypeListName(function.expanded.input_types),
                                   " and ", DataTypeListName(function.expanded.output_types));
  }
  if (node(call).inputs.size() == given.size()) return absl::OkStatus();
  return errors::InvalidArgument("function '", name, "' takes ", given.size(),
                                 " tensors, the call gives ", node(call).inputs.size());
}

Status Expander::Expand(int call) {
  MS_ASSIGN_OR_RETURN(const FunctionRef called,
                      GetAttr<FunctionRef>(node(call).spec.attrs, kFunctionAttr));
  MS_ASSIGN_OR_RETURN(const BoundFunction function, library_.Bind(called));
  MS_RETURN_IF_ERROR(CheckCall(call, function));
  MS_RETURN_IF_ERROR(CheckRecursion(call, called.name));
  functions_[call] = called.name;
  const std::string context = absl::StrCat("function '", called.name, "'");
  const int first = static_cast<int>(plan_.nodes.size());
  Scope scope;
  scope.AddArguments(function, node(call).inputs);
  MS_RETURN_IF_ERROR(WithContext(AddBody(call, function, &scope), context));
  MS_RETURN_IF_ERROR(WithContext(ConnectBody(call, function, first, scope), context));
  StatusOr<Tensors> results = ResultsOf(function, scope);
  if (!results.ok()) return WithContext(results.status(), context);
  StatusOr<Tensors> effects = EffectsOf(function, first, scope);
  if (!effects.ok()) return WithContext(effects.status(), context);
  return Become(call, function.expanded.output_types, *std::move(results), *std::move(effects));
}

// The body's nodes, without inputs.
Status Expander::AddBody(int call, const BoundFunction& function, Scope* scope) {
  for (const proto::NodeDef& in_body : function.definition->node_def()) {
    const std::string context = absl::StrCat("node '", in_body.name(), "'");
    proto::NodeDef def = in_body;
    MS_RETURN_IF_ERROR(
        WithContext(FillPlaceholders(function.attr_protos, def.mutable_attr()), context));
    if (scope->HasNode(def.name())) {
      return errors::InvalidArgument("the body has two nodes called '", def.name(), "'");
    }
    PlannedNode added;
    MS_RETURN_IF_ERROR(WithContext(PlanBodyNode(call, def, &added), context));
    const int number = static_cast<int>(plan_.nodes.size());
    const proto::FunctionDef* const called = library_.FindOrNull(def.op());
    if (OpRegistry::Global()->FindOrNull(def.op()) == nullptr && called != nullptr) {
      MS_ASSIGN_OR_RETURN(const FunctionRef by_name,
                          GetAttr<FunctionRef>(added.spec.attrs, kFunctionAttr));
      MS_ASSIGN_OR_RETURN(const BoundFunction bound, library_.Bind(by_name));
      scope->AddNode(def.name(), number, bound.signature, bound.expanded);
    } else {
      MS_ASSIGN_OR_RETURN(const NodeSignature expanded,
                          ExpandSignature(*added.op, added.spec.attrs));
      scope->AddNode(def.name(), number, *added.op, expanded);
    }
    AddNode(call, std::move(added));
  }
  return absl::OkStatus();
}

int Expander::AddNode(int owner, PlannedNode added) {
  plan_.nodes.Add(std::move(added));
  callers_.push_back(owner);
  functions_.emplace_back();
  return static_cast<int>(plan_.nodes.size()) - 1;
}

StatusOr<int> Expander::AddHidden(int owner, const std::string& name, const char* op, AttrMap attrs,
                                  Tensors inputs, Tensors control_inputs) {
  const NodeSpec& owner_spec = node(owner).spec;
  PlannedNode added;
  MS_ASSIGN_OR_RETURN(added.op, OpRegistry::Global()->Find(op));
  MS_RETURN_IF_ERROR(CompleteAttrs(*added.op, &attrs));
  added.spec.name = FreeName(absl::StrCat(owner_spec.name, "/", name));
  added.spec.op = op;
  added.spec.attrs = std::move(attrs);
  added.spec.device = owner_spec.device;
  added.spec.source = owner_spec.source;
  added.spec.producer_version = plan_.producer;
  proto::NodeDef counted;
  counted.set_name(added.spec.name);
  MS_RETURN_IF_ERROR(budget_.TakeNode(counted));
  MS_RETURN_IF_ERROR(budget_.TakeInputs(inputs.size() + control_inputs.size()));
  MS_RETURN_IF_ERROR(budget_.TakeOutputs(*added.op, added.spec.attrs));
  added.inputs = std::move(inputs);
  added.control_inputs = std::move(control_inputs);
  Hide(owner, op, &added);
  return AddNode(owner, std::move(added));
}

Status Expander::PlanBodyNode(int call, const proto::NodeDef& def, PlannedNode* added) {
  const NodeSpec& call_spec = node(call).spec;
  added->spec.name = FreeName(absl::StrCat(call_spec.name, "/", def.name()));
  added->spec.op = def.op();
  added->spec.device = def.device().empty() ? call_spec.device : def.device();
  added->spec.source = call_spec.source;
  MS_RETURN_IF_ERROR(budget_.TakeNode(def));
  MS_RETURN_IF_ERROR(PlanOp(def, library_, &plan_, &budget_, added));
  if (HasReferences(*added->op)) {
    return errors::Unimplemented("op ", added->op->name,
                                 " works on references to variables, which functions cannot have");
  }
  Hide(call, def.op(), added);
  return absl::OkStatus();
}

// Exports write the owner, or the one that this is hidden for, in the place of the node.
void Expander::Hide(int owner, const std::string& op, PlannedNode* added) {
  const NodeSpec& owner_spec = node(owner).spec;
  auto imported = std::make_shared<ImportedNode>();
  imported->name = added->spec.name;
  imported->op = op;
  imported->hidden = true;
  imported->stands_for = owner_spec.imported == nullptr || !owner_spec.imported->hidden
                             ? owner_spec.name
                             : owner_spec.imported->stands_for;
  added->spec.imported = std::move(imported);
}

Status Expander::ConnectBody(int call, const BoundFunction& function, int first,
                             const Scope& scope) {
  for (int k = 0; k < function.definition->node_def_size(); ++k) {
    const proto::NodeDef& def = function.definition->node_def(k);
    MS_RETURN_IF_ERROR(WithContext(ConnectNode(call, def, first + k, first, scope),
                                   absl::StrCat("node '", def.name(), "'")));
    RenameColocated(
        [&](absl::string_view name) -> std::optional<std::string> {
          if (!scope.HasNode(name)) return std::nullopt;
          return node(scope.NumberOf(name)).spec.name;
        },
        &node(first + k).spec.attrs);
  }
  return absl::OkStatus();
}

// Nodes from number `first` on are the body's. What reads none of them waits for what the call
// waits for.
Status Expander::ConnectNode(int call, const proto::NodeDef& def, int number, int first,
                             const Scope& scope) {
  bool waits = true;
  for (const std::string& text : def.input()) {
    absl::string_view name = text;
    const bool is_control = absl::ConsumePrefix(&name, "^");
    MS_ASSIGN_OR_RETURN(const Tensors found,
                        is_control ? scope.FindControls(name) : scope.FindTensors(name));
    Tensors& inputs = is_control ? node(number).control_inputs : node(number).inputs;
    if (!is_control && !node(number).control_inputs.empty()) {
      return errors::InvalidArgument("input '", text, "' stands after a control input");
    }
    MS_RETURN_IF_ERROR(budget_.TakeInputs(found.size()));
    for (const PlannedInput& input : found) {
      if (input.node >= first) waits = false;
      inputs.push_back(input);
    }
  }
  if (!waits) return absl::OkStatus();
  const Tensors& before = node(call).control_inputs;
  MS_RETURN_IF_ERROR(budget_.TakeInputs(before.size()));
  node(number).control_inputs.insert(node(number).control_inputs.end(), before.begin(),
                                     before.end());
  return absl::OkStatus();
}

StatusOr<Tensors> Expander::ResultsOf(const BoundFunction& function, const Scope& scope) const {
  Tensors results;
  for (size_t k = 0; k < function.signature.outputs.size(); ++k) {
    const std::string& name = function.signature.outputs[k].name;
    const auto returned = function.definition->ret().find(name);
    if (returned == function.definition->ret().end()) {
      return errors::InvalidArgument("the body returns nothing for result '", name, "'");
    }
    StatusOr<Tensors> found = scope.FindTensors(returned->second);
    if (!found.ok()) return WithContext(found.status(), absl::StrCat("result '", name, "'"));
    const int count = function.expanded.output_starts[k + 1] - function.expanded.output_starts[k];
    if (static_cast<int>(found->size()) != count) {
      return errors::InvalidArgument("result '", name, "' has ", count, " tensors, '",
                                     returned->second, "' has ", found->size());
    }
    results.insert(results.end(), found->begin(), found->end());
  }
  return results;
}

// What must have run when the call ends.
StatusOr<Tensors> Expander::EffectsOf(const BoundFunction& function, int first,
                                      const Scope& scope) const {
  Tensors effects;
  absl::flat_hash_set<int> present;
  for (const auto& [name, in_body] : function.definition->control_ret()) {
    MS_ASSIGN_OR_RETURN(const Tensors found, scope.FindControls(in_body));
    for (const PlannedInput& effect : found) {
      if (effect.node < 0 || present.insert(effect.node).second) effects.push_back(effect);
    }
  }
  for (const int k : BodyEffects(plan_, first)) {
    if (present.insert(k).second) effects.push_back({k, TensorName::kControl, Output()});
  }
  return effects;
}

// The node keeps its name, gives the results, and is exported as it came.
Status Expander::Become(int owner, const DataTypeList& types, Tensors results, Tensors effects) {
  PlannedNode& changed = node(owner);
  auto imported = changed.spec.imported == nullptr
                      ? std::make_shared<ImportedNode>()
                      : std::make_shared<ImportedNode>(*changed.spec.imported);
  if (!imported->hidden) {
    imported->name = changed.spec.name;
    if (imported->op.empty()) {
      imported->op = changed.spec.op;
      imported->attrs = changed.spec.attrs;
    }
    for (const PlannedInput& input : changed.inputs) {
      imported->inputs.push_back(PlannedName(plan_, input));
    }
    for (const PlannedInput& control : changed.control_inputs) {
      imported->inputs.push_back(absl::StrCat("^", PlannedName(plan_, control)));
    }
  }
  AttrMap attrs;
  for (const auto& [name, value] : changed.spec.attrs) {
    if (absl::StartsWith(name, "_")) SetAttr(&attrs, name, value);
  }
  const bool has_results = !results.empty();
  if (has_results) SetAttr(&attrs, "T", types);
  MS_ASSIGN_OR_RETURN(changed.op, OpRegistry::Global()->Find(has_results ? "IdentityN" : "NoOp"));
  changed.spec.op = changed.op->name;
  changed.spec.attrs = std::move(attrs);
  changed.inputs = std::move(results);
  changed.control_inputs.insert(changed.control_inputs.end(), effects.begin(), effects.end());
  imported->num_controls = changed.control_inputs.size();
  changed.spec.imported = std::move(imported);
  return absl::OkStatus();
}

}  // namespace

bool IsCall(const OpDef& op) { return op.name == kCall || op.name == kStatefulCall; }

Status PlanCallByName(const proto::NodeDef& def, const FunctionLibrary& library,
                      PlannedNode* node) {
  MS_ASSIGN_OR_RETURN(AttrMap given, AttrsFromProto(def.attr()));
  auto imported = std::make_shared<ImportedNode>();
  imported->op = def.op();
  imported->attrs = given;
  AttrMap attrs;
  AttrMap of_function;
  for (auto& [name, value] : given) {
    SetAttr(absl::StartsWith(name, "_") ? &attrs : &of_function, name, std::move(value));
  }
  FunctionRef function;
  function.name = def.op();
  function.attrs = std::make_shared<const AttrMap>(std::move(of_function));
  MS_ASSIGN_OR_RETURN(const BoundFunction bound, library.Bind(function));
  const bool is_stateful = bound.definition->signature().is_stateful();
  MS_ASSIGN_OR_RETURN(node->op, OpRegistry::Global()->Find(is_stateful ? kStatefulCall : kCall));
  SetAttr(&attrs, "Tin", bound.expanded.input_types);
  SetAttr(&attrs, "Tout", bound.expanded.output_types);
  SetAttr(&attrs, kFunctionAttr, std::move(function));
  node->spec.op = node->op->name;
  node->spec.attrs = std::move(attrs);
  node->spec.imported = std::move(imported);
  return CompleteAttrs(*node->op, &node->spec.attrs);
}

Status ExpandCalls(const Graph& graph, const FunctionLibrary& library, const ImportOptions& options,
                   ImportPlan* plan, ImportBudget* budget) {
  for (size_t i = 0; i < plan->nodes.size(); ++i) {
    const OpDef& op = *plan->nodes[i].op;
    if (IsCall(op) || IsFunctionalControlFlow(op) || IsGradient(op)) {
      return Expander(graph, library, options, plan, budget).Run();
    }
  }
  return absl::OkStatus();
}

}  // namespace millstream
