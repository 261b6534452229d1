#include "core/graph/graph.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/graph/control_flow.h"
#include "core/graph/error_details.h"
#include "framework/op_registry.h"

namespace millstream {
namespace {

constexpr char kNodePayload[] = "millstream/node";

DataTypeList TypesOf(const std::vector<Output>& outputs) {
  DataTypeList types;
  types.reserve(outputs.size());
  for (const Output& output : outputs) types.push_back(output.dtype());
  return types;
}

// A Merge's back edge that was not given yet; see Graph::AddNode.
bool IsMissing(const Node& node, const Output& source) { return !source || source.node == &node; }

// `imported`: the node that the user knows, where there is one.
std::string DescribeNode(const std::string& name, const std::string& op,
                         const ImportedNode* imported, const std::string& source) {
  return absl::StrCat("node '", imported == nullptr ? name : imported->name, "' (op ",
                      imported == nullptr ? op : imported->op, ")",
                      source.empty() ? "" : ", made at ", source);
}

std::string DescribeSpec(const NodeSpec& spec) {
  return DescribeNode(spec.name, spec.op, spec.imported.get(), spec.source);
}

// Adds what is known of the inputs while the graph is built.
Status WithInputs(const Status& status, const std::vector<Output>& inputs,
                  absl::FunctionRef<PartialShape(const Output&)> shape_of) {
  if (inputs.empty()) return status;
  std::vector<std::string> described;
  for (const Output& input : inputs) {
    described.push_back(input ? absl::StrCat(DataTypeName(input.dtype()),
                                             shape_of(input).ToString(), " ", input.name())
                              : "?");
  }
  return WithErrorDetail(status, "inputs", JoinInputs(described));
}

// The runtime has no references; the import replaces the ops that work on them.
Status CheckNoReferences(const OpDef& op) {
  if (!HasReferences(op)) return absl::OkStatus();
  return errors::InvalidArgument(
      "the op works on references to variables, which only imported "
      "graphs have; use ops on the handles of VarHandleOp");
}

// Of an op that newer graphs cannot have.
Status CheckNotDeprecated(const OpDef& op, int version) {
  const bool is_old =
      op.deprecated_version == 0 || version < static_cast<int>(op.deprecated_version);
  if (is_old) return absl::OkStatus();
  return errors::Unimplemented("the op is not for graphs of version ", op.deprecated_version,
                               " and later, and this one has version ", version, ": ",
                               op.deprecation);
}

Status Annotate(const Status& status, absl::string_view description, absl::string_view name) {
  if (status.ok() || status.GetPayload(kNodePayload).has_value()) return status;
  Status result = WithErrorNode(status, description);
  result.SetPayload(kNodePayload, absl::Cord(name));
  return result;
}

}  // namespace

std::string Output::name() const {
  return node == nullptr ? "<none>" : absl::StrCat(node->name(), ":", index);
}

DataType Output::dtype() const {
  return node == nullptr ? DataType::kInvalid : node->output_type(index);
}

std::string Node::Describe() const {
  return DescribeNode(name(), op().name, imported_.get(), *source_);
}

Output HandleOfImported(const Output& output) {
  const Node& node = *output.node;
  const bool was_reference =
      node.imported() != nullptr && !node.imported()->hidden && node.op().name == "ReadVariableOp";
  return was_reference ? node.input(0) : output;
}

// Ops on handles answer NOT_FOUND for a variable without value, ops on references
// FAILED_PRECONDITION: an imported node keeps its own class of error.
Status AnnotateWithNode(const Status& status, const Node& node) {
  if (node.imported() == nullptr) return Annotate(status, node.Describe(), node.name());
  Status result = Annotate(status, node.Describe(), node.imported()->name);
  const bool was_named = status.GetPayload(kNodePayload).has_value();
  if (!absl::IsNotFound(status) || was_named) return result;
  Status precondition = errors::FailedPrecondition(result.message());
  precondition.SetPayload(kNodePayload, *result.GetPayload(kNodePayload));
  return precondition;
}

Status AnnotateWithSpec(const Status& status, const NodeSpec& spec) {
  return Annotate(status, DescribeSpec(spec),
                  spec.imported == nullptr ? spec.name : spec.imported->name);
}

std::string StatusNode(const Status& status) {
  absl::optional<absl::Cord> payload = status.GetPayload(kNodePayload);
  return payload.has_value() ? std::string(*payload) : std::string();
}

Graph::Graph() : producer_version_(kGraphDefProducer) { sources_.insert(""); }
Graph::~Graph() = default;

const std::string* Graph::InternSource(std::string source) {
  return &*sources_.insert(std::move(source)).first;
}

StatusOr<std::vector<OutputFacts>> Graph::InferFacts(const Node& node) const {
  std::vector<InputFacts> inputs(node.num_inputs());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Output& source = node.inputs_[i];
    inputs[i].dtype = node.signature().input_types[i];
    if (IsMissing(node, source)) continue;
    const OutputFacts& facts = source.node->facts_[source.index];
    inputs[i].shape = facts.shape;
    inputs[i].constant = ConstantValue(source);
    inputs[i].partial_value = facts.value.has_value() ? &*facts.value : nullptr;
    inputs[i].handle = facts.handle.has_value() ? &*facts.handle : nullptr;
  }
  ShapeContext context(node.call(), std::move(inputs));
  return InferShapes(&context);
}

StatusOr<const Node*> Graph::AddNode(NodeSpec spec) {
  const std::string description = DescribeSpec(spec);
  const std::string name = spec.name;
  auto fail = [&](const Status& status) { return Annotate(status, description, name); };

  StatusOr<const OpDef*> op = OpRegistry::Global()->Find(spec.op);
  if (!op.ok()) return fail(op.status());
  for (const Output& input : spec.inputs) {
    if (!input && KindOf(**op) == ControlFlowKind::kMerge) continue;
    if (!input || input.index < 0 || input.index >= input.node->num_outputs()) {
      return fail(errors::InvalidArgument("an input is no tensor of this graph"));
    }
  }
  const Status references = CheckNoReferences(**op);
  if (!references.ok()) return fail(references);
  auto node = std::make_unique<Node>();
  const DataTypeList types = TypesOf(spec.inputs);
  StatusOr<OwnedOpCall> call =
      MakeOpCall(**op, std::move(spec.attrs), types, spec.input_counts, spec.allow_unknown_attrs);
  if (!call.ok()) return fail(call.status());
  node->call_ = *std::move(call);
  const Status fits = CheckInputTypes(node->call(), types, [&](int i) {
    return absl::StrCat(DataTypeName(types[i]), " (", spec.inputs[i].name(), ")");
  });
  if (!fits.ok()) {
    return fail(WithInputs(fits, spec.inputs, [this](auto& input) { return Facts(input).shape; }));
  }
  node->call_.name = std::move(spec.name);
  node->inputs_ = std::move(spec.inputs);
  node->control_inputs_ = std::move(spec.control_inputs);
  node->device_ = std::move(spec.device);
  node->imported_ = std::move(spec.imported);

  absl::MutexLock lock(&mutex_);
  const Status deprecated =
      CheckNotDeprecated(**op, spec.producer_version.value_or(producer_version_));
  if (!deprecated.ok()) return fail(deprecated);
  if (node->name().empty()) return fail(errors::InvalidArgument("a node needs a name"));
  if (by_name_.contains(node->name())) {
    return fail(errors::AlreadyExists("the graph has a node of this name"));
  }
  StatusOr<std::vector<OutputFacts>> inferred = InferFacts(*node);
  if (!inferred.ok()) {
    return fail(WithInputs(inferred.status(), node->inputs_, [](const Output& input) {
      return input.node->facts_[input.index].shape;
    }));
  }
  node->facts_ = *std::move(inferred);
  // A back edge that is still to come stands as an edge from the Merge to itself.
  for (Output& input : node->inputs_) {
    if (!input) input = node->output(0);
  }
  node->id_ = static_cast<int>(nodes_.size());
  node->source_ = InternSource(std::move(spec.source));
  const Node* added = node.get();
  by_name_.emplace(added->name(), added);
  names_in_use_.try_emplace(absl::AsciiStrToLower(added->name()), 1);
  nodes_.push_back(std::move(node));
  has_run_.push_back(false);
  return added;
}

const Node* Graph::AddCopy(const Node& original, std::vector<Output> inputs,
                           std::vector<const Node*> control_inputs) {
  auto node = std::make_unique<Node>();
  node->call_ = original.call_;
  node->facts_ = original.facts_;
  node->source_ = original.source_;
  node->imported_ = original.imported_;
  node->origin_ = original.origin();
  node->inputs_ = std::move(inputs);
  for (Output& input : node->inputs_) {
    if (!input) input = node->output(0);
  }
  node->control_inputs_ = std::move(control_inputs);
  absl::MutexLock lock(&mutex_);
  node->id_ = static_cast<int>(nodes_.size());
  const Node* added = node.get();
  by_name_.emplace(added->name(), added);
  nodes_.push_back(std::move(node));
  has_run_.push_back(false);
  return added;
}

StatusOr<const Node*> Graph::FindNode(absl::string_view name) const {
  absl::MutexLock lock(&mutex_);
  auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    return errors::NotFound("the graph has no node '", name, "' (it has ", nodes_.size(),
                            " nodes)");
  }
  return found->second;
}

StatusOr<Output> Graph::FindOutput(absl::string_view name) const {
  absl::string_view node_name = name;
  int index = 0;
  const size_t colon = name.rfind(':');
  if (colon != absl::string_view::npos) {
    if (!absl::SimpleAtoi(name.substr(colon + 1), &index) || index < 0) {
      return errors::InvalidArgument("'", name, "' is no tensor name: expected NODE:INDEX");
    }
    node_name = name.substr(0, colon);
  }
  MS_ASSIGN_OR_RETURN(const Node* node, FindNode(node_name));
  if (index >= node->num_outputs()) {
    return errors::NotFound("no tensor '", name, "': ", node->Describe(), " has ",
                            node->num_outputs(), " outputs");
  }
  return node->output(index);
}

int Graph::num_nodes() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(nodes_.size());
}

const Node* Graph::node(int id) const {
  absl::MutexLock lock(&mutex_);
  return nodes_[id].get();
}

std::vector<const Node*> Graph::nodes() const {
  absl::MutexLock lock(&mutex_);
  std::vector<const Node*> result;
  result.reserve(nodes_.size());
  for (const auto& node : nodes_) result.push_back(node.get());
  return result;
}

std::string Graph::UniqueName(absl::string_view name, bool reserve) {
  absl::MutexLock lock(&mutex_);
  const std::string key = absl::AsciiStrToLower(name);
  auto found = names_in_use_.find(key);
  int count = found == names_in_use_.end() ? 0 : found->second;
  if (count == 0) {
    if (reserve) names_in_use_[key] = 1;
    return std::string(name);
  }
  while (names_in_use_.contains(absl::StrCat(key, "_", count))) ++count;
  const std::string suffix = absl::StrCat("_", count);
  if (reserve) {
    names_in_use_[key] = count + 1;
    names_in_use_[key + suffix] = 1;
  }
  return absl::StrCat(name, suffix);
}

OutputFacts Graph::Facts(Output output) const {
  absl::MutexLock lock(&mutex_);
  return output.node->facts_[output.index];
}

const Tensor* Graph::ConstantValue(Output output) {
  if (output.node->op().name != "Const") return nullptr;
  const AttrValue* value = FindAttr(output.node->attrs(), "value");
  return value == nullptr ? nullptr : value->get<Tensor>();
}

Status Graph::RefineShape(Output output, const PartialShape& shape) {
  absl::MutexLock lock(&mutex_);
  OutputFacts& facts = nodes_[output.node->id()]->facts_[output.index];
  StatusOr<PartialShape> merged = facts.shape.MergeWith(shape);
  if (!merged.ok()) return AnnotateWithNode(merged.status(), *output.node);
  facts.shape = *std::move(merged);
  PartialShape& refined = refined_[output];
  refined = refined.MergeWith(shape).value_or(shape);
  return absl::OkStatus();
}

Status Graph::AddControlInput(const Node* node, const Node* control) {
  absl::MutexLock lock(&mutex_);
  if (has_run_[node->id()]) {
    return AnnotateWithNode(errors::FailedPrecondition("the node has run and can no longer change"),
                            *node);
  }
  std::vector<Node*> waiting = {nodes_[node->id()].get()};
  // An imported node that changes a variable does so in a hidden one, before which it waits.
  for (const Node* before : node->control_inputs_) {
    const ImportedNode* imported = before->imported();
    if (imported != nullptr && imported->hidden && imported->name == node->name()) {
      waiting.push_back(nodes_[before->id()].get());
    }
  }
  for (Node* each : waiting) {
    std::vector<const Node*>& controls = each->control_inputs_;
    if (std::find(controls.begin(), controls.end(), control) != controls.end()) continue;
    controls.push_back(control);
    NoteChange(each);
  }
  return absl::OkStatus();
}

std::vector<const Node*> Graph::ControlInputs(const Node* node) const {
  absl::MutexLock lock(&mutex_);
  return node->control_inputs_;
}

std::string Graph::Device(const Node* node) const {
  absl::MutexLock lock(&mutex_);
  return node->device_;
}

Status Graph::SetDevice(const Node* node, std::string device) {
  absl::MutexLock lock(&mutex_);
  if (has_run_[node->id()]) {
    return AnnotateWithNode(errors::FailedPrecondition("the node has run and can no longer change"),
                            *node);
  }
  nodes_[node->id()]->device_ = std::move(device);
  NoteChange(node);
  return absl::OkStatus();
}

void Graph::MarkAsRun(absl::Span<const Node* const> nodes) {
  absl::MutexLock lock(&mutex_);
  for (const Node* node : nodes) has_run_[node->id()] = true;
}

int64_t Graph::num_changes() const {
  absl::MutexLock lock(&mutex_);
  return num_changes_;
}

bool Graph::MarkAsRunUnlessChanged(absl::Span<const Node* const> nodes, int64_t changes) {
  absl::MutexLock lock(&mutex_);
  if (num_changes_ != changes) {
    for (const Node* node : nodes) {
      const auto changed = changed_.find(node);
      if (changed != changed_.end() && changed->second > changes) return false;
    }
  }
  for (const Node* node : nodes) has_run_[node->id()] = true;
  return true;
}

std::string Graph::library() const {
  absl::MutexLock lock(&mutex_);
  return library_;
}

void Graph::set_library(std::string bytes) {
  absl::MutexLock lock(&mutex_);
  library_ = std::move(bytes);
}

int Graph::producer_version() const {
  absl::MutexLock lock(&mutex_);
  return producer_version_;
}

void Graph::set_producer_version(int version) {
  absl::MutexLock lock(&mutex_);
  producer_version_ = version;
}

}  // namespace millstream
