#include "distributed_runtime/graph_coding.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/proto_conversion.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

constexpr int kMissing = -1;

// True for an input that a back edge sets later.
bool IsMissing(const Node& node, const Output& input) { return !input || input.node == &node; }

bool MissesInput(const Node& node) {
  for (const Output& input : node.inputs()) {
    if (IsMissing(node, input)) return true;
  }
  return false;
}

Status EncodeImported(const ImportedNode& imported, proto::ImportedRecord* record) {
  record->set_name(imported.name);
  record->set_op(imported.op);
  for (const std::string& reference : imported.references) record->add_references(reference);
  record->set_hidden(imported.hidden);
  record->set_stands_for(imported.stands_for);
  record->set_first_output(imported.first_output);
  record->set_is_read(imported.is_read);
  for (const std::string& input : imported.inputs) record->add_inputs(input);
  record->set_num_controls(static_cast<int64_t>(imported.num_controls));
  return AttrsToProto(imported.attrs, record->mutable_attrs());
}

StatusOr<std::shared_ptr<const ImportedNode>> DecodeImported(const proto::ImportedRecord& record) {
  auto imported = std::make_shared<ImportedNode>();
  imported->name = record.name();
  imported->op = record.op();
  imported->references.assign(record.references().begin(), record.references().end());
  imported->hidden = record.hidden();
  imported->stands_for = record.stands_for();
  imported->first_output = record.first_output();
  imported->is_read = record.is_read();
  MS_ASSIGN_OR_RETURN(imported->attrs, AttrsFromProto(record.attrs()));
  imported->inputs.assign(record.inputs().begin(), record.inputs().end());
  imported->num_controls = static_cast<size_t>(record.num_controls());
  return imported;
}

// True for a variable's handle that Graph::ForgetVariableShape was called for.
bool ForgetsShape(const Graph& graph, const Node& node) {
  if (node.op().name != "VarHandleOp") return false;
  const OutputFacts facts = graph.Facts(node.output(0));
  const StatusOr<PartialShape> shape = node.Attr<PartialShape>("shape");
  return facts.handle.has_value() && shape.ok() && !facts.handle->shape.known_rank() &&
         shape->known_rank();
}

Status EncodeNode(const Graph& graph, const Node& node, proto::NodeRecord* record) {
  record->set_name(node.name());
  record->set_op(node.op().name);
  for (const Output& input : node.inputs()) {
    const bool is_missing = IsMissing(node, input);
    record->add_input_nodes(is_missing ? kMissing : input.node->id());
    record->add_input_indexes(is_missing ? 0 : input.index);
  }
  for (const Node* control : graph.ControlInputs(&node)) record->add_controls(control->id());
  record->set_device(graph.Device(&node));
  record->set_source(node.source());
  if (node.imported() != nullptr) {
    MS_RETURN_IF_ERROR(EncodeImported(*node.imported(), record->mutable_imported()));
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    ShapeToProto(graph.Facts(node.output(i)).shape, record->add_shapes());
  }
  record->set_forgets_shape(ForgetsShape(graph, node));
  return AttrsToProto(node.attrs(), record->mutable_attrs());
}

// The nodes of a chunk, while they are added.
class ChunkReader {
 public:
  ChunkReader(const proto::GraphChunk& chunk, Graph* graph) : chunk_(chunk), graph_(*graph) {}

  Status Read() {
    if (chunk_.first() != graph_.num_nodes()) {
      return errors::InvalidArgument("a chunk of a graph begins at node ", chunk_.first(),
                                     ", but the copy has ", graph_.num_nodes(), " nodes");
    }
    if (chunk_.has_library()) graph_.set_library(chunk_.library());
    graph_.set_producer_version(chunk_.producer());
    for (const proto::NodeRecord& record : chunk_.nodes()) MS_RETURN_IF_ERROR(AddNode(record));
    for (const auto& [node, control] : late_controls_) {
      MS_ASSIGN_OR_RETURN(const Node* const from, NodeOf(control));
      MS_RETURN_IF_ERROR(graph_.AddControlInput(node, from));
    }
    for (const proto::NodeChange& change : chunk_.changes()) MS_RETURN_IF_ERROR(Change(change));
    MS_RETURN_IF_ERROR(CloseLoops());
    return SetShapes();
  }

 private:
  struct LateEdge {
    const Node* merge;
    int input;
    int next;
  };

  StatusOr<const Node*> NodeOf(int number) const {
    if (number >= 0 && number < graph_.num_nodes()) return graph_.node(number);
    return errors::InvalidArgument("a chunk of a graph names node ", number, " of ",
                                   graph_.num_nodes());
  }
  StatusOr<Output> OutputOf(int number, int index) const {
    MS_ASSIGN_OR_RETURN(const Node* const node, NodeOf(number));
    if (index >= 0 && index < node->num_outputs()) return node->output(index);
    return errors::InvalidArgument("node '", node->name(), "' has no output ", index);
  }

  Status AddNode(const proto::NodeRecord& record) {
    if (record.input_nodes_size() != record.input_indexes_size()) {
      return errors::InvalidArgument("node '", record.name(), "' has inputs without numbers");
    }
    const int number = graph_.num_nodes();
    NodeSpec spec;
    spec.name = record.name();
    spec.op = record.op();
    spec.device = record.device();
    spec.source = record.source();
    spec.allow_unknown_attrs = true;
    MS_ASSIGN_OR_RETURN(spec.attrs, AttrsFromProto(record.attrs()));
    if (record.has_imported()) {
      MS_ASSIGN_OR_RETURN(spec.imported, DecodeImported(record.imported()));
    }
    std::vector<std::pair<int, int>> late;  // input and node
    for (int i = 0; i < record.input_nodes_size(); ++i) {
      const int source = record.input_nodes(i);
      spec.inputs.emplace_back();
      if (source >= number) late.emplace_back(i, source);
      if (source == kMissing || source >= number) continue;
      MS_ASSIGN_OR_RETURN(spec.inputs.back(), OutputOf(source, record.input_indexes(i)));
    }
    std::vector<int> late_controls;
    for (const int control : record.controls()) {
      if (control >= number) {
        late_controls.push_back(control);
        continue;
      }
      MS_ASSIGN_OR_RETURN(const Node* const from, NodeOf(control));
      spec.control_inputs.push_back(from);
    }
    MS_ASSIGN_OR_RETURN(const Node* const node, graph_.AddNode(std::move(spec)));
    for (const auto& [input, next] : late) edges_.push_back({node, input, next});
    for (const int control : late_controls) late_controls_.emplace_back(node, control);
    if (record.forgets_shape()) return graph_.ForgetVariableShape(node);
    return absl::OkStatus();
  }

  Status Change(const proto::NodeChange& change) {
    MS_ASSIGN_OR_RETURN(const Node* const node, NodeOf(change.node()));
    for (const int control : change.controls()) {
      MS_ASSIGN_OR_RETURN(const Node* const from, NodeOf(control));
      MS_RETURN_IF_ERROR(graph_.AddControlInput(node, from));
    }
    if (change.inputs_size() != change.input_nodes_size()) {
      return errors::InvalidArgument("node '", node->name(), "' has inputs without numbers");
    }
    for (int i = 0; i < change.inputs_size(); ++i) {
      edges_.push_back({node, change.inputs(i), change.input_nodes(i)});
    }
    return change.has_device() ? graph_.SetDevice(node, change.device()) : absl::OkStatus();
  }

  Status CloseLoops() {
    std::vector<Graph::BackEdge> edges;
    for (const LateEdge& edge : edges_) {
      MS_ASSIGN_OR_RETURN(const Node* const next, NodeOf(edge.next));
      edges.push_back({edge.merge, edge.input, next});
    }
    return edges.empty() ? absl::OkStatus() : graph_.SetBackEdges(edges);
  }

  // Those that were refined where the graph was built.
  Status SetShapes() {
    for (int k = 0; k < chunk_.nodes_size(); ++k) {
      const Node* const node = graph_.node(chunk_.first() + k);
      const auto& shapes = chunk_.nodes(k).shapes();
      for (int i = 0; i < node->num_outputs() && i < shapes.size(); ++i) {
        MS_ASSIGN_OR_RETURN(const PartialShape shape, PartialShapeFromProto(shapes[i]));
        if (shape == graph_.Facts(node->output(i)).shape) continue;
        MS_RETURN_IF_ERROR(graph_.RefineShape(node->output(i), shape));
      }
    }
    return absl::OkStatus();
  }

  const proto::GraphChunk& chunk_;
  Graph& graph_;
  std::vector<LateEdge> edges_;
  std::vector<std::pair<const Node*, int>> late_controls_;
};

}  // namespace

Status GraphSender::AddChanges(const Graph& graph, proto::GraphChunk* chunk) {
  const int known = static_cast<int>(sent_.size());
  const int total = graph.num_nodes();
  for (int id = 0; id < known; ++id) {
    const Node* const node = graph.node(id);
    Sent& sent = sent_[id];
    const std::string device = graph.Device(node);
    const std::vector<const Node*> controls = graph.ControlInputs(node);
    const bool closes = sent.misses_input && !MissesInput(*node);
    if (device == sent.device && controls.size() == sent.num_controls && !closes) continue;
    proto::NodeChange* const change = chunk->add_changes();
    change->set_node(id);
    change->set_has_device(device != sent.device);
    change->set_device(device);
    for (size_t i = sent.num_controls; i < controls.size(); ++i) {
      change->add_controls(controls[i]->id());
    }
    for (int i = 0; closes && i < node->num_inputs(); ++i) {
      if (node->input(i).node->id() < id) continue;
      change->add_inputs(i);
      change->add_input_nodes(node->input(i).node->id());
    }
    sent = {device, controls.size(), MissesInput(*node)};
  }
  chunk->set_first(known);
  for (int id = known; id < total; ++id) {
    const Node* const node = graph.node(id);
    proto::NodeRecord* const record = chunk->add_nodes();
    MS_RETURN_IF_ERROR(EncodeNode(graph, *node, record));
    sent_.push_back(
        {record->device(), static_cast<size_t>(record->controls_size()), MissesInput(*node)});
  }
  chunk->set_producer(graph.producer_version());
  std::string library = graph.library();
  if (library != library_) {
    chunk->set_has_library(true);
    chunk->set_library(library);
    library_ = std::move(library);
  }
  return absl::OkStatus();
}

Status AddChunk(const proto::GraphChunk& chunk, Graph* graph) {
  return ChunkReader(chunk, graph).Read();
}

void EncodeSignature(const StepSignature& signature, proto::SignatureRecord* record) {
  for (const Output& feed : signature.feeds) {
    record->add_feed_nodes(feed.node->id());
    record->add_feed_indexes(feed.index);
  }
  for (const Output& fetch : signature.fetches) {
    record->add_fetch_nodes(fetch.node->id());
    record->add_fetch_indexes(fetch.index);
  }
  for (const Node* target : signature.targets) record->add_targets(target->id());
}

StatusOr<StepSignature> DecodeSignature(const Graph& graph, const proto::SignatureRecord& record) {
  const int num_nodes = graph.num_nodes();
  const auto find = [&](int number) -> StatusOr<const Node*> {
    if (number >= 0 && number < num_nodes) return graph.node(number);
    return errors::InvalidArgument("a step names node ", number, " of ", num_nodes);
  };
  const auto read = [&](const auto& nodes, const auto& indexes,
                        std::vector<Output>* outputs) -> Status {
    for (int i = 0; i < nodes.size(); ++i) {
      MS_ASSIGN_OR_RETURN(const Node* const node, find(nodes[i]));
      const int index = i < indexes.size() ? indexes[i] : -1;
      if (index < 0 || index >= node->num_outputs()) {
        return errors::InvalidArgument("node '", node->name(), "' has no output ", index);
      }
      outputs->push_back(node->output(index));
    }
    return absl::OkStatus();
  };
  StepSignature signature;
  MS_RETURN_IF_ERROR(read(record.feed_nodes(), record.feed_indexes(), &signature.feeds));
  MS_RETURN_IF_ERROR(read(record.fetch_nodes(), record.fetch_indexes(), &signature.fetches));
  for (const int target : record.targets()) {
    MS_ASSIGN_OR_RETURN(const Node* const node, find(target));
    signature.targets.push_back(node);
  }
  return signature;
}

uint64_t Fingerprint(const PartitionedGraph& graph, absl::Span<const int> rounds) {
  // FNV-1a, which gives the same numbers in all processes.
  uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&hash](absl::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  };
  for (const Partition& part : graph.parts) {
    add(absl::StrCat("part ", part.device, " ", part.pruned.nodes.size(), ";"));
  }
  for (const Transfer& transfer : graph.transfers) {
    add(absl::StrCat(transfer.tensor, " ", transfer.from, " ", transfer.to, ";"));
  }
  for (const int round : rounds) add(absl::StrCat(round, ";"));
  return hash;
}

}  // namespace millstream
