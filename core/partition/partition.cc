#include "core/partition/partition.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/device/memory_space.h"
#include "core/graph/control_flow.h"
#include "core/graph/deadness.h"
#include "core/graph/structural_role.h"
#include "core/partition/lasting_values.h"
#include "core/partition/partition_loops.h"

namespace millstream {
namespace {

// A control edge crosses as the tensor -1 of its node.
constexpr int kControlIndex = -1;

struct Crossing {
  Output source;
  int to = 0;
  bool to_host = true;  // it is wanted in host memory
  friend bool operator==(const Crossing& a, const Crossing& b) {
    return a.source == b.source && a.to == b.to && a.to_host == b.to_host;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Crossing& crossing) {
    return H::combine(std::move(h), crossing.source, crossing.to, crossing.to_host);
  }
};

MemorySpaces SpacesOn(const DeviceDescription& device, const Node& node) {
  return device.traits.host_memory ? HostMemorySpaces(node.call())
                                   : MemorySpacesOf(node, device.type());
}

class Partitioner {
 public:
  Partitioner(const PrunedGraph& pruned, const Placement& placement, const DeviceSet& devices,
              const StepSignature& signature)
      : pruned_(pruned), placement_(placement), devices_(devices), signature_(signature) {}
  StatusOr<PartitionedGraph> Run();

 private:
  // What is the same in each step stands on every device that reads it.
  bool IsCopied(const Node* node) const {
    return lasting_.contains(node) || IsFreeConstant(pruned_, index_.at(node));
  }
  // Where the node runs; of nodes of loops that stand on several devices, the first.
  const std::vector<int>& DevicesOf(int i) const { return loops_.devices[i]; }
  int DeviceOf(const Node* node) const { return DevicesOf(index_.at(node))[0]; }
  Partition& PartOf(int device);
  void ReserveNames();
  void FindCrossings();
  void NoteCrossing(const Output& source, int to, bool to_host);
  void FindControlFlow();
  Status AddNode(int i);
  Status AddCopy(int i, int device);
  Status OpenControlLoops();
  Status CloseControlLoops();
  Status CloseLoops();
  StatusOr<Output> InputOn(const Output& source, int device, bool in_host);
  StatusOr<const Node*> ControlOn(const Node* source, int device);
  StatusOr<Output> FeedStub(const Output& feed, int device);
  const Node* CopyOn(const Node* node, int device);
  StatusOr<const Node*> Receive(const Crossing& crossing);
  StatusOr<std::vector<const Node*>> StartOf(const Crossing& crossing) const;
  Status AddSends(const Node* node);
  StatusOr<const Node*> AddNothing(const std::string& name, int device,
                                   std::vector<const Node*> controls);
  StatusOr<const Node*> AddTransferNode(const char* op, const Crossing& crossing, int device,
                                        NodeSpec spec, DataType dtype, const PartialShape& shape);
  Status AddSignature();
  void Append(int device, const Node* node);
  bool ArePeers(const Transfer& transfer) const;

  const PrunedGraph& pruned_;
  const Placement& placement_;
  const DeviceSet& devices_;
  const StepSignature& signature_;
  LoopLayout loops_;
  absl::flat_hash_set<const Node*> lasting_;
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
  absl::flat_hash_map<std::pair<int, int>, ControlLoop> control_loops_;  // by (frame, device)
};

Partition& Partitioner::PartOf(int device) { return result_.parts[part_of_device_.at(device)]; }

void Partitioner::Append(int device, const Node* node) {
  PrunedGraph& pruned = PartOf(device).pruned;
  pruned.nodes.push_back(node);
  pruned.controls.push_back(node->control_inputs());
}

// Whether the tensor can go from the one device's memory to the other's directly.
bool Partitioner::ArePeers(const Transfer& transfer) const {
  return !transfer.from_host && !transfer.to_host && devices_.ArePeers(transfer.from, transfer.to);
}

// The names of nodes that are added have a "/_" in them, and give way to the user's.
void Partitioner::ReserveNames() {
  for (const Node* node : pruned_.nodes) {
    if (!absl::StrContains(node->name(), "/_")) continue;
    for (Partition& part : result_.parts) part.graph->UniqueName(node->name());
  }
}

void Partitioner::NoteCrossing(const Output& source, int to, bool to_host) {
  const std::vector<int>& stands = DevicesOf(index_.at(source.node));
  const bool is_there = std::find(stands.begin(), stands.end(), to) != stands.end();
  if (is_there || IsCopied(source.node)) return;
  const int from = stands[0];
  const Crossing crossing{source, to, to_host};
  if (!edges_.try_emplace(crossing, result_.transfers.size()).second) return;
  leaving_[source.node].push_back(crossing);
  Transfer transfer;
  transfer.tensor = source.index == kControlIndex ? "^" + source.node->name() : source.name();
  transfer.from = from;
  transfer.to = to;
  transfer.from_host = source.index == kControlIndex ||
                       SpacesOn(devices_[from], *source.node).output_in_host[source.index];
  transfer.to_host = to_host;
  result_.transfers.push_back(std::move(transfer));
}

void Partitioner::FindCrossings() {
  for (size_t i = 0; i < pruned_.nodes.size(); ++i) {
    if (IsCopied(pruned_.nodes[i])) continue;
    const Node& node = *pruned_.nodes[i];
    for (const int device : DevicesOf(static_cast<int>(i))) {
      const MemorySpaces spaces = SpacesOn(devices_[device], node);
      for (int k = 0; k < node.num_inputs(); ++k) {
        if (fed_.contains(node.input(k))) continue;
        NoteCrossing(node.input(k), device, spaces.input_in_host[k]);
      }
      for (const Node* control : pruned_.controls[i]) {
        if (index_.contains(control)) NoteCrossing(Output{control, kControlIndex}, device, true);
      }
    }
  }
  for (const CutLoop& loop : loops_.cut) {
    const Output pred = loop.condition->output(0);
    if (fed_.contains(pred)) continue;
    for (const int device : loop.devices) NoteCrossing(pred, device, true);
  }
}

// A part needs the dynamic executor if it has control flow or may receive a dead tensor.
void Partitioner::FindControlFlow() {
  for (size_t i = 0; i < pruned_.nodes.size(); ++i) {
    const bool in_loop = loops_.frames.input_frame[i] != StaticFrame::kRoot;
    if (!in_loop && !NeedsDynamicExecutor(KindOf(*pruned_.nodes[i]))) continue;
    for (const int device : DevicesOf(static_cast<int>(i))) {
      PartOf(device).pruned.has_control_flow = true;
    }
  }
  for (const CutLoop& loop : loops_.cut) {
    for (const int device : loop.devices) PartOf(device).pruned.has_control_flow = true;
  }
  const absl::flat_hash_set<Output> fed(signature_.feeds.begin(), signature_.feeds.end());
  const Deadness deadness = Deadness::Of(pruned_, loops_.frames, fed);
  for (const auto& [crossing, edge] : edges_) {
    const bool may_be_dead = crossing.source.index == kControlIndex
                                 ? deadness.MayBeDead(crossing.source.node)
                                 : deadness.MayBeDead(crossing.source);
    if (may_be_dead) PartOf(crossing.to).pruned.has_control_flow = true;
  }
}

// A fed tensor needs no Send: every part gets the feed itself.
StatusOr<Output> Partitioner::FeedStub(const Output& feed, int device) {
  auto own = copies_.find({feed.node, device});
  if (own != copies_.end()) return own->second->output(feed.index);
  Output& stub = stubs_[Crossing{feed, device}];
  if (stub) return stub;
  NodeSpec spec;
  Graph* const graph = PartOf(device).graph.get();
  spec.name = graph->UniqueName(absl::StrCat(feed.node->name(), "/_fed_", feed.index));
  spec.op = "Placeholder";
  SetAttr(&spec.attrs, "dtype", AttrValue(feed.dtype()));
  SetAttr(&spec.attrs, "shape", AttrValue(feed.node->facts(feed.index).shape));
  MS_ASSIGN_OR_RETURN(const Node* node, graph->AddNode(std::move(spec)));
  stub = node->output(0);
  return stub;
}

StatusOr<const Node*> Partitioner::AddTransferNode(const char* op, const Crossing& crossing,
                                                   int device, NodeSpec spec, DataType dtype,
                                                   const PartialShape& shape) {
  const int64_t edge = edges_.at(crossing);
  const Transfer& transfer = result_.transfers[edge];
  Graph* const graph = PartOf(device).graph.get();
  spec.name = graph->UniqueName(absl::StrCat(crossing.source.node->name(), "/", op, "_", edge));
  const bool in_host = device == transfer.to ? transfer.to_host : transfer.from_host;
  spec.op = in_host && !devices_[device].traits.host_memory ? absl::StrCat("_Host", op + 1) : op;
  SetAttr(&spec.attrs, spec.inputs.empty() ? "tensor_type" : "T", AttrValue(dtype));
  SetAttr(&spec.attrs, "tensor_name", AttrValue(transfer.tensor));
  SetAttr(&spec.attrs, "send_device", AttrValue(devices_[transfer.from].name));
  SetAttr(&spec.attrs, "recv_device", AttrValue(devices_[transfer.to].name));
  SetAttr(&spec.attrs, "send_device_incarnation", AttrValue(devices_[transfer.from].incarnation));
  SetAttr(&spec.attrs, kEdgeAttr, AttrValue(edge));
  SetAttr(&spec.attrs, kPeerAttr, AttrValue(ArePeers(transfer)));
  spec.allow_unknown_attrs = true;
  spec.source = crossing.source.node->source();
  MS_ASSIGN_OR_RETURN(const Node* node, graph->AddNode(std::move(spec)));
  if (node->num_outputs() > 0) MS_RETURN_IF_ERROR(graph->RefineShape(node->output(0), shape));
  Append(device, node);
  return node;
}

// The control inputs of a Receive in a loop, which make it run once in each iteration that sends.
StatusOr<std::vector<const Node*>> Partitioner::StartOf(const Crossing& crossing) const {
  const Node& source = *crossing.source.node;
  const int i = index_.at(&source);
  const int frame = loops_.frames.output_frame[i];
  if (frame == StaticFrame::kRoot) return std::vector<const Node*>();
  const ControlLoop& loop = control_loops_.at({frame, crossing.to});
  if (const Node* start = loop.StartOf(loops_.iterations[i])) return std::vector{start};
  return AnnotateWithNode(
      errors::InvalidArgument(
          "the node's output is read on ", devices_[crossing.to].name, ", but the node, on ",
          devices_[DeviceOf(&source)].name, ", does not run in the first iteration of ",
          loops_.frames.Describe(frame), "; read the output of the loop's Merge instead"),
      source);
}

StatusOr<const Node*> Partitioner::Receive(const Crossing& crossing) {
  const Node*& receive = receives_[crossing];
  if (receive != nullptr) return receive;
  const bool control = crossing.source.index == kControlIndex;
  const DataType dtype = control ? DataType::kUInt8 : crossing.source.dtype();
  const PartialShape shape =
      control ? PartialShape::Vector(0) : crossing.source.node->facts(crossing.source.index).shape;
  NodeSpec spec;
  MS_ASSIGN_OR_RETURN(spec.control_inputs, StartOf(crossing));
  MS_ASSIGN_OR_RETURN(
      receive, AddTransferNode("_Recv", crossing, crossing.to, std::move(spec), dtype, shape));
  if (!control) PartOf(crossing.to).received[receive] = crossing.source;
  return receive;
}

// Depth first, without recursion: a chain of such nodes may be longer than a stack is deep.
const Node* Partitioner::CopyOn(const Node* node, int device) {
  std::vector<const Node*> missing = {node};
  while (!missing.empty()) {
    const Node* const next = missing.back();
    if (copies_.contains({next, device})) {
      missing.pop_back();
      continue;
    }
    std::vector<Output> inputs;
    const size_t before = missing.size();
    for (const Output& input : next->inputs()) {
      const auto found = copies_.find({input.node, device});
      if (found == copies_.end()) {
        missing.push_back(input.node);
      } else {
        inputs.push_back(found->second->output(input.index));
      }
    }
    if (missing.size() > before) {
      std::reverse(missing.begin() + before, missing.end());  // the first input first
      continue;
    }
    missing.pop_back();
    const Node* const copy = PartOf(device).graph->AddCopy(*next, std::move(inputs), {});
    copies_[{next, device}] = copy;
    Append(device, copy);
  }
  return copies_.at({node, device});
}

StatusOr<Output> Partitioner::InputOn(const Output& source, int device, bool in_host) {
  if (fed_.contains(source)) return FeedStub(source, device);
  if (IsCopied(source.node)) return CopyOn(source.node, device)->output(source.index);
  auto copy = copies_.find({source.node, device});
  if (copy != copies_.end()) return copy->second->output(source.index);
  MS_ASSIGN_OR_RETURN(const Node* receive, Receive(Crossing{source, device, in_host}));
  return receive->output(0);
}

// Null for what is copied: it exists from the start, so nothing waits for it.
StatusOr<const Node*> Partitioner::ControlOn(const Node* source, int device) {
  if (!index_.contains(source) || IsCopied(source)) return nullptr;
  auto copy = copies_.find({source, device});
  if (copy != copies_.end()) return copy->second;
  return Receive(Crossing{Output{source, kControlIndex}, device});
}

// An empty tensor that is computed after `controls`.
StatusOr<const Node*> Partitioner::AddNothing(const std::string& name, int device,
                                              std::vector<const Node*> controls) {
  NodeSpec spec;
  Graph* const graph = PartOf(device).graph.get();
  spec.name = graph->UniqueName(name);
  spec.op = "Const";
  SetAttr(&spec.attrs, "dtype", AttrValue(DataType::kUInt8));
  MS_ASSIGN_OR_RETURN(Tensor nothing, Tensor::Create(DataType::kUInt8, Shape({0})));
  SetAttr(&spec.attrs, "value", AttrValue(std::move(nothing)));
  spec.control_inputs = std::move(controls);
  MS_ASSIGN_OR_RETURN(const Node* node, graph->AddNode(std::move(spec)));
  Append(device, node);
  return node;
}

Status Partitioner::AddSends(const Node* node) {
  auto leaving = leaving_.find(node);
  if (leaving == leaving_.end()) return absl::OkStatus();
  const int device = DeviceOf(node);
  const Node* const copy = copies_.at({node, device});
  for (const Crossing& crossing : leaving->second) {
    Output sent;
    if (crossing.source.index == kControlIndex) {
      const std::string name = absl::StrCat(node->name(), "/_done_", edges_.at(crossing));
      MS_ASSIGN_OR_RETURN(const Node* done, AddNothing(name, device, {copy}));
      sent = done->output(0);
    } else {
      sent = copy->output(crossing.source.index);
    }
    NodeSpec spec;
    spec.inputs = {sent};
    MS_ASSIGN_OR_RETURN(
        const Node* send,
        AddTransferNode("_Send", crossing, device, std::move(spec), sent.dtype(), PartialShape()));
    PartOf(device).signature.targets.push_back(send);
  }
  return absl::OkStatus();
}

Status Partitioner::AddNode(int i) {
  const Node* const node = pruned_.nodes[i];
  if (IsCopied(node)) return absl::OkStatus();  // copied to the parts that read it
  for (const int device : DevicesOf(i)) MS_RETURN_IF_ERROR(AddCopy(i, device));
  return AddSends(node);
}

Status Partitioner::AddCopy(int i, int device) {
  const Node* const node = pruned_.nodes[i];
  const MemorySpaces spaces = SpacesOn(devices_[device], *node);
  std::vector<Output> inputs;
  for (int k = 0; k < node->num_inputs(); ++k) {
    const Output& input = node->input(k);
    if (IsBackEdge(input, *node) && !fed_.contains(input)) {
      inputs.emplace_back();
      continue;
    }
    MS_ASSIGN_OR_RETURN(inputs.emplace_back(), InputOn(input, device, spaces.input_in_host[k]));
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
  return absl::OkStatus();
}

Status Partitioner::CloseLoops() {
  for (size_t i = 0; i < pruned_.nodes.size(); ++i) {
    const Node* const node = pruned_.nodes[i];
    for (int k = 0; k < node->num_inputs(); ++k) {
      const Output& input = node->input(k);
      if (!IsBackEdge(input, *node) || fed_.contains(input)) continue;
      const int device = DeviceOf(node);
      MS_RETURN_IF_ERROR(PartOf(device).graph->SetBackEdge(copies_.at({node, device}), k,
                                                           copies_.at({input.node, device})));
    }
  }
  return absl::OkStatus();
}

// Before all else: Receives start from them.
Status Partitioner::OpenControlLoops() {
  for (const CutLoop& cut : loops_.cut) {
    const StaticFrame& frame = loops_.frames.frames[cut.frame];
    for (const int device : cut.devices) {
      Output start;
      if (frame.parent == StaticFrame::kRoot) {
        const std::string name = absl::StrCat(cut.condition->name(), "/_control_loop/Const");
        MS_ASSIGN_OR_RETURN(const Node* nothing, AddNothing(name, device, {}));
        start = nothing->output(0);
      } else {
        start = control_loops_.at({frame.parent, device}).StartOf(cut.entered)->output(0);
      }
      Graph* const graph = PartOf(device).graph.get();
      MS_ASSIGN_OR_RETURN(const ControlLoop loop,
                          OpenControlLoop(graph, frame, cut.condition->name(), start));
      Append(device, loop.enter);
      Append(device, loop.merge);
      control_loops_[{cut.frame, device}] = loop;
    }
  }
  return absl::OkStatus();
}

Status Partitioner::CloseControlLoops() {
  for (const CutLoop& cut : loops_.cut) {
    for (const int device : cut.devices) {
      MS_ASSIGN_OR_RETURN(const Output pred, InputOn(cut.condition->output(0), device, true));
      MS_ASSIGN_OR_RETURN(
          const std::vector<const Node*> added,
          CloseControlLoop(PartOf(device).graph.get(), control_loops_.at({cut.frame, device}),
                           cut.condition->name(), pred));
      for (const Node* node : added) Append(device, node);
    }
  }
  return absl::OkStatus();
}

Status Partitioner::AddSignature() {
  for (size_t i = 0; i < signature_.fetches.size(); ++i) {
    const Output& fetch = signature_.fetches[i];
    auto placed = index_.find(fetch.node);
    const int device = placed == index_.end() ? result_.parts[0].device : DeviceOf(fetch.node);
    MS_ASSIGN_OR_RETURN(Output output, InputOn(fetch, device, true));
    Partition& part = PartOf(device);
    part.signature.fetches.push_back(output);
    part.fetches.push_back(static_cast<int>(i));
  }
  for (const Node* target : signature_.targets) {
    auto placed = index_.find(target);
    if (placed == index_.end()) continue;  // a fed placeholder
    const int device = DeviceOf(target);
    const Node* const copy =
        IsCopied(target) ? CopyOn(target, device) : copies_.at({target, device});
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
  ReserveNames();
  MS_ASSIGN_OR_RETURN(loops_, LayOutLoops(pruned_, placement_.devices, devices_, signature_));
  lasting_ = FindLastingValues(pruned_, loops_.frames, signature_, devices_, used);
  FindCrossings();
  if (pruned_.has_control_flow) FindControlFlow();
  MS_RETURN_IF_ERROR(OpenControlLoops());
  for (size_t i = 0; i < pruned_.nodes.size(); ++i) {
    MS_RETURN_IF_ERROR(AddNode(static_cast<int>(i)));
  }
  MS_RETURN_IF_ERROR(CloseLoops());
  MS_RETURN_IF_ERROR(CloseControlLoops());
  MS_RETURN_IF_ERROR(AddSignature());
  return std::move(result_);
}

}  // namespace

StatusOr<PartitionedGraph> PartitionGraph(const PrunedGraph& pruned, const Placement& placement,
                                          const DeviceSet& devices,
                                          const StepSignature& signature) {
  return Partitioner(pruned, placement, devices, signature).Run();
}

}  // namespace millstream
