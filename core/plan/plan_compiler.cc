#include "core/plan/plan_compiler.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/device/memory_space.h"
#include "core/graph/plan_facts.h"
#include "core/graph/structural_role.h"
#include "core/numerics/numeric_checks.h"
#include "core/passes/pass.h"
#include "core/passes/step_ops.h"
#include "core/plan/plan_constants.h"
#include "core/plan/plan_copies.h"
#include "core/plan/plan_executor.h"
#include "core/plan/plan_layout.h"
#include "core/resources/resource_handle.h"

namespace millstream {
namespace {

bool IsHandle(const Output& output) { return output.dtype() == DataType::kResource; }

// Stands for nodes that do nothing in graphs that run as written.
MS_Status* DoNothing(void*, MS_Frame*) { return nullptr; }

// Builds one plan, in the order of the methods of Run.
class PlanCompiler {
 public:
  explicit PlanCompiler(const PlanRequest& request)
      : request_(request),
        settings_(*request.settings),
        optimizes_(settings_.options.optimize),
        constants_(request),
        plan_(std::make_unique<Plan>()),
        copies_(plan_.get()) {
    plan_->iterations = request.graph->iterations;
  }
  StatusOr<std::unique_ptr<Plan>> Run();

 private:
  StatusOr<PlanFacts> InferFacts() const;
  void AddFeeds();
  void FindNeededNodes();
  StatusOr<StepOps> Optimize();
  absl::flat_hash_set<Output> VisibleValues() const;
  Status AddOp(const StepOp& op);
  void AddFolded(const Node* node);
  Status AddHandle(const Node* node);
  bool AddRenamed(const StepOp& op, bool identity);
  StatusOr<KernelInstance*> KernelOf(const Node* node);
  Root& AddOutput(const Output& output, RootKind kind, Instruction* instruction);
  Status AddKernel(const StepOp& op);
  Status AddTransfer(const StepOp& op, bool is_send);
  Status AddInner(const StepOp& op);
  StatusOr<std::vector<ValueRef>> InputsOf(const StepOp& op, const MemorySpaces& spaces);
  Status BringFetchesHome(const StepOp& op);
  void FinishCalls();
  void AddIdleInstruction(const Node* node);
  void AddConstant(const Output& output, const Tensor& value);
  Status AddFetches();
  void MarkUsedOutputs();

  bool IsFolded(const Node* node) const;
  int NewRoot(const Output& source, RootKind kind) {
    return millstream::NewRoot(source, kind, plan_.get());
  }
  ValueRef RefTo(int root) const { return millstream::RefTo(*plan_, root); }

  const PlanRequest& request_;
  const SessionSettings& settings_;
  const bool optimizes_;
  PlanConstants constants_;
  std::unique_ptr<Plan> plan_;
  PlanCopies copies_;
  PlanFacts facts_;
  absl::flat_hash_set<Output> fed_;
  absl::flat_hash_set<const Node*> targets_;
  absl::flat_hash_set<const Node*> needed_;
  absl::flat_hash_set<const Node*> awaited_;  // by control edges
  absl::flat_hash_map<Output, ValueRef> values_;
  const StepOps* ops_ = nullptr;
};

// A node whose outputs the plan knows already.
bool PlanCompiler::IsFolded(const Node* node) const {
  if (RoleOf(node->op().name) == StructuralRole::kConstant) return true;
  if (!optimizes_ || !settings_.features.fold_shapes) return false;
  if (node->op().is_stateful || node->num_outputs() == 0) return false;
  for (int i = 0; i < node->num_outputs(); ++i) {
    const Output output = node->output(i);
    if (!fed_.contains(output) && facts_.constant(output) == nullptr) return false;
  }
  return true;
}

// Removes nodes that have no readers because the values of shape arithmetic are known, and nodes
// that only they read. The control edges of removed nodes are kept.
void PlanCompiler::FindNeededNodes() {
  absl::flat_hash_set<const Node*> order_only;
  for (const Output& fetch : request_.signature->fetches) {
    if (!fed_.contains(fetch)) needed_.insert(fetch.node);
  }
  for (const Node* target : targets_) needed_.insert(target);
  const PrunedGraph& graph = *request_.graph;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node* node = graph.nodes[i];
    const bool runs = needed_.contains(node) && !IsFolded(node);
    if (!runs && !needed_.contains(node) && !order_only.contains(node)) continue;
    for (const Node* control : graph.controls[i]) {
      needed_.insert(control);
      awaited_.insert(control);
    }
    for (const Output& input : node->inputs()) {
      if (!fed_.contains(input)) (runs ? needed_ : order_only).insert(input.node);
    }
  }
}

StatusOr<PlanFacts> PlanCompiler::InferFacts() const {
  const StepSignature& signature = *request_.signature;
  if (request_.feed_facts != nullptr) {
    return PlanFacts::InferFrom(*request_.graph, signature, *request_.feed_facts,
                                request_.received);
  }
  return PlanFacts::Infer(*request_.graph, signature, request_.feed_shapes, request_.received);
}

void PlanCompiler::AddFeeds() {
  for (size_t i = 0; i < request_.signature->feeds.size(); ++i) {
    const Output& feed = request_.signature->feeds[i];
    const int index = NewRoot(feed, RootKind::kFeed);
    Root& root = plan_->roots[index];
    root.index = static_cast<int>(i);
    const PartialShape& shape = facts_.of(feed).shape;
    root.shape_known = shape.IsFullyKnown();
    if (root.shape_known) root.shape = shape.ToShape();
    plan_->feed_roots.push_back(index);
    values_[feed] = RefTo(index);
  }
}

void PlanCompiler::AddConstant(const Output& output, const Tensor& value) {
  const int index = NewRoot(output, RootKind::kConstant);
  Root& root = plan_->roots[index];
  root.constant = value;
  root.shape_known = true;
  root.shape = value.shape();
  values_[output] = RefTo(index);
}

Status PlanCompiler::AddHandle(const Node* node) {
  MS_ASSIGN_OR_RETURN(ResourceRef<Resource> resource, FindResource(*node, settings_.resources));
  const int index = NewRoot(node->output(0), RootKind::kHandle);
  Root& root = plan_->roots[index];
  root.resource = std::move(resource);
  root.shape_known = true;
  values_[node->output(0)] = RefTo(index);
  return absl::OkStatus();
}

// False when the new shape, or the old one, is known only at run time. So is a shape that was
// inferred without knowing the sizes asked for, on the assumption that they fit: the kernel looks.
// Handles have names alone: there is nothing that a kernel could copy. Passes make only what fits.
bool PlanCompiler::AddRenamed(const StepOp& op, bool identity) {
  if (!settings_.features.views && !absl::c_any_of(op.outputs, IsHandle)) return false;
  if (!identity && op.inputs.size() > 1 && facts_.constant(op.inputs[1]) == nullptr &&
      !ops_->IsNew(op.node)) {
    return false;
  }
  const size_t count = identity ? op.outputs.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    ValueRef value = values_.at(op.inputs[i]);
    if (!identity) {
      const PartialShape& shape = facts_.of(op.outputs[i]).shape;
      if (!value.shape_known || !shape.IsFullyKnown()) return false;
      value.shape = shape.ToShape();
    }
    values_.try_emplace(op.outputs[i], std::move(value));
  }
  return true;
}

void PlanCompiler::AddIdleInstruction(const Node* node) {
  Instruction instruction;
  instruction.node = node;
  instruction.outputs_used.assign(1, 0);
  plan_->instructions.push_back(std::move(instruction));
  plan_->calls.push_back(Call{&DoNothing, nullptr, 0, 0});
}

// Kernels of the program's nodes are the session's; those of nodes that passes made, the plan's.
StatusOr<KernelInstance*> PlanCompiler::KernelOf(const Node* node) {
  if (!ops_->IsNew(node)) return request_.kernels->GetOrCreate(node);
  MS_ASSIGN_OR_RETURN(std::unique_ptr<KernelInstance> kernel, request_.kernels->Create(node));
  plan_->own_kernels.push_back(std::move(kernel));
  return plan_->own_kernels.back().get();
}

// The root of an output of an instruction, which stands at the end when it is complete.
Root& PlanCompiler::AddOutput(const Output& output, RootKind kind, Instruction* instruction) {
  const int index = NewRoot(output, kind);
  Root& root = plan_->roots[index];
  const PartialShape* const shape = ops_->KnownShape(output);
  // Nothing reads the value of a fed output, and its shape may differ from the feed's.
  root.shape_known = !fed_.contains(output) && shape != nullptr;
  if (root.shape_known) root.shape = shape->ToShape();
  root.first = static_cast<int>(plan_->instructions.size());
  instruction->outputs.push_back(RefTo(index));
  values_.try_emplace(output, RefTo(index));
  return root;
}

Status PlanCompiler::AddKernel(const StepOp& op) {
  const Node* const node = op.node;
  MS_ASSIGN_OR_RETURN(KernelInstance * kernel, KernelOf(node));
  const bool shares = settings_.features.variables && node->op().shares_outputs;
  Instruction instruction;
  instruction.node = node;
  instruction.kernel = kernel;
  instruction.prepares_constants = op.prepares_constants;
  if (ops_->IsNew(node)) instruction.reads = op.inputs;
  const MemorySpaces spaces = plan_->memory == nullptr
                                  ? MemorySpaces()
                                  : MemorySpacesOf(*node, request_.kernels->device_type());
  MS_ASSIGN_OR_RETURN(instruction.inputs, InputsOf(op, spaces));
  for (size_t k = 0; k < op.outputs.size(); ++k) {
    Root& root = AddOutput(op.outputs[k], RootKind::kPlanned, &instruction);
    if (plan_->memory != nullptr) {
      root.in_host = spaces.passes_on ? plan_->roots[instruction.inputs[k].root].in_host
                                      : spaces.output_in_host[k];
    }
    if (root.shape_known) {
      Status valid = ValidateShape(root.shape);
      if (!valid.ok()) return AnnotateWithNode(valid, *node);
    }
    const bool is_planned = settings_.features.slab && root.shape_known && !shares &&
                            IsPlainData(root.dtype) && root.in_host == (plan_->memory == nullptr);
    if (!is_planned) root.kind = RootKind::kSlot;
  }
  const KernelRegistration& registration = kernel->registration();
  if (NumericChecks::Concern(*node)) instruction.checks = settings_.checks;
  const bool is_checked = instruction.checks != nullptr;
  plan_->instructions.push_back(std::move(instruction));
  if (registration.compute == nullptr) {
    plan_->calls.push_back(Call{&PlanRun::StartAsync, kernel, kAfterWait, 0});
  } else if (is_checked) {
    plan_->calls.push_back(Call{&NumericChecks::Compute, settings_.checks->StateFor(kernel), 0, 0});
  } else {
    plan_->calls.push_back(Call{registration.compute, kernel->state(), 0, 0});
  }
  return plan_->memory == nullptr ? absl::OkStatus() : BringFetchesHome(op);
}

// ---- On a device that has its own memory ----

// The inputs of the kernel, in the memory that it needs.
StatusOr<std::vector<ValueRef>> PlanCompiler::InputsOf(const StepOp& op,
                                                       const MemorySpaces& spaces) {
  std::vector<ValueRef> inputs;
  for (const Output& input : op.inputs) inputs.push_back(values_.at(input));
  if (plan_->memory == nullptr) return inputs;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!spaces.input_in_host[k] && !spaces.reads_on_device) continue;
    MS_ASSIGN_OR_RETURN(inputs[k], copies_.ValueIn(spaces.input_in_host[k], inputs[k]));
  }
  return inputs;
}

// Copies fetched values to the host directly after the work that computes them is enqueued, while
// the device continues.
Status PlanCompiler::BringFetchesHome(const StepOp& op) {
  for (const Output& output : op.outputs) {
    if (!absl::c_linear_search(request_.signature->fetches, output)) continue;
    const ValueRef& value = values_.at(output);
    if (fed_.contains(output) || plan_->roots[value.root].in_host) continue;
    MS_RETURN_IF_ERROR(copies_.CopyInto(true, value.root).status());
  }
  return absl::OkStatus();
}

// A tensor that is sent to or received from another part of the step.
Status PlanCompiler::AddTransfer(const StepOp& op, bool is_send) {
  Instruction instruction;
  instruction.node = op.node;
  MS_ASSIGN_OR_RETURN(instruction.edge, TransferEdge(*op.node));
  instruction.is_peer = op.node->Attr<bool>(kPeerAttr).value_or(false);
  instruction.transfer = is_send ? TransferKind::kSend : TransferKind::kReceive;
  if (is_send) {
    ValueRef value = values_.at(op.inputs[0]);
    if (plan_->roots[value.root].in_host) {
      MS_ASSIGN_OR_RETURN(value, copies_.ValueIn(true, value));
    }
    Root& root = plan_->roots[value.root];
    // The receiver shares the buffer, so it is not in the slab.
    if (root.kind == RootKind::kPlanned) root.kind = RootKind::kEscaping;
    instruction.inputs.push_back(value);
  } else {
    Root& root = AddOutput(op.outputs[0], RootKind::kSlot, &instruction);
    root.in_host = plan_->memory == nullptr || op.type() == "_HostRecv";
  }
  AddExecutorCall(std::move(instruction), plan_.get());
  return absl::OkStatus();
}

// A loop or a conditional. What leaves it has memory of its own.
Status PlanCompiler::AddInner(const StepOp& op) {
  const Node* const node = op.node;
  InnerNode* inner = nullptr;
  if (request_.inner != nullptr) {
    const auto found = request_.inner->find(node);
    if (found != request_.inner->end()) inner = found->second.get();
  }
  if (inner == nullptr) {
    return AnnotateWithNode(errors::InvalidArgument("only the runtime adds such a node"), *node);
  }
  Instruction instruction;
  instruction.node = node;
  for (const Output& input : op.inputs) instruction.inputs.push_back(values_.at(input));
  for (const Output& output : op.outputs) AddOutput(output, RootKind::kSlot, &instruction);
  plan_->instructions.push_back(std::move(instruction));
  plan_->calls.push_back(Call{&InnerNode::Compute, inner, kAfterCheck, 0});
  return absl::OkStatus();
}

// Instructions stand where they will stay.
void PlanCompiler::FinishCalls() {
  for (size_t i = 0; i < plan_->calls.size(); ++i) {
    Call& call = plan_->calls[i];
    if (plan_->instructions[i].transfer != TransferKind::kNone) {
      call.state = &plan_->instructions[i];
    }
    plan_->may_wait |= (call.after & kAfterWait) != 0;
  }
  plan_->may_wait |= plan_->memory != nullptr;  // for the device, in the end
}

void PlanCompiler::AddFolded(const Node* node) {
  for (int i = 0; i < node->num_outputs(); ++i) {
    const Output output = node->output(i);
    if (!fed_.contains(output)) AddConstant(output, *facts_.constant(output));
  }
}

Status PlanCompiler::AddOp(const StepOp& op) {
  const Node* const node = op.node;
  const StructuralRole role = RoleOf(op.type());
  switch (role) {
    case StructuralRole::kNothing:
      if (!optimizes_) AddIdleInstruction(node);
      return absl::OkStatus();
    case StructuralRole::kIdentity:
    case StructuralRole::kReshape:
      if (!AddRenamed(op, role == StructuralRole::kIdentity)) return AddKernel(op);
      if (!optimizes_) AddIdleInstruction(node);
      return absl::OkStatus();
    case StructuralRole::kHandle: return AddHandle(node);
    case StructuralRole::kSend: return AddTransfer(op, true);
    case StructuralRole::kReceive: return AddTransfer(op, false);
    case StructuralRole::kInner: return AddInner(op);
    case StructuralRole::kControlFlow:
      return AnnotateWithNode(errors::Internal("a plan has no control flow"), *node);
    case StructuralRole::kConstant:
    case StructuralRole::kMustFeed:
    case StructuralRole::kKernel: break;
  }
  return AddKernel(op);
}

// The fetched values, and the outputs of targets.
absl::flat_hash_set<Output> PlanCompiler::VisibleValues() const {
  const std::vector<Output>& fetches = request_.signature->fetches;
  absl::flat_hash_set<Output> visible(fetches.begin(), fetches.end());
  visible.insert(fed_.begin(), fed_.end());
  for (const Node* target : targets_) {
    for (int i = 0; i < target->num_outputs(); ++i) visible.insert(target->output(i));
  }
  return visible;
}

// The operations that remain after known values are folded and the passes have run.
StatusOr<StepOps> PlanCompiler::Optimize() {
  StepOps ops(request_.graph, &facts_, request_.kernels->device_type(), VisibleValues(),
              [this](const StepOp& op, const std::vector<Tensor>& inputs, int64_t max_bytes) {
                return constants_.Evaluate(op, inputs, max_bytes);
              });
  for (const Node* node : request_.graph->nodes) {
    if (!needed_.contains(node)) continue;
    if (IsFolded(node)) {
      AddFolded(node);
      continue;
    }
    StepOp op;
    op.node = node;
    op.inputs = node->inputs();
    for (int i = 0; i < node->num_outputs(); ++i) op.outputs.push_back(node->output(i));
    op.must_run = targets_.contains(node) || awaited_.contains(node);
    ops.Append(std::move(op));
  }
  if (optimizes_) MS_RETURN_IF_ERROR(RunPasses(settings_.options.disabled_passes, &ops));
  return ops;
}

Status PlanCompiler::AddFetches() {
  for (const Output& fetch : request_.signature->fetches) {
    FetchPlan fetch_plan;
    fetch_plan.value = values_.at(fetch);
    if (!plan_->roots[fetch_plan.value.root].in_host) {
      MS_ASSIGN_OR_RETURN(fetch_plan.value.root, copies_.CopyInto(true, fetch_plan.value.root));
    }
    Root& root = plan_->roots[fetch_plan.value.root];
    if (root.kind == RootKind::kPlanned && settings_.features.moved_fetches) {
      root.kind = RootKind::kEscaping;
    }
    plan_->fetches.push_back(std::move(fetch_plan));
  }
  if (!settings_.features.moved_fetches) return absl::OkStatus();
  absl::flat_hash_set<int> moved;
  for (size_t i = plan_->fetches.size(); i-- > 0;) {
    plan_->fetches[i].move = moved.insert(plan_->fetches[i].value.root).second;
  }
  return absl::OkStatus();
}

// An output counts as used when an instruction reads it, a fetch takes it, or it is a target's.
void PlanCompiler::MarkUsedOutputs() {
  std::vector<bool> used(plan_->roots.size(), false);
  for (const Instruction& instruction : plan_->instructions) {
    for (const ValueRef& input : instruction.inputs) used[input.root] = true;
  }
  for (const FetchPlan& fetch : plan_->fetches) used[fetch.value.root] = true;
  const bool all_used = !settings_.features.unused_outputs;
  for (Instruction& instruction : plan_->instructions) {
    instruction.outputs_used.assign(instruction.outputs.size() / 64 + 1, 0);
    for (size_t k = 0; k < instruction.outputs.size(); ++k) {
      const int root = instruction.outputs[k].root;
      if (all_used || used[root] || targets_.contains(plan_->roots[root].source.node)) {
        instruction.outputs_used[k / 64] |= uint64_t{1} << (k % 64);
      }
    }
  }
}

StatusOr<std::unique_ptr<Plan>> PlanCompiler::Run() {
  const StepSignature& signature = *request_.signature;
  fed_.insert(signature.feeds.begin(), signature.feeds.end());
  targets_.insert(signature.targets.begin(), signature.targets.end());
  MS_ASSIGN_OR_RETURN(facts_, InferFacts());
  if (request_.feed_shapes != nullptr) plan_->feed_shapes = *request_.feed_shapes;
  plan_->num_carried = request_.num_carried;
  plan_->memory = request_.memory;
  plan_->settings = &settings_;
  AddFeeds();
  FindNeededNodes();
  MS_ASSIGN_OR_RETURN(StepOps ops, Optimize());
  ops_ = &ops;
  for (const auto& [output, value] : ops.NewConstants()) {
    AddConstant(output, constants_.Share(output, value));
  }
  plan_->own_nodes = ops.TakeGraph();
  for (int i = 0; i < ops.size(); ++i) {
    if (!ops.IsGone(i)) MS_RETURN_IF_ERROR(AddOp(ops.op(i)));
  }
  MS_RETURN_IF_ERROR(AddFetches());
  MarkUsedOutputs();
  FinishCalls();
  MS_RETURN_IF_ERROR(LayOutPlan(plan_.get()));
  return std::move(plan_);
}

}  // namespace

StatusOr<std::unique_ptr<Plan>> CompilePlan(const PlanRequest& request) {
  return PlanCompiler(request).Run();
}

}  // namespace millstream
