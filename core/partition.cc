#include "core/partition.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/control_flow.h"
#include "core/deadness.h"
#include "core/dynamic/frames.h"
#include "core/structural/structural.h"
#include "framework/plugin/kernel_registry.h"

namespace millstream {
namespace {

// A control edge crosses as the tensor -1 of its node.
constexpr int kControlIndex = -1;

struct Crossing {
  Output source;
  int to = 0;
  friend bool operator==(const Crossing& a, const Crossing& b) {
    return a.source == b.source && a.to == b.to;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Crossing& crossing) {
    return H::combine(std::move(h), crossing.source, crossing.to);
  }
};

bool IsHostProcessor(const Device& device) { return device.type() == "CPU"; }

class Partitioner {
 public:
  Partitioner(const PrunedGraph& pruned, const Placement& placement, const DeviceList& devices,
              const StepSignature& signature)
      : pruned_(pruned), placement_(placement), devices_(devices), signature_(signature) {}
  StatusOr<PartitionedGraph> Run();

 private:
  // A constant that waits for nothing stands on every device that reads it.
  bool IsCopied(const Node* node) const {
    return RoleOf(node->op().name) == StructuralRole::kConstant &&
           pruned_.controls[index_.at(node)].empty();
  }
  int DeviceOf(const Node* node) const { return placement_.devices[index_.at(node)]; }
  Partition& PartOf(int device);
  void FindCrossings();
  void NoteCrossing(const Output& source, int to);
  Status FindControlFlow();
  Status AddNode(int i);
  Status CloseLoops();
  StatusOr<Output> InputOn(const Output& source, int device);
  StatusOr<const Node*> ControlOn(const Node* source, int device);
  StatusOr<Output> FeedStub(const Output& feed, int device);
  StatusOr<const Node*> CopyOn(const Node* node, int device);
  StatusOr<const Node*> Receive(const Crossing& crossing);
  Status AddSends(const Node* node);
  StatusOr<const Node*> AddTransferNode(const char* op, const Crossing& crossing, int device,
                                        const std::vector<Output>& inputs, DataType dtype,
                                        const PartialShape& shape);
  Status AddSignature();
  void Append(int device, const Node* node);

  const PrunedGraph& pruned_;
  const Placement& placement_;
  const DeviceList& devices_;
  const StepSignature& signature_;
  PartitionedGraph result_;
  absl::flat_hash_map<const Node*, int> index_;
  absl::flat_hash_map<int, int> part_of_device_;
  absl::flat_hash_map<Output, int> fed_;  // step feed index
  absl::flat_hash_map<Crossing, int64_t> edges_;
  absl::flat_hash_map<const Node*, std::vector<Crossing>> leaving_;  // by source
  // Copies by (node, device), and what arrived, by (source, device).
  absl::flat_hash_map<std::pair<const Node*, int>, const Node*> copies_;
  absl::flat_hash_map<Crossing, const Node*> receives_;
  absl::flat_hash_map<Crossing, Output> stubs_;
};

Partition& Partitioner::PartOf(int device) { return result_.parts[part_of_device_.at(device)]; }

void Partitioner::Append(int device, const Node* node) {
  PrunedGraph& pruned = PartOf(device).pruned;
  pruned.nodes.push_back(node);
  pruned.controls.push_back(node->control_inputs());
}

void Partitioner::NoteCrossing(const Output& source, int to) {
  const int from = DeviceOf(source.node);
  const Crossing crossing{source, to};
  if (from == to || !edges_.try_emplace(crossing, result_.transfers.size()).second) return;
  leaving_[source.node].push_back(crossing);
  Transfer transfer;
  transfer.tensor = source.index == kControlIndex ? "^" + source.node->name() : source.name();
  transfer.from = from;
  transfer.to = to;
  transfer.host_memory = IsHostProcessor(*devices_[from]) && IsHostProcessor(*devices_[to]);
  result_.transfers.push_back(std::move(transfer));
}

void Partitioner::FindCrossings() {
  for (size_t i = 0; i < pruned_.nodes.size(); ++i) {
    if (IsCopied(pruned_.nodes[i])) continue;
    const int device = placement_.devices[i];
    for (const Output& input : pruned_.nodes[i]->inputs()) {
      // A loop is on one device, so its back edges do not cross.
      if (IsBackEdge(input, *pruned_.nodes[i])) continue;
      if (!fed_.contains(input) && !IsCopied(input.node)) NoteCrossing(input, device);
    }
    for (const Node* control : pruned_.controls[i]) {
      if (index_.contains(control) && !IsCopied(control)) {
        NoteCrossing(Output{control, kControlIndex}, device);
      }
    }
  }
}

// A part needs the dynamic executor for its own control flow, and where it may receive what is
// dead.
Status Partitioner::FindControlFlow() {
  absl::flat_hash_set<Output> fed(signature_.feeds.begin(), signature_.feeds.end());
  MS_ASSIGN_OR_RETURN(const FrameTree frames, FindFrames(pruned_, fed));
  for (size_t i = 0; i < pruned_.nodes.size(); ++i) {
    const bool in_loop = frames.input_frame[i] != StaticFrame::kRoot;
    if (!in_loop && !NeedsDynamicExecutor(KindOf(*pruned_.nodes[i]))) continue;
    PartOf(placement_.devices[i]).pruned.has_control_flow = true;
  }
  const Deadness deadness = Deadness::Of(pruned_, frames, fed);
  for (const auto& [crossing, edge] : edges_) {
    const bool may_be_dead = crossing.source.index == kControlIndex
                                 ? deadness.MayBeDead(crossing.source.node)
                                 : deadness.MayBeDead(crossing.source);
    if (may_be_dead) PartOf(crossing.to).pruned.has_control_flow = true;
  }
  return absl::OkStatus();
}

// A fed tensor needs no Send: every part gets the feed itself.
StatusOr<Output> Partitioner::FeedStub(const Output& feed, int device) {
  auto own = copies_.find({feed.node, device});
  if (own != copies_.end()) return own->second->output(feed.index);
  Output& stub = stubs_[Crossing{feed, device}];
  if (stub) return stub;
  NodeSpec spec;
  spec.name = absl::StrCat(feed.node->name(), "/_fed_", feed.index);
  spec.op = "Placeholder";
  SetAttr(&spec.attrs, "dtype", AttrValue(feed.dtype()));
  SetAttr(&spec.attrs, "shape", AttrValue(feed.node->facts(feed.index).shape));
  MS_ASSIGN_OR_RETURN(const Node* node, PartOf(device).graph->AddNode(std::move(spec)));
  stub = node->output(0);
  return stub;
}

StatusOr<const Node*> Partitioner::AddTransferNode(const char* op, const Crossing& crossing,
                                                   int device, const std::vector<Output>& inputs,
                                                   DataType dtype, const PartialShape& shape) {
  const int64_t edge = edges_.at(crossing);
  const Transfer& transfer = result_.transfers[edge];
  NodeSpec spec;
  spec.name = absl::StrCat(crossing.source.node->name(), "/", op, "_", edge);
  spec.op = transfer.host_memory && !IsHostProcessor(*devices_[device])
                ? absl::StrCat("_Host", op + 1)
                : op;
  spec.inputs = inputs;
  SetAttr(&spec.attrs, inputs.empty() ? "tensor_type" : "T", AttrValue(dtype));
  SetAttr(&spec.attrs, "tensor_name", AttrValue(transfer.tensor));
  SetAttr(&spec.attrs, "send_device", AttrValue(devices_[transfer.from]->name()));
  SetAttr(&spec.attrs, "recv_device", AttrValue(devices_[transfer.to]->name()));
  SetAttr(&spec.attrs, "send_device_incarnation", AttrValue(int64_t{0}));
  SetAttr(&spec.attrs, kEdgeAttr, AttrValue(edge));
  spec.allow_unknown_attrs = true;
  spec.source = crossing.source.node->source();
  Graph* const graph = PartOf(device).graph.get();
  MS_ASSIGN_OR_RETURN(const Node* node, graph->AddNode(std::move(spec)));
  if (node->num_outputs() > 0) MS_RETURN_IF_ERROR(graph->RefineShape(node->output(0), shape));
  Append(device, node);
  return node;
}

StatusOr<const Node*> Partitioner::Receive(const Crossing& crossing) {
  const Node*& receive = receives_[crossing];
  if (receive != nullptr) return receive;
  const bool control = crossing.source.index == kControlIndex;
  const DataType dtype = control ? DataType::kUInt8 : crossing.source.dtype();
  const PartialShape shape =
      control ? PartialShape::Vector(0) : crossing.source.node->facts(crossing.source.index).shape;
  MS_ASSIGN_OR_RETURN(receive, AddTransferNode("_Recv", crossing, crossing.to, {}, dtype, shape));
  if (!control) PartOf(crossing.to).received[receive] = crossing.source;
  return receive;
}

StatusOr<const Node*> Partitioner::CopyOn(const Node* node, int device) {
  const Node*& copy = copies_[{node, device}];
  if (copy == nullptr) {
    copy = PartOf(device).graph->AddCopy(*node, {}, {});
    Append(device, copy);
  }
  return copy;
}

StatusOr<Output> Partitioner::InputOn(const Output& source, int device) {
  if (fed_.contains(source)) return FeedStub(source, device);
  if (IsCopied(source.node)) {
    MS_ASSIGN_OR_RETURN(const Node* copy, CopyOn(source.node, device));
    return copy->output(source.index);
  }
  if (DeviceOf(source.node) == device) {
    return copies_.at({source.node, device})->output(source.index);
  }
  MS_ASSIGN_OR_RETURN(const Node* receive, Receive(Crossing{source, device}));
  return receive->output(0);
}

// A constant is there from the start: nothing waits for it. Null then.
StatusOr<const Node*> Partitioner::ControlOn(const Node* source, int device) {
  if (!index_.contains(source) || IsCopied(source)) return nullptr;
  if (DeviceOf(source) == device) return copies_.at({source, device});
  return Receive(Crossing{Output{source, kControlIndex}, device});
}

Status Partitioner::AddSends(const Node* node) {
  auto leaving = leaving_.find(node);
  if (leaving == leaving_.end()) return absl::OkStatus();
  const int device = DeviceOf(node);
  const Node* const copy = copies_.at({node, device});
  for (const Crossing& crossing : leaving->second) {
    Output sent;
    if (crossing.source.index == kControlIndex) {
      NodeSpec spec;
      spec.name = absl::StrCat(node->name(), "/_done_", edges_.at(crossing));
      spec.op = "Const";
      SetAttr(&spec.attrs, "dtype", AttrValue(DataType::kUInt8));
      MS_ASSIGN_OR_RETURN(Tensor nothing, Tensor::Create(DataType::kUInt8, Shape({0})));
      SetAttr(&spec.attrs, "value", AttrValue(std::move(nothing)));
      spec.control_inputs = {copy};
      MS_ASSIGN_OR_RETURN(const Node* done, PartOf(device).graph->AddNode(std::move(spec)));
      Append(device, done);
      sent = done->output(0);
    } else {
      sent = copy->output(crossing.source.index);
    }
    MS_ASSIGN_OR_RETURN(const Node* send, AddTransferNode("_Send", crossing, device, {sent},
                                                          sent.dtype(), PartialShape()));
    PartOf(device).signature.targets.push_back(send);
  }
  return absl::OkStatus();
}

Status Partitioner::AddNode(int i) {
  const Node* const node = pruned_.nodes[i];
  const int device = placement_.devices[i];
  if (IsCopied(node)) return absl::OkStatus();  // where somebody reads it
  std::vector<Output> inputs;
  for (const Output& input : node->inputs()) {
    if (IsBackEdge(input, *node) && !fed_.contains(input)) {
      inputs.emplace_back();
      continue;
    }
    MS_ASSIGN_OR_RETURN(inputs.emplace_back(), InputOn(input, device));
  }
  std::vector<const Node*> controls;
  for (const Node* control : pruned_.controls[i]) {
    MS_ASSIGN_OR_RETURN(const Node* copy, ControlOn(control, device));
    if (copy != nullptr) controls.push_back(copy);
  }
  const Node* const copy =
      PartOf(device).graph->AddCopy(*node, std::move(inputs), std::move(controls));
  copies_[{node, device}] = copy;
  Append(device, copy);
  return AddSends(node);
}

Status Partitioner::CloseLoops() {
  for (const Node* node : pruned_.nodes) {
    for (int k = 0; k < node->num_inputs(); ++k) {
      const Output& input = node->input(k);
      if (!IsBackEdge(input, *node) || fed_.contains(input)) continue;
      const int device = DeviceOf(node);
      auto next = copies_.find({input.node, device});
      if (next == copies_.end()) {
        return AnnotateWithNode(
            errors::Unimplemented("the loop is on several devices: its NextIteration '",
                                  input.node->name(), "' is on ",
                                  devices_[DeviceOf(input.node)]->name(), ", its Merge on ",
                                  devices_[device]->name()),
            *node);
      }
      MS_RETURN_IF_ERROR(
          PartOf(device).graph->SetBackEdge(copies_.at({node, device}), k, next->second));
    }
  }
  return absl::OkStatus();
}

Status Partitioner::AddSignature() {
  for (size_t i = 0; i < signature_.fetches.size(); ++i) {
    const Output& fetch = signature_.fetches[i];
    auto placed = index_.find(fetch.node);
    const int device = placed == index_.end() ? result_.parts[0].device : DeviceOf(fetch.node);
    MS_ASSIGN_OR_RETURN(Output output, InputOn(fetch, device));
    Partition& part = PartOf(device);
    part.signature.fetches.push_back(output);
    part.fetches.push_back(static_cast<int>(i));
  }
  for (const Node* target : signature_.targets) {
    auto placed = index_.find(target);
    if (placed == index_.end()) continue;  // a fed placeholder
    const int device = DeviceOf(target);
    MS_ASSIGN_OR_RETURN(const Node* copy,
                        IsCopied(target) ? CopyOn(target, device)
                                         : StatusOr<const Node*>(copies_.at({target, device})));
    PartOf(device).signature.targets.push_back(copy);
  }
  // Feeds last: by now it is known who reads them.
  for (size_t i = 0; i < signature_.feeds.size(); ++i) {
    const Output& feed = signature_.feeds[i];
    for (Partition& part : result_.parts) {
      auto own = copies_.find({feed.node, part.device});
      auto stub = stubs_.find(Crossing{feed, part.device});
      const auto add = [&](const Output& place) {
        part.signature.feeds.push_back(place);
        part.feeds.push_back(static_cast<int>(i));
      };
      if (own != copies_.end()) add(own->second->output(feed.index));
      if (stub != stubs_.end()) add(stub->second);
    }
  }
  return absl::OkStatus();
}

StatusOr<PartitionedGraph> Partitioner::Run() {
  for (size_t i = 0; i < pruned_.nodes.size(); ++i) {
    index_[pruned_.nodes[i]] = static_cast<int>(i);
  }
  for (size_t i = 0; i < signature_.feeds.size(); ++i) {
    fed_[signature_.feeds[i]] = static_cast<int>(i);
  }
  std::vector<int> used = placement_.devices;
  if (used.empty()) used.push_back(0);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  result_.parts.resize(used.size());
  for (size_t p = 0; p < used.size(); ++p) {
    result_.parts[p].device = used[p];
    part_of_device_[used[p]] = static_cast<int>(p);
  }
  if (used.size() == 1) {
    Partition& all = result_.parts[0];
    all.pruned = pruned_;
    all.signature = signature_;
    for (size_t i = 0; i < signature_.feeds.size(); ++i) all.feeds.push_back(static_cast<int>(i));
    for (size_t i = 0; i < signature_.fetches.size(); ++i) {
      all.fetches.push_back(static_cast<int>(i));
    }
    return std::move(result_);
  }
  for (Partition& part : result_.parts) part.graph = std::make_unique<Graph>();
  FindCrossings();
  if (pruned_.has_control_flow) MS_RETURN_IF_ERROR(FindControlFlow());
  for (size_t i = 0; i < pruned_.nodes.size(); ++i) {
    MS_RETURN_IF_ERROR(AddNode(static_cast<int>(i)));
  }
  MS_RETURN_IF_ERROR(CloseLoops());
  MS_RETURN_IF_ERROR(AddSignature());
  return std::move(result_);
}

}  // namespace

StatusOr<PartitionedGraph> PartitionGraph(const PrunedGraph& pruned, const Placement& placement,
                                          const DeviceList& devices,
                                          const StepSignature& signature) {
  return Partitioner(pruned, placement, devices, signature).Run();
}

}  // namespace millstream
