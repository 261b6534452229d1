// Getters of nodes and their outputs, and the changes that are allowed after a node is added.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "core/c_api/c_api.h"
#include "core/c_api/handles.h"
#include "core/graph/graph.h"
#include "core/graph/plan_facts.h"
#include "core/import/graph_def.h"
#include "framework/message.h"
#include "framework/proto_conversion.h"
#include "framework/status.h"

using millstream::AnnotateWithNode;
using millstream::AttrMap;
using millstream::AttrValue;
using millstream::AttrValueToProto;
using millstream::ExportNodeDef;
using millstream::FindAttr;
using millstream::Graph;
using millstream::HandleInfo;
using millstream::KnownValue;
using millstream::Node;
using millstream::Output;
using millstream::PartialShape;
using millstream::Status;
using millstream::StatusOr;
using millstream::Tensor;
using millstream::ToBinary;
using millstream::c_api::FindNode;
using millstream::c_api::FindOutput;
using millstream::c_api::Give;
using millstream::c_api::GiveBytes;
using millstream::c_api::MakeOutput;
using millstream::c_api::MakePartialShape;
using millstream::c_api::NodeOrNull;
using millstream::c_api::OutputOrNone;
using millstream::c_api::WriteShape;

namespace errors = millstream::errors;
namespace proto = millstream::proto;

namespace {

std::string AttrNames(const AttrMap& attrs) {
  if (attrs.empty()) return "none";
  return absl::StrJoin(attrs, ", ",
                       [](std::string* out, const auto& attr) { out->append(attr.first); });
}

// Whether the node is known as another one than it runs as.
bool IsAsImported(const Node& node) {
  return node.imported() != nullptr && !node.imported()->hidden;
}

StatusOr<std::string> AttrBytes(const Node& node, const char* name) {
  const AttrMap& attrs = IsAsImported(node) ? node.imported()->attrs : node.attrs();
  const AttrValue* value = FindAttr(attrs, name);
  if (value == nullptr) {
    return AnnotateWithNode(errors::NotFound("the node has no attribute '", name,
                                             "'; its attributes: ", AttrNames(attrs)),
                            node);
  }
  proto::AttrValue message;
  MS_RETURN_IF_ERROR(AttrValueToProto(*value, &message));
  return ToBinary(message);
}

StatusOr<std::string> NodeDefBytes(const millstream_graph* graph, int32_t id) {
  MS_ASSIGN_OR_RETURN(const Node* node, FindNode(graph, id));
  return ExportNodeDef(graph->graph, *node);
}

Status SetShape(millstream_graph* graph, millstream_output id, const int64_t* dims, int32_t rank) {
  MS_ASSIGN_OR_RETURN(const Output output, FindOutput(graph, id));
  MS_ASSIGN_OR_RETURN(const PartialShape shape, MakePartialShape(dims, rank));
  return graph->graph.RefineShape(output, shape);
}

Status AddControlInput(millstream_graph* graph, int32_t id, int32_t control_id) {
  MS_ASSIGN_OR_RETURN(const Node* node, FindNode(graph, id));
  MS_ASSIGN_OR_RETURN(const Node* control, FindNode(graph, control_id));
  return graph->graph.AddControlInput(node, control);
}

Status SetBackEdge(millstream_graph* graph, int32_t id, int32_t i, int32_t next_id) {
  MS_ASSIGN_OR_RETURN(const Node* node, FindNode(graph, id));
  MS_ASSIGN_OR_RETURN(const Node* next, FindNode(graph, next_id));
  return graph->graph.SetBackEdge(node, i, next);
}

Status ForgetHandleShape(millstream_graph* graph, millstream_output output) {
  MS_ASSIGN_OR_RETURN(Output found, FindOutput(graph, output));
  return graph->graph.ForgetVariableShape(found.node);
}

}  // namespace

const char* millstream_node_name(const millstream_graph* graph, int32_t node) {
  const Node* found = NodeOrNull(graph, node);
  return found == nullptr ? "" : found->name().c_str();
}

const char* millstream_node_op(const millstream_graph* graph, int32_t node) {
  const Node* found = NodeOrNull(graph, node);
  if (found == nullptr) return "";
  return IsAsImported(*found) ? found->imported()->op.c_str() : found->op().name.c_str();
}

const char* millstream_node_source(const millstream_graph* graph, int32_t node) {
  const Node* found = NodeOrNull(graph, node);
  return found == nullptr ? "" : found->source().c_str();
}

void millstream_node_device(const millstream_graph* graph, int32_t node, millstream_bytes* out) {
  const Node* found = NodeOrNull(graph, node);
  *out = GiveBytes(found == nullptr ? "" : graph->graph.Device(found));
}

millstream_status* millstream_node_set_device(millstream_graph* graph, int32_t node,
                                              const char* device) {
  StatusOr<const Node*> found = FindNode(graph, node);
  if (!found.ok()) return Give(found.status());
  return Give(graph->graph.SetDevice(*found, device));
}

int32_t millstream_node_num_inputs(const millstream_graph* graph, int32_t node) {
  const Node* found = NodeOrNull(graph, node);
  return found == nullptr ? 0 : found->num_inputs();
}

millstream_output millstream_node_input(const millstream_graph* graph, int32_t node, int32_t i) {
  const Node* found = NodeOrNull(graph, node);
  if (found == nullptr || i < 0 || i >= found->num_inputs()) return {-1, 0};
  return MakeOutput(found->input(i));
}

int32_t millstream_node_num_outputs(const millstream_graph* graph, int32_t node) {
  const Node* found = NodeOrNull(graph, node);
  return found == nullptr ? 0 : found->num_outputs();
}

int32_t millstream_node_output_type(const millstream_graph* graph, int32_t node, int32_t i) {
  return static_cast<int32_t>(OutputOrNone(graph, {node, i}).dtype());
}

int32_t millstream_node_control_inputs(const millstream_graph* graph, int32_t node, int32_t* out,
                                       int32_t capacity) {
  const Node* found = NodeOrNull(graph, node);
  if (found == nullptr) return 0;
  const std::vector<const Node*> controls = graph->graph.ControlInputs(found);
  const int32_t count = static_cast<int32_t>(controls.size());
  for (int32_t i = 0; i < std::min(count, capacity); ++i) out[i] = controls[i]->id();
  return count;
}

millstream_status* millstream_node_add_control_input(millstream_graph* graph, int32_t node,
                                                     int32_t control) {
  return Give(AddControlInput(graph, node, control));
}

millstream_status* millstream_node_set_back_edge(millstream_graph* graph, int32_t node, int32_t i,
                                                 int32_t next) {
  return Give(SetBackEdge(graph, node, i, next));
}

millstream_status* millstream_node_attr(const millstream_graph* graph, int32_t node,
                                        const char* name, millstream_bytes* out) {
  *out = {nullptr, 0};
  StatusOr<const Node*> found = FindNode(graph, node);
  if (!found.ok()) return Give(found.status());
  return Give(AttrBytes(**found, name), out);
}

millstream_status* millstream_node_def(const millstream_graph* graph, int32_t node,
                                       millstream_bytes* out) {
  *out = {nullptr, 0};
  return Give(NodeDefBytes(graph, node), out);
}

int32_t millstream_output_shape(const millstream_graph* graph, millstream_output output,
                                int64_t* dims, int32_t capacity) {
  const Output found = OutputOrNone(graph, output);
  if (!found) return -1;
  return WriteShape(graph->graph.Facts(found).shape, dims, capacity);
}

millstream_status* millstream_output_set_shape(millstream_graph* graph, millstream_output output,
                                               const int64_t* dims, int32_t rank) {
  return Give(SetShape(graph, output, dims, rank));
}

int32_t millstream_output_handle_shape(const millstream_graph* graph, millstream_output output,
                                       int32_t* dtype, int64_t* dims, int32_t capacity) {
  *dtype = 0;
  const Output found = OutputOrNone(graph, output);
  if (!found) return -1;
  const std::optional<HandleInfo> handle = graph->graph.Facts(found).handle;
  if (!handle.has_value()) return -1;
  *dtype = static_cast<int32_t>(handle->dtype);
  return WriteShape(handle->shape, dims, capacity);
}

millstream_status* millstream_output_forget_handle_shape(millstream_graph* graph,
                                                         millstream_output output) {
  return Give(ForgetHandleShape(graph, output));
}

millstream_status* millstream_output_constant(const millstream_graph* graph,
                                              millstream_output output, millstream_tensor** out) {
  *out = nullptr;
  StatusOr<Output> found = FindOutput(graph, output);
  if (!found.ok()) return Give(found.status());
  const Tensor* constant = Graph::ConstantValue(*found);
  const std::optional<Tensor> value = constant != nullptr
                                          ? std::optional<Tensor>(*constant)
                                          : KnownValue(*found, graph->graph.Facts(*found));
  if (value.has_value()) *out = new millstream_tensor{*value};
  return nullptr;
}
