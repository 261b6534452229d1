#include "core/import/graph_def.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/import/export_calls.h"
#include "core/import/export_refs.h"
#include "core/import/import_plan.h"
#include "framework/message.h"
#include "framework/op_registry.h"
#include "framework/proto_conversion.h"
#include "millstream/framework/protos/function.pb.h"
#include "millstream/framework/protos/graph.pb.h"
#include "millstream/framework/protos/node_def.pb.h"

namespace millstream {
namespace {

// ---- Import ----

// Adds the messages of `from` that `to` does not have.
template <typename Messages>
Status AddMissing(const Messages& from, Messages* to) {
  absl::flat_hash_set<std::string> present;
  for (const auto& message : *to) {
    MS_ASSIGN_OR_RETURN(std::string bytes, ToBinary(message));
    present.insert(std::move(bytes));
  }
  for (const auto& message : from) {
    MS_ASSIGN_OR_RETURN(std::string bytes, ToBinary(message));
    if (present.insert(std::move(bytes)).second) *to->Add() = message;
  }
  return absl::OkStatus();
}

// Adds what `from` has and `to` has not. INVALID_ARGUMENT when they have different functions of one
// name.
Status MergeLibrary(const proto::FunctionDefLibrary& from, proto::FunctionDefLibrary* to) {
  absl::flat_hash_map<std::string, std::string> present;
  for (const proto::FunctionDef& function : to->function()) {
    MS_ASSIGN_OR_RETURN(present[function.signature().name()], ToBinary(function));
  }
  for (const proto::FunctionDef& function : from.function()) {
    MS_ASSIGN_OR_RETURN(std::string bytes, ToBinary(function));
    auto [found, added] = present.try_emplace(function.signature().name(), bytes);
    if (added) {
      *to->add_function() = function;
    } else if (found->second != bytes) {
      return errors::InvalidArgument("the graph has another function called '", found->first, "'");
    }
  }
  MS_RETURN_IF_ERROR(AddMissing(from.gradient(), to->mutable_gradient()));
  return AddMissing(from.registered_gradients(), to->mutable_registered_gradients());
}

// The graph's library with that of the GraphDef.
StatusOr<std::string> MergedLibrary(const Graph& graph, const proto::GraphDef& def) {
  const std::string present = graph.library();
  if (!def.has_library()) return present;
  if (present.empty()) return ToBinary(def.library());
  MS_ASSIGN_OR_RETURN(const MessagePtr message, ParseBinary("FunctionDefLibrary", present));
  auto* library = static_cast<proto::FunctionDefLibrary*>(message.get());
  MS_RETURN_IF_ERROR(MergeLibrary(def.library(), library));
  return ToBinary(*library);
}

// A graph of several origins declares the oldest. One that has attributes which this reader does
// not know declares a version that this reader does not know either, so that it is read again.
int MergedProducer(const Graph& graph, const ImportPlan& plan) {
  if (graph.num_nodes() == 0) return plan.producer;
  if (plan.has_unknown_attrs) return std::max(graph.producer_version(), plan.producer);
  return std::min(graph.producer_version(), plan.producer);
}

Output OutputOf(const std::vector<const Node*>& added, const PlannedInput& input) {
  return input.node < 0 ? input.existing : Output{added[input.node], input.index};
}

// An input that closes a loop, by the numbers of the plan.
struct LoopInput {
  size_t merge = 0;
  size_t input = 0;
  int next = -1;
};

// Takes them out of the plan: they are given when all nodes are there.
std::vector<LoopInput> TakeLoopInputs(ImportPlan* plan) {
  std::vector<LoopInput> taken;
  for (size_t i = 0; i < plan->nodes.size(); ++i) {
    PlannedNode& node = plan->nodes[i];
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (!IsBackEdge(*plan, node.inputs[k], node)) continue;
      taken.push_back({i, k, node.inputs[k].node});
      node.inputs[k] = PlannedInput();
    }
  }
  return taken;
}

StatusOr<const Node*> AddPlanned(Graph* graph, const std::vector<const Node*>& added,
                                 PlannedNode* planned) {
  NodeSpec& spec = planned->spec;
  for (const PlannedInput& input : planned->inputs) spec.inputs.push_back(OutputOf(added, input));
  for (const PlannedInput& control : planned->control_inputs) {
    spec.control_inputs.push_back(OutputOf(added, control).node);
  }
  MS_ASSIGN_OR_RETURN(const Node* node, graph->AddNode(std::move(spec)));
  for (size_t i = 0; i < planned->declared_shapes.size(); ++i) {
    MS_RETURN_IF_ERROR(
        graph->RefineShape(node->output(static_cast<int>(i)), planned->declared_shapes[i]));
  }
  return node;
}

Status CloseLoops(Graph* graph, const std::vector<LoopInput>& inputs,
                  const std::vector<const Node*>& added) {
  std::vector<Graph::BackEdge> edges;
  for (const LoopInput& input : inputs) {
    edges.push_back({added[input.merge], static_cast<int>(input.input), added[input.next]});
  }
  return graph->SetBackEdges(edges);
}

// ---- Export ----

bool IsHidden(const Node& node) { return node.imported() != nullptr && node.imported()->hidden; }

// True if exports have another node in the place of a hidden one.
bool HasStandIn(const Node& node) { return IsHidden(node) && !IsOfBody(node); }

const std::string& NodeName(const Node& node) {
  return HasStandIn(node) ? node.imported()->stands_for : node.name();
}

// The op that a graph outside of the runtime has. An internal op on handles has the name of the op
// on references that it replaces, after "_" (import_refs.h).
std::string OutsideOp(const OpDef& op) {
  if (!absl::StartsWith(op.name, "_")) return op.name;
  const OpDef* const replaced = OpRegistry::Global()->FindOrNull(op.name.substr(1));
  return replaced != nullptr && HasReferences(*replaced) ? replaced->name : op.name;
}

// The same for a node, which stays what it is where its handle does not become a reference.
std::string OutsideOp(const Node& node) {
  const OpDef& op = node.op();
  if (node.num_inputs() == 0) return OutsideOp(op);
  const Node& source = *node.input(0).node;
  const bool is_reference =
      source.imported() != nullptr || OutsideOp(source.op()) != source.op().name;
  return is_reference ? OutsideOp(op) : op.name;
}

// True for the condition of an If or While that is a bool. Others than the runtime read it as the
// Identity that it is of the scalar that their conditions must be.
bool IsIdentity(const Graph& graph, const Node& node) {
  if (node.op().name != "_ToBool" || node.input(0).dtype() != DataType::kBool) return false;
  const PartialShape shape = graph.Facts(node.input(0)).shape;
  return !shape.known_rank() || shape.rank() == 0;
}

// Op, inputs and attributes of a node that runs as it is.
Status OwnToProto(const Graph& graph, const Node& node, proto::NodeDef* message) {
  const std::optional<ReferenceForm> form = ReferenceFormOf(node);
  message->set_op(form.has_value() ? form->op->name : OutsideOp(node));
  for (const Output& input : node.inputs()) message->add_input(ExportedName(input));
  for (const Node* control : graph.ControlInputs(&node)) {
    message->add_input(absl::StrCat("^", NodeName(*control)));
  }
  return AttrsToProto(form.has_value() ? form->attrs : node.attrs(), message->mutable_attr());
}

// Those of a node that was another one, with the control inputs that it was given since.
Status ImportedToProto(const Graph& graph, const Node& node, proto::NodeDef* message) {
  const ImportedNode& imported = *node.imported();
  message->set_op(imported.op);
  for (const std::string& input : imported.inputs) message->add_input(input);
  const std::vector<const Node*> controls = graph.ControlInputs(&node);
  for (size_t i = imported.num_controls; i < controls.size(); ++i) {
    message->add_input(absl::StrCat("^", NodeName(*controls[i])));
  }
  return AttrsToProto(imported.attrs, message->mutable_attr());
}

// The shape that the output of a node has outside, where its op is `outside`. A reference to the
// name of a queue or the like is a vector of two names, and its handle a scalar.
PartialShape OutsideShape(const Graph& graph, const Output& output, absl::string_view outside) {
  if (output.dtype() == DataType::kResource) {
    const OpDef* const op = OpRegistry::Global()->FindOrNull(outside);
    const bool is_reference =
        op != nullptr && output.index < static_cast<int>(op->outputs.size()) &&
        op->outputs[output.index].is_ref && op->outputs[output.index].type == DataType::kString;
    if (is_reference) return PartialShape::Vector(2);
  }
  return graph.Facts(output).shape;
}

// `open_calls` are the names of imported nodes that are written as they run, with their bodies.
Status NodeToProto(const Graph& graph, const Node& node, bool with_shapes,
                   const absl::flat_hash_set<std::string>& open_calls, proto::NodeDef* message) {
  message->set_name(node.name());
  message->set_device(graph.Device(&node));
  const bool as_imported =
      node.imported() != nullptr && !IsHidden(node) && !open_calls.contains(node.name());
  Status status =
      as_imported ? ImportedToProto(graph, node, message) : OwnToProto(graph, node, message);
  if (!status.ok()) return AnnotateWithNode(status, node);
  if (!with_shapes || node.num_outputs() == 0) return absl::OkStatus();
  std::vector<PartialShape> shapes;
  for (int i = 0; i < node.num_outputs(); ++i)
    shapes.push_back(OutsideShape(graph, node.output(i), message->op()));
  return AttrValueToProto(std::move(shapes), &(*message->mutable_attr())["_output_shapes"]);
}

}  // namespace

std::string ExportedName(const Output& output) {
  const int first = HasStandIn(*output.node) ? output.node->imported()->first_output : 0;
  const std::string& name = NodeName(*output.node);
  return first + output.index == 0 ? name : absl::StrCat(name, ":", first + output.index);
}

StatusOr<ImportResult> ImportGraphDef(Graph* graph, absl::string_view bytes,
                                      const ImportOptions& options) {
  MS_ASSIGN_OR_RETURN(MessagePtr message, ParseBinary("GraphDef", bytes));
  auto* const def = static_cast<proto::GraphDef*>(message.get());
  const int num_nodes = def->node_size();
  MS_ASSIGN_OR_RETURN(ImportPlan plan, PlanImport(*graph, def, options));
  MS_ASSIGN_OR_RETURN(std::string library, MergedLibrary(*graph, *def));
  const int producer = MergedProducer(*graph, plan);
  message.reset();

  ImportResult result;
  result.nodes.resize(plan.nodes.size());
  const std::vector<LoopInput> loops = TakeLoopInputs(&plan);
  for (int i : plan.order) {
    MS_ASSIGN_OR_RETURN(result.nodes[i], AddPlanned(graph, result.nodes, &plan.nodes[i]));
    plan.nodes.Drop(i);
  }
  MS_RETURN_IF_ERROR(CloseLoops(graph, loops, result.nodes));
  for (const PlannedInput& tensor : plan.return_tensors) {
    result.return_tensors.push_back(OutputOf(result.nodes, tensor));
  }
  result.nodes.resize(num_nodes);  // without those that replace references
  graph->set_library(std::move(library));
  graph->set_producer_version(producer);
  return result;
}

StatusOr<std::string> ExportGraphDef(const Graph& graph, bool with_shapes) {
  proto::GraphDef def;
  const std::vector<const Node*> nodes = graph.nodes();
  const absl::flat_hash_set<std::string> open_calls = OpenCalls(graph, nodes);
  for (const Node* node : nodes) {
    const bool is_of_open = IsOfBody(*node) && open_calls.contains(node->imported()->stands_for);
    if (IsHidden(*node) && !is_of_open) continue;
    proto::NodeDef* const added = def.add_node();
    MS_RETURN_IF_ERROR(NodeToProto(graph, *node, with_shapes, open_calls, added));
    if (is_of_open && IsIdentity(graph, *node)) added->set_op("Identity");
  }
  def.mutable_versions()->set_producer(graph.producer_version());
  const std::string library = graph.library();
  if (!library.empty()) {
    MS_ASSIGN_OR_RETURN(const MessagePtr message, ParseBinary("FunctionDefLibrary", library));
    *def.mutable_library() = static_cast<const proto::FunctionDefLibrary&>(*message);
  }
  return ToBinary(def);
}

StatusOr<std::string> ExportNodes(const Graph& graph, const std::vector<const Node*>& nodes,
                                  const std::string& device) {
  proto::GraphDef def;
  const absl::flat_hash_set<std::string> open_calls = CallersOf(nodes);
  for (const Node* node : nodes) {
    proto::NodeDef* const added = def.add_node();
    MS_RETURN_IF_ERROR(NodeToProto(graph, *node, /*with_shapes=*/false, open_calls, added));
    added->set_device(device);
  }
  def.mutable_versions()->set_producer(graph.producer_version());
  return ToBinary(def);
}

StatusOr<std::string> ExportNodeDef(const Graph& graph, const Node& node) {
  proto::NodeDef message;
  MS_RETURN_IF_ERROR(NodeToProto(graph, node, /*with_shapes=*/false, {}, &message));
  return ToBinary(message);
}

}  // namespace millstream
