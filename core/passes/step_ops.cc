#include "core/passes/step_ops.h"

#include <algorithm>
#include <utility>

#include "framework/plugin/kernel_registry.h"

namespace millstream {

void StepOps::Append(StepOp op) {
  const int index = size();
  for (const Output& input : op.inputs) readers_[input].push_back(index);
  for (const Output& output : op.outputs) producers_[output] = index;
  ops_.push_back(std::move(op));
}

int StepOps::Producer(const Output& value) const {
  auto found = producers_.find(value);
  return found == producers_.end() ? -1 : found->second;
}

const std::vector<int>& StepOps::Readers(const Output& value) const {
  static const auto* const kNone = new std::vector<int>;
  auto found = readers_.find(value);
  return found == readers_.end() ? *kNone : found->second;
}

int StepOps::OnlyReader(const Output& value) const {
  if (IsVisible(value)) return -1;
  const std::vector<int>& readers = Readers(value);
  return readers.size() == 1 ? readers[0] : -1;
}

const PartialShape* StepOps::KnownShape(const Output& value) const {
  const PartialShape& shape = facts_->of(value).shape;
  return shape.IsFullyKnown() ? &shape : nullptr;
}

bool StepOps::HasKernel(absl::string_view op, const AttrMap& attrs) const {
  return KernelRegistry::Global()->Find(op, device_type_, attrs).ok();
}

// The node's inputs stand for those of the operation: a kernel looks at their types alone.
StatusOr<Output> StepOps::Dummy(DataType dtype) {
  Output& dummy = dummies_[static_cast<int>(dtype)];
  if (!dummy) {
    NodeSpec spec;
    spec.name = graph_->UniqueName("input");
    spec.op = "Placeholder";
    SetAttr(&spec.attrs, "dtype", dtype);
    MS_ASSIGN_OR_RETURN(const Node* node, graph_->AddNode(std::move(spec)));
    dummy = node->output(0);
  }
  return dummy;
}

StatusOr<const Node*> StepOps::NewNode(absl::string_view op, AttrMap attrs, const Node& like,
                                       absl::Span<const Output> inputs) {
  if (graph_ == nullptr) graph_ = std::make_unique<Graph>();
  NodeSpec spec;
  for (const Output& input : inputs) {
    MS_ASSIGN_OR_RETURN(Output dummy, Dummy(input.dtype()));
    spec.inputs.push_back(dummy);
  }
  spec.name = graph_->UniqueName(like.name());
  spec.op = std::string(op);
  spec.attrs = std::move(attrs);
  spec.source = like.source();
  // Nodes of newer graphs have attributes that nobody here knows, and copies of them too.
  spec.allow_unknown_attrs = true;
  MS_ASSIGN_OR_RETURN(const Node* node, graph_->AddNode(std::move(spec)));
  new_nodes_.insert(node);
  return node;
}

void StepOps::Forget(int i) {
  for (const Output& input : ops_[i].inputs) {
    std::vector<int>& readers = readers_[input];
    readers.erase(std::find(readers.begin(), readers.end(), i));
  }
  for (const Output& output : ops_[i].outputs) producers_.erase(output);
  ops_[i] = StepOp();
}

Status StepOps::Replace(int place, absl::Span<const int> replaced, absl::string_view op,
                        AttrMap attrs, const Node& like, std::vector<Output> inputs,
                        std::vector<Output> outputs) {
  MS_ASSIGN_OR_RETURN(const Node* node, NewNode(op, std::move(attrs), like, inputs));
  for (int i : replaced) Forget(i);
  if (!IsGone(place)) Forget(place);
  for (const Output& input : inputs) readers_[input].push_back(place);
  for (const Output& output : outputs) producers_[output] = place;
  ops_[place] = StepOp{node, std::move(inputs), std::move(outputs)};
  return absl::OkStatus();
}

}  // namespace millstream
