#include "core/passes/step_ops.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "core/graph/structural_role.h"
#include "core/resources/resource_handle.h"
#include "framework/plugin/kernel_registry.h"

namespace millstream {

void StepOps::Append(StepOp op) {
  ops_.emplace_back();
  origins_.push_back(op.node);
  Place(size() - 1, std::move(op));
}

// What reads a fed output of the operation reads the feed.
void StepOps::Place(int i, StepOp op) {
  readers_.Add(i, op.inputs);
  for (const Output& output : op.outputs) {
    if (!facts_->IsFed(output)) producers_[output] = i;
  }
  ops_[i] = std::move(op);
}

void StepOps::Forget(int i) {
  readers_.Remove(i, ops_[i].inputs);
  for (const Output& output : ops_[i].outputs) producers_.erase(output);
  ops_[i] = StepOp();
}

int StepOps::Producer(const Output& value) const {
  auto found = producers_.find(value);
  return found == producers_.end() ? -1 : found->second;
}

int StepOps::OnlyReader(const Output& value) const {
  return IsVisible(value) || readers_.Count(value) != 1 ? -1 : Readers(value)[0];
}

const PartialShape* StepOps::KnownShape(const Output& value) const {
  auto found = constants_.find(value);
  if (found != constants_.end()) return &found->second.shape;
  const auto made = new_values_.find(value);
  if (made != new_values_.end()) return made->second.IsFullyKnown() ? &made->second : nullptr;
  const PartialShape& shape = facts_->of(value).shape;
  return shape.IsFullyKnown() ? &shape : nullptr;
}

const Tensor* StepOps::constant(const Output& value) const {
  auto found = constants_.find(value);
  return found != constants_.end() ? &found->second.value : facts_->constant(value);
}

bool StepOps::HasKernel(absl::string_view op, const AttrMap& attrs) const {
  return KernelRegistry::Global()->Find(op, device_type_, attrs).ok();
}

// ---- New nodes ----

StatusOr<const Node*> StepOps::AddNode(NodeSpec spec) {
  if (graph_ == nullptr) graph_ = std::make_unique<Graph>();
  spec.name = graph_->UniqueName(spec.name);
  MS_ASSIGN_OR_RETURN(const Node* node, graph_->AddNode(std::move(spec)));
  new_nodes_.insert(node);
  return node;
}

// The new node's inputs are dummies of the right types. Kernels read only the types of a node's
// inputs.
StatusOr<Output> StepOps::Dummy(DataType dtype) {
  Output& dummy = dummies_[static_cast<int>(dtype)];
  if (!dummy) {
    NodeSpec spec;
    spec.name = "input";
    spec.op = "Placeholder";
    SetAttr(&spec.attrs, "dtype", dtype);
    MS_ASSIGN_OR_RETURN(const Node* node, AddNode(std::move(spec)));
    dummy = node->output(0);
  }
  return dummy;
}

StatusOr<Output> StepOps::NewValue(DataType dtype, const PartialShape& shape) {
  NodeSpec spec;
  spec.name = "value";
  spec.op = "Placeholder";
  SetAttr(&spec.attrs, "dtype", dtype);
  MS_ASSIGN_OR_RETURN(const Node* node, AddNode(std::move(spec)));
  new_values_.emplace(node->output(0), shape);
  return node->output(0);
}

Status StepOps::Add(absl::string_view op, AttrMap attrs, const Node& like,
                    std::vector<Output> inputs, std::vector<Output> outputs) {
  StepOp made;
  MS_ASSIGN_OR_RETURN(made.node, NewNode(op, std::move(attrs), like, inputs));
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  Append(std::move(made));
  return absl::OkStatus();
}

StatusOr<Output> StepOps::AddHandle(const Node& handle) {
  MS_ASSIGN_OR_RETURN(ResourceName resource, ResourceNameOf(handle));
  NodeSpec spec;
  spec.name = handle.name();
  spec.op = handle.op().name;
  spec.attrs = handle.attrs();
  SetAttr(&spec.attrs, "shared_name", std::move(resource.name));  // the node has another name
  spec.source = handle.source();
  spec.allow_unknown_attrs = true;
  StepOp made;
  MS_ASSIGN_OR_RETURN(made.node, AddNode(std::move(spec)));
  const Output value = made.node->output(0);
  made.outputs = {value};
  new_values_.emplace(value, PartialShape::Scalar());
  Append(std::move(made));
  return value;
}

StatusOr<const Node*> StepOps::NewNode(absl::string_view op, AttrMap attrs, const Node& like,
                                       absl::Span<const Output> inputs) {
  NodeSpec spec;
  for (const Output& input : inputs) {
    MS_ASSIGN_OR_RETURN(Output dummy, Dummy(input.dtype()));
    spec.inputs.push_back(dummy);
  }
  spec.name = like.name();
  spec.op = std::string(op);
  spec.attrs = std::move(attrs);
  spec.source = like.source();
  // Nodes of newer graphs, and copies of them, may have attributes that the op does not define.
  spec.allow_unknown_attrs = true;
  return AddNode(std::move(spec));
}

Status StepOps::Replace(int place, absl::Span<const int> replaced, absl::string_view op,
                        AttrMap attrs, const Node& like, std::vector<Output> inputs,
                        std::vector<Output> outputs) {
  MS_ASSIGN_OR_RETURN(const Node* node, NewNode(op, std::move(attrs), like, inputs));
  bool must_run = ops_[place].must_run;
  for (int i : replaced) {
    must_run |= ops_[i].must_run;
    Forget(i);
  }
  if (!IsGone(place)) Forget(place);
  StepOp made;
  made.node = node;
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  made.must_run = must_run;
  Place(place, std::move(made));
  return absl::OkStatus();
}

// ---- Values under other names ----

bool StepOps::Redirect(const Output& from, const Output& to) {
  if (IsVisible(from)) return false;
  for (const ReadingArgument& argument : readers_.Redirect(from, to)) {
    ops_[argument.op].inputs[argument.number] = to;
  }
  return true;
}

Status StepOps::Forward(int i, const Output& value) {
  const Output output = ops_[i].outputs[0];
  if (Redirect(output, value)) {
    RemoveUnread(i);
    return absl::OkStatus();
  }
  const std::vector<Output> unread = ops_[i].inputs;
  AttrMap attrs;
  SetAttr(&attrs, "T", output.dtype());
  MS_RETURN_IF_ERROR(
      Replace(i, {}, "Identity", std::move(attrs), *ops_[i].node, {value}, {output}));
  for (const Output& input : unread) RemoveUnread(Producer(input));
  return absl::OkStatus();
}

bool StepOps::IsUnread(const StepOp& op) const {
  if (op.must_run || op.outputs.empty() || op.node->op().is_stateful) return false;
  return absl::c_all_of(op.outputs, [this](const Output& output) {
    return !IsVisible(output) && readers_.Count(output) == 0;
  });
}

void StepOps::RemoveUnread(int i) {
  std::vector<int> candidates = {i};
  while (!candidates.empty()) {
    const int candidate = candidates.back();
    candidates.pop_back();
    if (candidate < 0 || IsGone(candidate) || !IsUnread(ops_[candidate])) continue;
    const std::vector<Output> inputs = ops_[candidate].inputs;
    Forget(candidate);
    for (const Output& input : inputs) candidates.push_back(Producer(input));
  }
}

// ---- Order ----

const std::vector<const Node*>& StepOps::ControlsOf(int i) const {
  static const auto* const kNone = new std::vector<const Node*>;
  if (!controlled_.has_value()) {
    controlled_.emplace();
    for (size_t k = 0; k < program_.nodes.size(); ++k) {
      if (!program_.controls[k].empty()) controlled_->emplace(program_.nodes[k], k);
    }
  }
  const auto found = controlled_->find(origins_[i]);
  return found == controlled_->end() ? *kNone : program_.controls[found->second];
}

bool StepOps::IsPure(int i) const {
  const StepOp& op = ops_[i];
  if (op.node->op().is_stateful || op.must_run || IsControlled(i)) return false;
  switch (RoleOf(op.type())) {
    case StructuralRole::kKernel:
    case StructuralRole::kIdentity:
    case StructuralRole::kReshape: return true;
    default: return false;
  }
}

bool StepOps::CanPrecede(absl::Span<const Output> values, int place) const {
  absl::flat_hash_set<int> seen;
  std::vector<int> left;
  const auto add = [&](absl::Span<const Output> needed) {
    for (const Output& value : needed) {
      const int producer = Producer(value);
      if (producer >= place && seen.insert(producer).second) left.push_back(producer);
    }
  };
  add(values);
  while (!left.empty()) {
    const int i = left.back();
    left.pop_back();
    if (!IsPure(i)) return false;
    add(ops_[i].inputs);
  }
  return true;
}

// Visits the producers of an operation before it, without recursion: chains may be long.
void StepOps::Reorder() {
  std::vector<int> order;
  std::vector<bool> visited(size(), false);
  struct Visit {
    int op;
    size_t next_input;
  };
  std::vector<Visit> path;
  const auto enter = [&](int op) {
    if (op < 0 || visited[op]) return;
    visited[op] = true;
    path.push_back({op, 0});
  };
  for (int i = 0; i < size(); ++i) {
    enter(i);
    while (!path.empty()) {
      const int op = path.back().op;
      if (path.back().next_input < ops_[op].inputs.size()) {
        enter(Producer(ops_[op].inputs[path.back().next_input++]));
      } else {
        order.push_back(op);
        path.pop_back();
      }
    }
  }
  Arrange(order);
}

void StepOps::Arrange(const std::vector<int>& order) {
  std::vector<StepOp> ops;
  std::vector<const Node*> origins;
  std::vector<int> place_of(size());
  readers_ = ValueReaders();
  for (int place = 0; place < static_cast<int>(order.size()); ++place) {
    const int from = order[place];
    place_of[from] = place;
    readers_.Add(place, ops_[from].inputs);
    ops.push_back(std::move(ops_[from]));
    origins.push_back(origins_[from]);
  }
  for (auto& [value, producer] : producers_) producer = place_of[producer];
  ops_ = std::move(ops);
  origins_ = std::move(origins);
}

// ---- Constants ----

// The session keeps only kernels of the program's nodes.
StatusOr<std::vector<Tensor>> StepOps::Evaluate(int i, const std::vector<Tensor>& inputs,
                                                int64_t max_bytes) const {
  if (IsNew(ops_[i].node)) return errors::Unimplemented("a pass made the node");
  return evaluator_(ops_[i], inputs, max_bytes);
}

void StepOps::AddConstant(const Output& output, Tensor value) {
  const PartialShape shape = value.shape();
  constants_.try_emplace(output, Constant{std::move(value), shape});
  constants_in_order_.push_back(output);
}

void StepOps::Fold(int i, std::vector<Tensor> values) {
  const std::vector<Output> inputs = ops_[i].inputs;
  const std::vector<Output> outputs = ops_[i].outputs;
  Forget(i);
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!facts_->IsFed(outputs[k])) AddConstant(outputs[k], std::move(values[k]));
  }
  for (const Output& input : inputs) RemoveUnread(Producer(input));
}

StatusOr<Output> StepOps::NewConstant(Tensor value) {
  NodeSpec spec;
  spec.name = "constant";
  spec.op = "Const";
  SetAttr(&spec.attrs, "dtype", value.dtype());
  SetAttr(&spec.attrs, "value", value);
  MS_ASSIGN_OR_RETURN(const Node* node, AddNode(std::move(spec)));
  AddConstant(node->output(0), std::move(value));
  return node->output(0);
}

std::vector<std::pair<Output, Tensor>> StepOps::NewConstants() const {
  std::vector<std::pair<Output, Tensor>> used;
  for (const Output& output : constants_in_order_) {
    if (IsVisible(output) || readers_.Count(output) > 0) {
      used.emplace_back(output, constants_.at(output).value);
    }
  }
  return used;
}

}  // namespace millstream
