// Compiles a pruned graph to a DynamicProgram.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/device/memory_space.h"
#include "core/dynamic/finish_program.h"
#include "core/dynamic/program.h"
#include "core/graph/control_flow.h"
#include "core/graph/frames.h"
#include "core/graph/structural_role.h"
#include "core/resources/resource_handle.h"
#include "core/resources/run_time_handle.h"

namespace millstream {
namespace {

// FNV-1a, which is the same in every process, because the two ends of a transfer compute it
// separately.
uint64_t HashOf(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

NodeAction ActionOf(ControlFlowKind kind) {
  switch (kind) {
    case ControlFlowKind::kSwitch: return NodeAction::kSwitch;
    case ControlFlowKind::kMerge: return NodeAction::kMerge;
    case ControlFlowKind::kEnter: return NodeAction::kEnter;
    case ControlFlowKind::kExit: return NodeAction::kExit;
    case ControlFlowKind::kNextIteration: return NodeAction::kNextIteration;
    case ControlFlowKind::kLoopCond: return NodeAction::kLoopCond;
    case ControlFlowKind::kControlTrigger:
    case ControlFlowKind::kNone: break;
  }
  return NodeAction::kNothing;
}

// Builds one program, in the order of the methods of Run.
class ProgramCompiler {
 public:
  explicit ProgramCompiler(const DynamicRequest& request)
      : request_(request), program_(std::make_unique<DynamicProgram>()) {}
  StatusOr<std::unique_ptr<DynamicProgram>> Run();

 private:
  void AddFeeds();
  void AddFrames();
  Status AddNode(size_t i);
  Status ChooseAction(const Node& node, NodeProgram* program);
  Status ChooseInner(const Node& node, NodeProgram* program);
  void AllowFor(const Node& node);
  Status AddHandle(const Node& node);
  void AddConstant(const Output& output, Value value);
  Status PlaceOutputs(size_t i, NodeProgram* program);
  Status AddFetches();
  Status ConnectInputs(size_t i);
  Status ConnectInput(const Node& node, int k, NodeProgram* program);
  Status WantInput(const MemorySpaces& spaces, const Node& node, int k);
  StatusOr<ValueSource> OnDevice(uint32_t constant);
  Status ConnectGlobal(const Node& node, int k, const NodeProgram& program, bool* arrives_later);
  bool IsInvariant(const NodeProgram& program) const;
  void FlattenEdges();

  FrameProgram& FrameOf(const NodeProgram& program) { return program_->frames[program.frame]; }
  bool IsThereAtStart(size_t i) const;

  const DynamicRequest& request_;
  std::unique_ptr<DynamicProgram> program_;
  FrameTree tree_;
  absl::flat_hash_set<Output> fed_;
  absl::flat_hash_map<const Node*, uint32_t> index_of_;  // into program_->nodes
  absl::flat_hash_map<Output, ValueSource> values_;
  absl::flat_hash_map<uint32_t, uint32_t> device_constants_;  // by the index of the host's
  std::vector<size_t> pruned_index_;                          // of each node of the program
  std::vector<std::vector<WaitEdge>> output_edges_;           // of each output of the program
  std::vector<std::vector<WaitEdge>> control_edges_;          // of each node of the program
};

void ProgramCompiler::AddFeeds() {
  const std::vector<Output>& feeds = request_.signature->feeds;
  fed_.insert(feeds.begin(), feeds.end());
  program_->num_feeds = static_cast<uint32_t>(feeds.size());
  for (size_t i = 0; i < feeds.size(); ++i) {
    values_[feeds[i]] = ValueSource{static_cast<uint32_t>(i), ValuePlace::kFeed};
  }
}

void ProgramCompiler::AddFrames() {
  for (const StaticFrame& frame : tree_.frames) {
    FrameProgram compiled;
    compiled.name = frame.name;
    compiled.name_hash = HashOf(frame.name);
    compiled.parallel_iterations = frame.parallel_iterations;
    if (frame.parent >= 0) {
      compiled.parent = static_cast<uint32_t>(frame.parent);
      compiled.child = program_->frames[frame.parent].num_children++;
    }
    program_->frames.push_back(std::move(compiled));
  }
}

// True for constants and handles without control inputs, which exist before the step begins.
bool ProgramCompiler::IsThereAtStart(size_t i) const {
  const Node& node = *request_.graph->nodes[i];
  const StructuralRole role = RoleOf(node.op().name);
  if (role == StructuralRole::kMustFeed) return true;  // it is fed
  if (role != StructuralRole::kConstant && role != StructuralRole::kHandle) return false;
  const std::vector<const Node*>& controls = request_.graph->controls[i];
  return std::none_of(controls.begin(), controls.end(),
                      [this](const Node* control) { return index_of_.contains(control); });
}

void ProgramCompiler::AddConstant(const Output& output, Value value) {
  if (fed_.contains(output)) return;
  values_[output] =
      ValueSource{static_cast<uint32_t>(program_->constants.size()), ValuePlace::kConstant};
  program_->constants.push_back(std::move(value));
}

Status ProgramCompiler::AddHandle(const Node& node) {
  MS_ASSIGN_OR_RETURN(ResourceRef<Resource> resource,
                      FindResource(node, request_.settings->resources));
  Value handle;
  handle.view.dtype = MS_RESOURCE;
  handle.view.rank = 0;
  handle.view.mem.space = MS_SPACE_HOST;
  handle.view.flags = MS_VIEW_HOST;
  PointToResource(resource.get(), &handle.view);
  AddConstant(node.output(0), std::move(handle));
  program_->resources.push_back(std::move(resource));
  return absl::OkStatus();
}

Status ProgramCompiler::ChooseInner(const Node& node, NodeProgram* program) {
  auto inner = request_.inner.find(&node);
  if (inner == request_.inner.end()) {
    return errors::InvalidArgument("only the runtime adds such a node");
  }
  program->action = NodeAction::kKernel;
  program->compute = inner->second.compute;
  program->state = inner->second.state;
  AllowFor(node);
  return absl::OkStatus();
}

// Executions have room for the node's inputs and outputs.
void ProgramCompiler::AllowFor(const Node& node) {
  program_->most_inputs = std::max(program_->most_inputs, static_cast<uint32_t>(node.num_inputs()));
  program_->most_outputs =
      std::max(program_->most_outputs, static_cast<uint32_t>(node.num_outputs()));
}

Status ProgramCompiler::ChooseAction(const Node& node, NodeProgram* program) {
  const ControlFlowKind kind = KindOf(node);
  if (kind != ControlFlowKind::kNone) {
    program->action = ActionOf(kind);
    program->runs_when_dead = kind == ControlFlowKind::kControlTrigger;
    return absl::OkStatus();
  }
  switch (RoleOf(node.op().name)) {
    case StructuralRole::kConstant:
    case StructuralRole::kHandle:
    case StructuralRole::kMustFeed:
    case StructuralRole::kControlFlow:
    case StructuralRole::kNothing: program->action = NodeAction::kNothing; return absl::OkStatus();
    case StructuralRole::kIdentity:
      if (node.op().name == "PlaceholderWithDefault") break;  // it looks at the shape
      program->action = NodeAction::kPassOn;
      return absl::OkStatus();
    case StructuralRole::kSend:
    case StructuralRole::kReceive: {
      const bool sends = RoleOf(node.op().name) == StructuralRole::kSend;
      program->action = sends ? NodeAction::kSend : NodeAction::kReceive;
      program->runs_when_dead = true;
      program_->may_wait = true;
      MS_ASSIGN_OR_RETURN(program->transfer_edge, TransferEdge(node));
      program->is_peer = node.Attr<bool>(kPeerAttr).value_or(false);
      return absl::OkStatus();
    }
    case StructuralRole::kInner: return ChooseInner(node, program);
    case StructuralRole::kReshape:
    case StructuralRole::kKernel: break;
  }
  MS_ASSIGN_OR_RETURN(program->kernel, request_.kernels->GetOrCreate(&node));
  const KernelRegistration& registration = program->kernel->registration();
  program->state = program->kernel->state();
  program->compute = registration.compute;
  program->compute_async = registration.compute_async;
  const bool is_checked = request_.settings->checks != nullptr && NumericChecks::Concern(node);
  if (is_checked && registration.compute != nullptr) {
    program->state = request_.settings->checks->StateFor(program->kernel);
    program->compute = &NumericChecks::Compute;
  } else if (is_checked) {
    program->checks = request_.settings->checks;
  }
  program->action = NodeAction::kKernel;
  if (registration.compute == nullptr) {
    program->action = NodeAction::kAsync;
  } else if ((registration.flags & MS_KERNEL_BLOCKING) != 0) {
    program->action = NodeAction::kBlocking;
  }
  program_->may_wait |= program->action != NodeAction::kKernel;
  AllowFor(node);
  return absl::OkStatus();
}

// The places of the node's outputs.
Status ProgramCompiler::PlaceOutputs(size_t i, NodeProgram* program) {
  const Node& node = *program->node;
  FrameProgram& frame = program_->frames[program->output_frame];
  program->first_output = static_cast<uint32_t>(program_->outputs.size());
  program->num_outputs = static_cast<uint32_t>(node.num_outputs());
  bool is_constant_enter = false;
  if (program->action == NodeAction::kEnter) {
    MS_ASSIGN_OR_RETURN(is_constant_enter, node.Attr<bool>("is_constant"));
    program->child = frame.child;
    ++frame.num_enters;
  }
  if (program->action == NodeAction::kExit) {
    program->exit = static_cast<uint32_t>(FrameOf(*program).exits.size());
    FrameOf(*program).exits.push_back(index_of_.at(&node));
  }
  const StructuralRole role = RoleOf(node.op().name);
  for (int k = 0; k < node.num_outputs(); ++k) {
    OutputProgram output;
    if (is_constant_enter) {
      program->invariant = static_cast<uint32_t>(frame.invariants.size());
      frame.invariants.push_back(index_of_.at(&node));
      values_.try_emplace(node.output(k), ValueSource{program->invariant, ValuePlace::kInvariant});
    } else if (role != StructuralRole::kConstant && role != StructuralRole::kHandle) {
      output.slot = frame.num_slots++;
      values_.try_emplace(node.output(k), ValueSource{output.slot, ValuePlace::kSlot});
    }
    program_->outputs.push_back(output);
    output_edges_.emplace_back();
  }
  return absl::OkStatus();
}

Status ProgramCompiler::AddNode(size_t i) {
  const Node& node = *request_.graph->nodes[i];
  const StructuralRole role = RoleOf(node.op().name);
  if (role == StructuralRole::kConstant) {
    Value value(*Graph::ConstantValue(node.output(0)));
    value.view.flags |= MS_VIEW_CONST;
    AddConstant(node.output(0), std::move(value));
  } else if (role == StructuralRole::kHandle) {
    MS_RETURN_IF_ERROR(AddHandle(node));
  }
  if (IsThereAtStart(i)) return absl::OkStatus();
  NodeProgram program;
  program.node = &node;
  program.frame = static_cast<uint32_t>(tree_.input_frame[i]);
  program.output_frame = static_cast<uint32_t>(tree_.output_frame[i]);
  MS_RETURN_IF_ERROR(ChooseAction(node, &program));
  program.local = static_cast<uint32_t>(FrameOf(program).pending.size());
  FrameOf(program).pending.emplace_back();
  const auto index = static_cast<uint32_t>(program_->nodes.size());
  index_of_[&node] = index;
  FrameOf(program).nodes.push_back(index);
  if (program.output_frame != program.frame) {
    program_->frames[program.output_frame].nodes.push_back(index);
  }
  MS_RETURN_IF_ERROR(PlaceOutputs(i, &program));
  program_->nodes.push_back(program);
  pruned_index_.push_back(i);
  control_edges_.emplace_back();
  return absl::OkStatus();
}

// Connects an input that exists before the step begins. In a loop it does not make the node run.
Status ProgramCompiler::ConnectGlobal(const Node& node, int k, const NodeProgram& program,
                                      bool* arrives_later) {
  *arrives_later = false;
  const Output& input = node.input(k);
  if (fed_.contains(input)) {
    if (program.action == NodeAction::kMerge && program.frame != 0) {
      return errors::InvalidArgument("input ", k, ", ", input.name(),
                                     ", is fed, but nothing can be fed inside a loop");
    }
  } else if (index_of_.contains(input.node)) {
    *arrives_later = true;
    return absl::OkStatus();
  }
  Pending& pending = program_->frames[program.frame].pending[program.local];
  if (program.action == NodeAction::kMerge && pending.live == Pending::kNone) pending.live = k;
  return absl::OkStatus();
}

Status ProgramCompiler::ConnectInput(const Node& node, int k, NodeProgram* program) {
  const Output& input = node.input(k);
  const ValueSource source = values_.at(input);
  program_->inputs.push_back(source);
  bool arrives_later = false;
  MS_RETURN_IF_ERROR(ConnectGlobal(node, k, *program, &arrives_later));
  if (!arrives_later) return absl::OkStatus();
  const uint32_t from = index_of_.at(input.node);
  const uint32_t output = program_->nodes[from].first_output + static_cast<uint32_t>(input.index);
  WaitEdge edge;
  edge.node = index_of_.at(&node);
  edge.local = program->local;
  if (source.place == ValuePlace::kSlot) ++program_->outputs[output].uses;
  if (program->action == NodeAction::kMerge) {
    edge.merge_input = k;
    if (!IsBackEdge(input, node)) ++program->live_inputs_needed;
  } else {
    ++FrameOf(*program).pending[program->local].waits;
  }
  output_edges_[output].push_back(edge);
  return absl::OkStatus();
}

// The constant in device memory, where it stays as long as the program lives.
StatusOr<ValueSource> ProgramCompiler::OnDevice(uint32_t constant) {
  auto [entry, is_new] = device_constants_.try_emplace(constant, program_->constants.size());
  if (is_new) {
    const Tensor value = program_->constants[constant].tensor;
    MS_ASSIGN_OR_RETURN(Tensor copy, program_->memory->CopyToDevice(value));
    program_->constants.emplace_back(std::move(copy));
    program_->constants.back().view.flags |= MS_VIEW_CONST;
  }
  return ValueSource{entry->second, ValuePlace::kConstant};
}

// Sets the memory space of the input that was connected last.
Status ProgramCompiler::WantInput(const MemorySpaces& spaces, const Node& node, int k) {
  WantedSpace wanted = spaces.reads_on_device ? WantedSpace::kDevice : WantedSpace::kAnywhere;
  if (spaces.input_in_host[k]) wanted = WantedSpace::kHost;
  program_->wanted.push_back(wanted);
  ValueSource& source = program_->inputs.back();
  const bool is_handle = node.input(k).dtype() == DataType::kResource;
  if (wanted == WantedSpace::kDevice && source.place == ValuePlace::kConstant && !is_handle) {
    MS_ASSIGN_OR_RETURN(source, OnDevice(source.index));
  }
  return absl::OkStatus();
}

Status ProgramCompiler::ConnectInputs(size_t index) {
  NodeProgram& program = program_->nodes[index];
  const Node& node = *program.node;
  program.first_input = static_cast<uint32_t>(program_->inputs.size());
  program.num_inputs = static_cast<uint32_t>(node.num_inputs());
  MemorySpaces spaces;
  if (program_->memory != nullptr) {
    spaces = MemorySpacesOf(node, request_.kernels->device_type());
    for (int k = 0; k < node.num_outputs(); ++k) {
      program_->output_in_host[program.first_output + k] = spaces.output_in_host[k];
    }
  }
  for (int k = 0; k < node.num_inputs(); ++k) {
    MS_RETURN_IF_ERROR(ConnectInput(node, k, &program));
    if (program_->memory != nullptr) MS_RETURN_IF_ERROR(WantInput(spaces, node, k));
  }
  for (const Node* control : request_.graph->controls[pruned_index_[index]]) {
    auto found = index_of_.find(control);
    if (found == index_of_.end()) continue;  // there before the step begins
    WaitEdge edge;
    edge.node = static_cast<uint32_t>(index);
    edge.local = program.local;
    if (program.action == NodeAction::kMerge) edge.merge_input = WaitEdge::kMergeControl;
    ++FrameOf(program).pending[program.local].waits;
    control_edges_[found->second].push_back(edge);
  }
  program.is_invariant = IsInvariant(program);
  return absl::OkStatus();
}

// True if the node's outputs are the same in every iteration of their frame.
bool ProgramCompiler::IsInvariant(const NodeProgram& program) const {
  if (program.action == NodeAction::kEnter) return program.invariant != kNoIndex;
  if (program.output_frame != program.frame || program.action == NodeAction::kNextIteration) {
    return false;
  }
  const auto varies = [this](const Node* node) {
    auto found = index_of_.find(node);
    return found != index_of_.end() && !program_->nodes[found->second].is_invariant;
  };
  const std::vector<Output>& inputs = program.node->inputs();
  const size_t i = pruned_index_[&program - program_->nodes.data()];
  return absl::c_none_of(inputs, [&](const Output& input) { return varies(input.node); }) &&
         absl::c_none_of(request_.graph->controls[i], varies);
}

// A fetch keeps its tensor until the step ends.
Status ProgramCompiler::AddFetches() {
  absl::flat_hash_set<Output> seen;
  const std::vector<Output>& fetches = request_.signature->fetches;
  program_->fetches.resize(fetches.size());
  for (size_t i = fetches.size(); i-- > 0;) {
    const Output& output = fetches[i];
    FetchProgram& fetch = program_->fetches[i];
    fetch.output = output;
    fetch.source = values_.at(output);
    const bool is_last = seen.insert(output).second;
    fetch.may_move = is_last && request_.settings->features.moved_fetches;
    auto found = index_of_.find(output.node);
    if (found == index_of_.end() || fed_.contains(output)) continue;
    const NodeProgram& program = program_->nodes[found->second];
    if (program.output_frame != 0) {
      return AnnotateWithNode(
          errors::InvalidArgument(output.name(), " is inside a loop, in frame '",
                                  program_->frames[program.output_frame].name,
                                  "', and cannot be fetched; fetch what leaves the loop"),
          *output.node);
    }
    if (is_last && fetch.source.place == ValuePlace::kSlot) {
      ++program_->outputs[program.first_output + static_cast<uint32_t>(output.index)].uses;
    }
  }
  return absl::OkStatus();
}

void ProgramCompiler::FlattenEdges() {
  std::vector<WaitEdge>& edges = program_->edges;
  for (size_t i = 0; i < program_->outputs.size(); ++i) {
    OutputProgram& output = program_->outputs[i];
    output.first_edge = static_cast<uint32_t>(edges.size());
    output.num_edges = static_cast<uint32_t>(output_edges_[i].size());
    edges.insert(edges.end(), output_edges_[i].begin(), output_edges_[i].end());
  }
  for (size_t i = 0; i < program_->nodes.size(); ++i) {
    NodeProgram& node = program_->nodes[i];
    node.first_control_edge = static_cast<uint32_t>(edges.size());
    node.num_control_edges = static_cast<uint32_t>(control_edges_[i].size());
    edges.insert(edges.end(), control_edges_[i].begin(), control_edges_[i].end());
  }
}

StatusOr<std::unique_ptr<DynamicProgram>> ProgramCompiler::Run() {
  const PrunedGraph& graph = *request_.graph;
  program_->deterministic = request_.settings->options.deterministic;
  program_->keeps_inputs = request_.settings->checks != nullptr;
  program_->memory = request_.memory;
  program_->device = request_.kernels->device();
  program_->resources_of_session = request_.settings->resources;
  program_->may_wait = request_.memory != nullptr;  // for the device, in the end
  AddFeeds();
  MS_ASSIGN_OR_RETURN(tree_, FindFrames(graph, fed_));
  AddFrames();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Status added = AddNode(i);
    if (!added.ok()) return AnnotateWithNode(added, *graph.nodes[i]);
  }
  if (program_->memory != nullptr) program_->output_in_host.resize(program_->outputs.size());
  for (size_t i = 0; i < program_->nodes.size(); ++i) {
    Status connected = ConnectInputs(i);
    if (!connected.ok()) return AnnotateWithNode(connected, *program_->nodes[i].node);
  }
  MS_RETURN_IF_ERROR(AddFetches());
  FlattenEdges();
  FinishProgram(request_, program_.get());
  return std::move(program_);
}

}  // namespace

StatusOr<std::unique_ptr<DynamicProgram>> DynamicProgram::Compile(const DynamicRequest& request) {
  return ProgramCompiler(request).Run();
}

}  // namespace millstream
