#include "core/import/import_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/graph/colocation.h"
#include "core/import/function_library.h"
#include "core/import/import_functions.h"
#include "core/import/import_refs.h"
#include "framework/op_registry.h"
#include "framework/proto_conversion.h"

namespace millstream {
namespace {

// Attributes that the runtime itself reads.
constexpr char kOutputShapesAttr[] = "_output_shapes";

// Letters, digits and "_./\->"; the first is a letter, a digit, "." or "_".
bool IsNodeName(absl::string_view name) {
  if (name.empty()) return false;
  auto may_start = [](char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_'; };
  return may_start(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
           return may_start(c) || c == '/' || c == '\\' || c == '-' || c == '>';
         });
}

// Which versions of the reader the GraphDef takes.
Status CheckVersions(const proto::GraphDef& def) {
  const proto::VersionDef& versions = def.versions();
  if (versions.min_consumer() > kGraphDefProducer) {
    return errors::InvalidArgument("the GraphDef, of producer version ", versions.producer(),
                                   ", needs a reader of version ", versions.min_consumer(),
                                   " or later; this one has version ", kGraphDefProducer);
  }
  const auto& bad = versions.bad_consumers();
  if (std::find(bad.begin(), bad.end(), kGraphDefProducer) != bad.end()) {
    return errors::InvalidArgument("the GraphDef, of producer version ", versions.producer(),
                                   ", may not be read by readers of version ", kGraphDefProducer,
                                   ", which this one is");
  }
  return absl::OkStatus();
}

// A longer list of ops is told in part.
constexpr size_t kMaxUnknownOps = 50;

// One error about all ops that are not registered.
Status CheckOps(const proto::GraphDef& def, const FunctionLibrary& library) {
  struct Uses {
    int count = 0;
    std::string first;
  };
  std::map<std::string, Uses> unknown;
  for (const proto::NodeDef& node : def.node()) {
    if (OpRegistry::Global()->FindOrNull(node.op()) != nullptr) continue;
    if (library.FindOrNull(node.op()) != nullptr) continue;
    Uses& uses = unknown[node.op()];
    if (uses.count++ == 0) uses.first = node.name();
  }
  if (unknown.empty()) return absl::OkStatus();
  const size_t count = unknown.size();
  if (count > kMaxUnknownOps) {
    unknown.erase(std::next(unknown.begin(), kMaxUnknownOps), unknown.end());
  }
  return errors::NotFound("the GraphDef uses ", count,
                          count == 1               ? " unknown op: "
                          : count > kMaxUnknownOps ? " unknown ops, such as: "
                                                   : " unknown ops: ",
                          absl::StrJoin(unknown, ", ", [](std::string* out, const auto& entry) {
                            absl::StrAppend(
                                out, entry.first, " (", entry.second.count,
                                entry.second.count == 1 ? " node, '" : " nodes, first '",
                                entry.second.first, "')");
                          }));
}

Status TakeDeclaredShapes(PlannedNode* node) {
  AttrMap& attrs = node->spec.attrs;
  if (FindAttr(attrs, kOutputShapesAttr) == nullptr) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(node->declared_shapes,
                      GetAttr<std::vector<PartialShape>>(attrs, kOutputShapesAttr));
  attrs.erase(std::find_if(attrs.begin(), attrs.end(),
                           [](const auto& attr) { return attr.first == kOutputShapesAttr; }));
  return absl::OkStatus();
}

// Later versions add attributes. From a producer that this reader knows, one that the op does not
// define is a mistake.
Status PlanAttrs(ImportPlan* plan, PlannedNode* node) {
  NodeSpec& spec = node->spec;
  spec.allow_unknown_attrs = plan->producer > kGraphDefProducer;
  spec.producer_version = plan->producer;
  MS_RETURN_IF_ERROR(CompleteAttrs(*node->op, &spec.attrs, spec.allow_unknown_attrs));
  for (const auto& [name, value] : spec.attrs) {
    if (absl::StartsWith(name, "_") || node->op->FindAttr(name) != nullptr) continue;
    plan->has_unknown_attrs = true;
  }
  return absl::OkStatus();
}

class Planner {
 public:
  Planner(const Graph& graph, FunctionLibrary library, proto::GraphDef* def,
          const ImportOptions& options)
      : graph_(graph),
        library_(std::move(library)),
        def_(*def),
        options_(options),
        budget_(def->ByteSizeLong(), options.max_expansion) {}

  StatusOr<ImportPlan> Plan() {
    plan_.producer = def_.has_versions() ? def_.versions().producer() : def_.version();
    MS_RETURN_IF_ERROR(CheckVersions(def_));
    MS_RETURN_IF_ERROR(CheckNames());
    MS_RETURN_IF_ERROR(CheckOps(def_, library_));
    MS_RETURN_IF_ERROR(CheckFunctions());
    MS_RETURN_IF_ERROR(IndexNames());
    MS_RETURN_IF_ERROR(IndexInputMap());
    MS_RETURN_IF_ERROR(FindControlDependencies());
    MS_RETURN_IF_ERROR(PlanNodes());
    MS_RETURN_IF_ERROR(CheckInputMapNames());
    MS_RETURN_IF_ERROR(ExpandCalls(graph_, library_, options_, &plan_, &budget_));
    MS_RETURN_IF_ERROR(OrderNodes(&plan_));
    MS_RETURN_IF_ERROR(CheckTypesAndShapes(graph_, &plan_, &budget_));
    MS_RETURN_IF_ERROR(ReplaceReferences());
    MS_RETURN_IF_ERROR(PlanReturnTensors());
    return std::move(plan_);
  }

 private:
  using Key = std::pair<std::string, int>;
  using ControlSet = absl::flat_hash_set<std::pair<int, const Node*>>;
  struct Replacement {
    Output output;
    bool used = false;
  };

  std::string WithPrefix(absl::string_view name) const {
    if (options_.prefix.empty()) return std::string(name);
    return absl::StrCat(options_.prefix, "/", name);
  }

  // Of each node either the message or the plan is there: both are large.
  Status PlanNodes() {
    std::vector<proto::NodeDef*> taken(def_.node_size());
    def_.mutable_node()->ExtractSubrange(0, def_.node_size(), taken.data());
    std::vector<std::unique_ptr<proto::NodeDef>> defs(taken.begin(), taken.end());
    for (std::unique_ptr<proto::NodeDef>& def : defs) {
      PlannedNode* const node = plan_.nodes.Add(PlannedNode());
      node->spec = SpecOf(*def);
      const Status status = PlanNode(*def, node);
      if (!status.ok()) return AnnotateWithSpec(status, node->spec);
      def.reset();
    }
    return absl::OkStatus();
  }

  NodeSpec SpecOf(const proto::NodeDef& node) const {
    NodeSpec spec;
    spec.name = WithPrefix(node.name());
    spec.op = node.op();
    spec.device = node.device();
    spec.source = options_.source;
    return spec;
  }

  // Before anything is made for a node.
  Status CheckNames() const {
    for (int i = 0; i < def_.node_size(); ++i) {
      const std::string name = WithPrefix(def_.node(i).name());
      if (IsNodeName(name)) continue;
      return errors::InvalidArgument("node ", i, " of the GraphDef: '", name,
                                     "' is no name of a node");
    }
    return absl::OkStatus();
  }

  // That no function has a forbidden op, whether it is called or not.
  Status CheckFunctions() const {
    for (const proto::FunctionDef& function : def_.library().function()) {
      for (const proto::NodeDef& node : function.node_def()) {
        const OpDef* const op = OpRegistry::Global()->FindOrNull(node.op());
        if (op == nullptr) continue;
        MS_RETURN_IF_ERROR(
            WithContext(options_.forbidden_ops.Check(*op),
                        absl::StrCat("function '", function.signature().name(), "', node '",
                                     node.name(), "' (op ", op->name, ")")));
      }
    }
    return absl::OkStatus();
  }

  Status IndexNames() {
    for (int i = 0; i < def_.node_size(); ++i) {
      const proto::NodeDef& node = def_.node(i);
      if (!by_name_.emplace(node.name(), i).second) {
        return AnnotateWithSpec(errors::InvalidArgument("the GraphDef has two nodes of this name"),
                                SpecOf(node));
      }
      if (graph_.FindNode(WithPrefix(node.name())).ok()) {
        return AnnotateWithSpec(errors::AlreadyExists("the graph has a node of this name"),
                                SpecOf(node));
      }
    }
    return absl::OkStatus();
  }

  Status IndexInputMap() {
    for (const auto& [text, output] : options_.input_map) {
      StatusOr<TensorName> name = ParseTensorName(text);
      if (!name.ok()) return WithContext(name.status(), "input map");
      if (!output) return errors::InvalidArgument("input map: no tensor is given for '", text, "'");
      input_map_[Key(name->node, name->index)].output = output;
    }
    return absl::OkStatus();
  }

  // A replaced input that is nowhere in the GraphDef is a misspelt one.
  Status CheckInputMapNames() const {
    for (const auto& [key, replacement] : input_map_) {
      if (replacement.used || by_name_.contains(key.first)) continue;
      return errors::InvalidArgument("input map: the GraphDef has no node '", key.first, "'");
    }
    return absl::OkStatus();
  }

  Status FindControlDependencies() {
    for (const std::string& name : options_.control_dependencies) {
      MS_ASSIGN_OR_RETURN(const Node* node, graph_.FindNode(name));
      control_dependencies_.push_back({-1, TensorName::kControl, Output{node, 0}});
    }
    return absl::OkStatus();
  }

  // Whether the tensor is one of the GraphDef or replaced by one of the graph.
  StatusOr<PlannedInput> Resolve(absl::string_view text) {
    MS_ASSIGN_OR_RETURN(const TensorName name, ParseTensorName(text));
    auto replaced = input_map_.find(Key(name.node, name.index));
    if (replaced != input_map_.end()) {
      replaced->second.used = true;
      return PlannedInput{-1, name.index, replaced->second.output};
    }
    auto found = by_name_.find(name.node);
    if (found != by_name_.end()) return PlannedInput{found->second, name.index, Output()};
    return errors::InvalidArgument("'", text, "' does not exist: the GraphDef has no node '",
                                   name.node, "'");
  }

  Status PlanNode(const proto::NodeDef& def, PlannedNode* node) {
    MS_RETURN_IF_ERROR(PlanOp(def, library_, &plan_, &budget_, node));
    MS_RETURN_IF_ERROR(options_.forbidden_ops.Check(*node->op));
    PrefixColocation(&node->spec.attrs);
    return PlanInputs(def, node);
  }

  Status ReplaceReferences() {
    bool has_references = false;
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      has_references = has_references || HasReferences(*plan_.nodes[i].op);
    }
    if (!has_references) return absl::OkStatus();
    MS_RETURN_IF_ERROR(RewriteReferences(graph_, &plan_));
    return CheckTypesAndShapes(graph_, &plan_, &budget_);
  }

  // Colocation names nodes, so it follows when they are renamed.
  void PrefixColocation(AttrMap* attrs) const {
    if (options_.prefix.empty()) return;
    RenameColocated(
        [this](absl::string_view node) -> std::optional<std::string> {
          if (!by_name_.contains(node)) return std::nullopt;
          return WithPrefix(node);
        },
        attrs);
  }

  Status PlanInputs(const proto::NodeDef& def, PlannedNode* node) {
    bool is_root = true;
    ControlSet controls;
    for (const std::string& text : def.input()) {
      StatusOr<PlannedInput> input = Resolve(text);
      if (!input.ok()) return WithContext(input.status(), absl::StrCat("input '", text, "'"));
      if (input->node >= 0) is_root = false;
      if (input->index == TensorName::kControl) {
        AddControlInput(*input, &controls, node);
        continue;
      }
      if (!node->control_inputs.empty()) {
        return errors::InvalidArgument("input '", text, "' stands after a control input");
      }
      node->inputs.push_back(*input);
    }
    // Nodes with inputs from the GraphDef wait for the control dependencies through these inputs.
    if (!is_root) return absl::OkStatus();
    for (const PlannedInput& control : control_dependencies_) {
      AddControlInput(control, &controls, node);
    }
    return absl::OkStatus();
  }

  // Each but once. `present`: those that the node has.
  static void AddControlInput(const PlannedInput& control, ControlSet* present, PlannedNode* node) {
    if (!present->emplace(control.node, control.existing.node).second) return;
    node->control_inputs.push_back(control);
  }

  Status PlanReturnTensors() {
    for (const std::string& text : options_.return_tensors) {
      StatusOr<PlannedInput> tensor = Resolve(text);
      if (!tensor.ok()) return WithContext(tensor.status(), "return tensors");
      const int outputs =
          tensor->node < 0
              ? tensor->existing.node->num_outputs()
              : static_cast<int>(plan_.nodes[tensor->node].signature.output_types.size());
      if (tensor->index < 0 || (tensor->node >= 0 && tensor->index >= outputs)) {
        return errors::InvalidArgument("return tensors: '", text, "' is no tensor: the node has ",
                                       outputs, " outputs");
      }
      plan_.return_tensors.push_back(*tensor);
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const FunctionLibrary library_;
  proto::GraphDef& def_;
  const ImportOptions& options_;
  ImportBudget budget_;
  ImportPlan plan_;
  absl::flat_hash_map<std::string, int> by_name_;  // without prefix
  absl::flat_hash_map<Key, Replacement> input_map_;
  std::vector<PlannedInput> control_dependencies_;
};

}  // namespace

StatusOr<TensorName> ParseTensorName(absl::string_view text) {
  TensorName name;
  if (absl::ConsumePrefix(&text, "^")) {
    if (text.empty()) return errors::InvalidArgument("'^' names no node");
    name.node = std::string(text);
    name.index = TensorName::kControl;
    return name;
  }
  const size_t colon = text.rfind(':');
  name.node = std::string(text.substr(0, colon));
  if (name.node.empty()) return errors::InvalidArgument("'", text, "' names no node");
  if (colon == absl::string_view::npos) return name;
  const absl::string_view digits = text.substr(colon + 1);
  const bool is_number = std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
  if (is_number && absl::SimpleAtoi(digits, &name.index)) return name;
  return errors::InvalidArgument("'", text, "' is no tensor name: expected NODE:INDEX");
}

StatusOr<ImportPlan> PlanImport(const Graph& graph, proto::GraphDef* def,
                                const ImportOptions& options) {
  MS_ASSIGN_OR_RETURN(FunctionLibrary library,
                      FunctionLibrary::Create(graph.library(), def->library()));
  return Planner(graph, std::move(library), def, options).Plan();
}

Status PlanOp(const proto::NodeDef& def, const FunctionLibrary& library, ImportPlan* plan,
              ImportBudget* budget, PlannedNode* node) {
  MS_RETURN_IF_ERROR(budget->TakeConstants(def));
  node->op = OpRegistry::Global()->FindOrNull(def.op());
  if (node->op == nullptr && library.FindOrNull(def.op()) != nullptr) {
    MS_RETURN_IF_ERROR(PlanCallByName(def, library, node));
  } else {
    MS_ASSIGN_OR_RETURN(node->op, OpRegistry::Global()->Find(def.op()));
    MS_ASSIGN_OR_RETURN(node->spec.attrs, AttrsFromProto(def.attr()));
  }
  MS_RETURN_IF_ERROR(TakeDeclaredShapes(node));
  MS_RETURN_IF_ERROR(PlanAttrs(plan, node));
  return budget->TakeOutputs(*node->op, node->spec.attrs);
}

std::string PlannedName(const ImportPlan& plan, const PlannedInput& input) {
  if (input.node < 0) return ExportedName(input.existing);
  const std::string& name = plan.nodes[input.node].spec.name;
  return input.index <= 0 ? name : absl::StrCat(name, ":", input.index);
}

}  // namespace millstream
