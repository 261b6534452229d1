#include "core/gradients/backward_loop.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/graph/control_flow.h"

namespace millstream {
namespace {

// An Enter that comes in the innermost branches that the loop is in.
const Node* InnermostEnter(const Loop& loop, const Branches& branches) {
  const Node* found = loop.enters[0];
  const auto depth = [&](const Node* enter) {
    return branches.branch(branches.Find(enter->input(0))).depth;
  };
  for (const Node* const enter : loop.enters) {
    if (depth(enter) > depth(found)) found = enter;
  }
  return found;
}

// The shape of a list's elements, as the ops of lists take it.
Output ElementShape(GraphBuilder* builder, const Output& element) {
  const PartialShape shape = builder->ShapeOf(element);
  if (!shape.IsFullyKnown()) return builder->Int32(-1);
  return builder->Int32Vector(std::vector<int32_t>(shape.dims().begin(), shape.dims().end()));
}

// True if the node makes a handle in each iteration, of an array that lives as long as the step, or
// takes it from a list. A list can keep such handles.
bool HasArrayOfStep(const Node& node) {
  return node.op().name == "TensorArrayV3" || node.op().name == "TensorListPopBack";
}

Output EmptyList(GraphBuilder* builder, const Output& element) {
  return builder->Op("EmptyTensorList", {ElementShape(builder, element), builder->Int32(-1)},
                     {{"element_dtype", element.dtype()}, {"shape_type", DataType::kInt32}});
}

}  // namespace

BackwardLoop::BackwardLoop(Graph* graph, ForwardControlFlow* forward, int loop,
                           GraphRegion* outside, const std::string& scope,
                           const std::string& source, std::vector<const Node*>* made)
    : forward_(forward),
      number_(loop),
      loop_(forward->loops.loop(loop)),
      outside_region_(outside),
      around_forward_(graph, scope),
      in_forward_(graph, scope),
      around_(graph, scope),
      inside_(graph, scope),
      body_(graph, scope),
      forward_frame_(&in_forward_, nullptr, loop_.frame_name, loop_.parallel_iterations),
      frame_(&inside_, this, graph->UniqueName(scope + "/while_context"),
             loop_.parallel_iterations) {
  for (GraphBuilder* const builder : {&around_forward_, &in_forward_, &around_, &inside_, &body_}) {
    builder->set_source(source);
  }
  for (GraphBuilder* const builder : {&around_, &inside_, &body_}) builder->set_made(made);
  around_.set_region(outside);
  body_.set_region(this);
}

Status BackwardLoop::status() const {
  for (const GraphBuilder* const builder :
       {&around_forward_, &in_forward_, &around_, &inside_, &body_}) {
    MS_RETURN_IF_ERROR(builder->status());
  }
  return absl::OkStatus();
}

Status BackwardLoop::Begin() {
  const Output enters = InnermostEnter(loop_, forward_->branches)->input(0);
  branch_ = forward_->branches.Find(enters);
  const Output pivot = around_forward_.Op("Identity", {enters});
  around_forward_.set_control_inputs({pivot.node});
  forward_frame_.set_condition(loop_.condition->output(0));
  MS_ASSIGN_OR_RETURN(const Output count, FromAround(CountForward()));
  CountBackward(count);
  return status();
}

Output BackwardLoop::CountForward() {
  const FrameVariable count = forward_frame_.Variable(around_forward_.Int32(0));
  const Output one = forward_frame_.Invariant(around_forward_.Int32(1));
  forward_frame_.SetNext(count, forward_frame_.Op("Add", {count.now(), one}));
  return ForwardExit(count);
}

void BackwardLoop::CountBackward(const Output& count) {
  const Output zero = frame_.Invariant(around_.Int32(0));
  const Output one = frame_.Invariant(around_.Int32(1));
  const Output left = frame_.Merged(count);
  frame_.set_condition(frame_.Op("LoopCond", {frame_.Op("Greater", {left, zero})}));
  const FrameVariable variable = frame_.Decided(left);
  pivot_ = frame_.Op("Identity", {variable.now()}).node;
  frame_.SetNext(variable, frame_.Op("Sub", {variable.now(), one}));
}

Output BackwardLoop::ForwardExit(const FrameVariable& variable) {
  const Output exit = forward_frame_.Exit(variable);
  if (!exit) return exit;
  forward_->loops.SetLoop(exit.node, loop_.parent);
  forward_->branches.SetBranch(exit.node, branch_);
  return exit;
}

Output BackwardLoop::Exit(const FrameVariable& variable) {
  const Output exit = frame_.Exit(variable);
  if (exit && outside_region_ != nullptr) outside_region_->NoteMade(exit.node);
  return exit;
}

Output BackwardLoop::ValueAfter(const LoopVariable& variable) {
  if (!variable.exits.empty()) return variable.exits[0]->output(0);
  return ForwardExit(FrameVariable{variable.merge->output(0), variable.decision});
}

StatusOr<Output> BackwardLoop::FromAround(const Output& tensor) {
  if (!tensor || outside_region_ == nullptr) return tensor;
  return outside_region_->Inside(tensor);
}

StatusOr<Output> BackwardLoop::Inside(const Output& tensor) {
  if (!tensor || made_.contains(tensor.node)) return tensor;
  const auto known = known_.find(tensor);
  if (known != known_.end()) return known->second;
  const int loop = forward_->loops.LoopOf(tensor.node);
  Output inside;
  if (loop == number_) {
    MS_ASSIGN_OR_RETURN(inside, FromForward(tensor));
  } else if (forward_->loops.IsIn(loop, number_)) {
    return errors::Unimplemented("the gradient of a loop reads '", tensor.name(),
                                 "', a tensor of a loop in it");
  } else {
    MS_ASSIGN_OR_RETURN(const Output around, FromAround(tensor));
    inside = frame_.Invariant(around);
  }
  MS_RETURN_IF_ERROR(status());
  known_[tensor] = inside;
  return inside;
}

StatusOr<Output> BackwardLoop::FromForward(const Output& tensor) {
  Output source = tensor;
  while (source.node->op().name == "Identity" ||
         (KindOf(*source.node) == ControlFlowKind::kSwitch &&
          !forward_->loops.IsFrame(*source.node))) {
    source = source.node->input(0);
  }
  return InBranch(source, forward_->branches.Find(tensor));
}

bool BackwardLoop::IsInLoop(int branch) const {
  return forward_->branches.branch(branch).depth > forward_->branches.branch(branch_).depth;
}

StatusOr<Output> BackwardLoop::InBranch(const Output& source, int number) {
  if (!IsInLoop(number)) return Always(source);
  const auto known = in_branch_.find({source, number});
  if (known != in_branch_.end()) return known->second;
  const Branch branch = forward_->branches.branch(number);
  MS_ASSIGN_OR_RETURN(const Output value, InBranch(source, branch.outer));
  const Node* const divided = body_.NodeOf("Switch", {value, branch.predicate});
  MS_RETURN_IF_ERROR(status());
  return in_branch_[{source, number}] = divided->output(branch.taken);
}

StatusOr<Output> BackwardLoop::Always(const Output& source) {
  const auto known = always_.find(source);
  if (known != always_.end()) return known->second;
  Output value;
  if (KindOf(*source.node) == ControlFlowKind::kEnter && IsInvariant(*source.node)) {
    MS_ASSIGN_OR_RETURN(const Output around, FromAround(source.node->input(0)));
    value = frame_.Invariant(around);
  } else if (Graph::ConstantValue(source) != nullptr) {
    value = body_.Const(*Graph::ConstantValue(source));
  } else {
    MS_ASSIGN_OR_RETURN(value, Kept(source));
  }
  MS_RETURN_IF_ERROR(status());
  always_[source] = value;
  return value;
}

bool BackwardLoop::IsInvariant(const Node& enter) const {
  for (const Node* const invariant : loop_.invariants) {
    if (invariant == &enter) return true;
  }
  return false;
}

StatusOr<Output> BackwardLoop::Kept(const Output& tensor) {
  if (tensor.dtype() == DataType::kResource && !HasArrayOfStep(*tensor.node)) {
    return MadeAgain(tensor);
  }
  MS_ASSIGN_OR_RETURN(const Output after, FromAround(KeepForward(tensor)));
  const FrameVariable list = frame_.Variable(after);
  const Node* const last =
      body_.NodeOf("TensorListPopBack", {list.now(), ElementShape(&body_, tensor)},
                   {{"element_dtype", tensor.dtype()}});
  MS_RETURN_IF_ERROR(status());
  frame_.SetNext(list, last->output(0));
  const Output value = last->output(1);
  const PartialShape shape = body_.ShapeOf(tensor);
  MS_RETURN_IF_ERROR(body_.graph()->RefineShape(value, shape));
  return value;
}

StatusOr<Output> BackwardLoop::MadeAgain(const Output& handle) {
  const Node& node = *handle.node;
  const auto is_handle = [](const Output& input) { return input.dtype() == DataType::kResource; };
  if (KindOf(node) != ControlFlowKind::kNone || absl::c_none_of(node.inputs(), is_handle)) {
    return errors::Unimplemented("the gradient of a loop reads '", handle.name(),
                                 "', a resource that is not the same in all iterations");
  }
  std::vector<std::vector<Output>> arguments;
  for (const Output& input : node.inputs()) arguments.push_back({input});
  const Node* const again = body_.Named(node.op().name, node.op().name, arguments, node.attrs());
  MS_RETURN_IF_ERROR(status());
  return again->output(handle.index);
}

Output BackwardLoop::KeepForward(const Output& tensor) {
  const FrameVariable list = forward_frame_.Variable(EmptyList(&around_forward_, tensor));
  const Output longer = in_forward_.Op("TensorListPushBack", {list.now(), LiveForward(tensor)},
                                       {{"element_dtype", tensor.dtype()}});
  forward_frame_.SetNext(list, longer);
  return ForwardExit(list);
}

Output BackwardLoop::LiveForward(Output tensor) {
  const Branches& branches = forward_->branches;
  int number = branches.Find(tensor);
  if (!IsInLoop(number)) return tensor;
  const Output zero = forward_frame_.Invariant(ZeroAround(tensor));
  for (; IsInLoop(number); number = branches.branch(number).outer) {
    const Branch& branch = branches.branch(number);
    const Output other =
        ForwardInBranch(ForwardInBranch(zero, branch.outer), branch.predicate, 1 - branch.taken);
    const Node* const merged = in_forward_.Variadic("Merge", {{tensor, other}});
    if (merged == nullptr) return Output();
    tensor = merged->output(0);
  }
  return tensor;
}

Output BackwardLoop::ForwardInBranch(const Output& value, int number) {
  if (!IsInLoop(number)) return value;
  const Branch& branch = forward_->branches.branch(number);
  return ForwardInBranch(ForwardInBranch(value, branch.outer), branch.predicate, branch.taken);
}

Output BackwardLoop::ForwardInBranch(const Output& value, const Output& predicate, int taken) {
  const Node* const divided = in_forward_.NodeOf("Switch", {value, predicate});
  return divided == nullptr ? Output() : divided->output(taken);
}

Output BackwardLoop::ZeroAround(const Output& tensor) {
  const DataType dtype = tensor.dtype();
  if (dtype == DataType::kVariant) return EmptyList(&around_forward_, tensor);
  if (dtype == DataType::kResource) {
    const Output none = around_forward_.Int32(0);
    const Node* const array =
        around_forward_.NodeOf("TensorArrayV3", {none}, {{"dtype", DataType::kFloat}});
    return array == nullptr ? Output() : array->output(0);
  }
  const PartialShape shape = around_forward_.ShapeOf(tensor);
  std::vector<int64_t> dims;  // a list takes elements of its shape only, if that is known
  if (shape.IsFullyKnown()) dims.assign(shape.dims().begin(), shape.dims().end());
  if (dtype != DataType::kString) {
    const Output zero = around_forward_.ScalarOf(dtype, 0);
    return dims.empty() ? zero
                        : around_forward_.Op("Fill", {around_forward_.Int64Vector(dims), zero});
  }
  const StatusOr<Tensor> empty = Tensor::Create(dtype, Shape(dims));
  around_forward_.UpdateStatus(empty.status());
  return empty.ok() ? around_forward_.Const(*empty) : Output();
}

}  // namespace millstream
