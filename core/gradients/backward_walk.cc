#include "core/gradients/backward_walk.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/gradients/control_flow.h"
#include "core/graph/colocation.h"
#include "core/graph/control_flow.h"

namespace millstream {
namespace {

constexpr char kGradientOpAttr[] = "_gradient_op_type";

// What a node is colocated with: what it asks for, else itself.
std::vector<std::string> ColocationGroups(const Node& node) {
  const auto groups = node.Attr<std::vector<std::string>>(kColocationAttr);
  if (groups.ok() && !groups->empty()) return *groups;
  return {ColocationGroup(node.name())};
}

// The op whose gradient function the node has: its own, unless an attribute names another.
std::string GradientOp(const Node& node) {
  const StatusOr<std::string> other = node.Attr<std::string>(kGradientOpAttr);
  return other.ok() ? *other : node.op().name;
}

bool IsNewer(const Node* a, const Node* b) { return a->id() > b->id(); }

// As of an op without a gradient function.
Status NoGradient(const Node& node, int input) {
  return AnnotateWithNode(errors::NotFound("no gradient function is registered for op ",
                                           node.op().name, " by input ", input),
                          node);
}

}  // namespace

BackwardWalk::BackwardWalk(Graph* graph, const std::vector<Output>& xs,
                           const GradientOptions& options)
    : graph_(graph),
      options_(options),
      builder_(graph, options.scope),
      xs_(xs.begin(), xs.end()),
      stops_(options.stop_gradients.begin(), options.stop_gradients.end()) {
  builder_.set_source(options.source);
  builder_.set_made(options.made);
}

void BackwardWalk::FindNodes(const std::vector<Output>& ys) {
  absl::flat_hash_set<const Node*> seen;
  for (const Output& y : ys) {
    if (seen.insert(y.node).second) order_.push_back(y.node);
  }
  for (size_t i = 0; i < order_.size(); ++i) {
    has_control_flow_ |= NeedsDynamicExecutor(KindOf(*order_[i]));
    for (const Output& input : order_[i]->inputs()) {
      if (seen.insert(input.node).second) order_.push_back(input.node);
    }
  }
  std::sort(order_.begin(), order_.end(), IsNewer);
}

// From the readers of xs along their readers. Each edge is looked at once, also where loops lead
// back.
void BackwardWalk::FindNodesBetween() {
  absl::flat_hash_map<const Node*, std::vector<const Node*>> readers;
  std::vector<const Node*> found;
  const auto visit = [&](const Node* node) {
    if (between_.insert(node).second) found.push_back(node);
  };
  for (const Node* node : order_) {
    for (const Output& input : node->inputs()) {
      if (xs_.contains(input)) {
        visit(node);
      } else if (!stops_.contains(input)) {
        readers[input.node].push_back(node);
      }
    }
  }
  while (!found.empty()) {
    const auto next = readers.find(found.back());
    found.pop_back();
    if (next == readers.end()) continue;
    for (const Node* reader : next->second) visit(reader);
  }
}

// What control edges lead to counts as well: the nodes of a branch or a body wait for its pivot.
Status BackwardWalk::FindControlFlow(const std::vector<Output>& ys) {
  std::vector<const Node*> nodes = order_;
  absl::flat_hash_set<const Node*> seen(nodes.begin(), nodes.end());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto visit = [&](const Node* node) {
      if (seen.insert(node).second) nodes.push_back(node);
    };
    for (const Output& input : nodes[i]->inputs()) visit(input.node);
    for (const Node* const control : nodes[i]->control_inputs()) visit(control);
  }
  std::sort(nodes.rbegin(), nodes.rend(), IsNewer);
  MS_ASSIGN_OR_RETURN(forward_.loops, LoopNest::Of(nodes));
  forward_.branches = Branches::Of(nodes);
  return FindOwnLoop(ys);
}

StatusOr<Output> BackwardWalk::FirstGradient(int i, const Output& y, const Output& given) {
  const PartialShape shape = builder_.ShapeOf(y);
  if (given) {
    if (given.dtype() == y.dtype()) return given;
    return AnnotateWithNode(
        errors::InvalidArgument("grad_ys ", i, " is ", DataTypeName(given.dtype()), ", expected ",
                                DataTypeName(y.dtype())),
        *y.node);
  }
  if (!IsFloating(y.dtype()) && !IsComplex(y.dtype())) {
    return AnnotateWithNode(
        errors::InvalidArgument("y ", i,
                                " must be floating point or complex to have a gradient, "
                                "got ",
                                DataTypeName(y.dtype())),
        *y.node);
  }
  if (!shape.IsFullyKnown()) return builder_.Op("OnesLike", {y});
  const Output one = builder_.ScalarOf(y.dtype(), 1);
  if (shape.rank() == 0) return one;
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  return builder_.Op("Fill", {builder_.Int64Vector(dims), one});
}

Status BackwardWalk::Start(const std::vector<Output>& ys, const std::vector<Output>& grad_ys) {
  FindNodes(ys);
  FindNodesBetween();
  if (has_control_flow_) MS_RETURN_IF_ERROR(FindControlFlow(ys));
  for (size_t i = 0; i < ys.size(); ++i) {
    const Output given = i < grad_ys.size() ? grad_ys[i] : Output();
    StandBeside(ys[i].node);
    MS_ASSIGN_OR_RETURN(Output first, FirstGradient(static_cast<int>(i), ys[i], given));
    parts_[ys[i]].push_back(Gradient{first, {}, {}});
  }
  return builder_.status();
}

// Rows of one tensor from several readers: all of them, one after the other.
Gradient BackwardWalk::SumSlices(const std::vector<Gradient>& parts) {
  std::vector<Output> values;
  std::vector<Output> indices;
  for (const Gradient& part : parts) {
    const bool narrow = part.indices.dtype() == DataType::kInt32;
    values.push_back(part.values);
    indices.push_back(narrow ? builder_.Op("Cast", {part.indices}, {{"DstT", DataType::kInt64}})
                             : part.indices);
  }
  const auto concat = [&](const std::vector<Output>& tensors) {
    const Node* node = builder_.Variadic("ConcatV2", {tensors, {builder_.Int32(0)}});
    return node == nullptr ? Output() : node->output(0);
  };
  return Gradient{concat(values), concat(indices), parts[0].dense_shape};
}

Output BackwardWalk::Sum(const std::vector<Output>& parts) {
  if (parts.size() == 1) return parts[0];
  const Node* const sum = builder_.Variadic("AddN", {parts});
  return sum == nullptr ? Output() : sum->output(0);
}

// Sums what one device has beside the first part there, so that a device sends one tensor to where
// the sum of all is made.
Output BackwardWalk::SumByDevice(const std::vector<Output>& parts) {
  if (!builder_.ok()) return Output();
  std::map<std::string, std::vector<Output>> parts_on;
  for (const Output& part : parts) parts_on[graph_->Device(part.node)].push_back(part);
  const std::string device = builder_.device();
  const std::vector<std::string> colocation = builder_.colocation();
  std::vector<Output> sums;
  for (const auto& on_device : parts_on) {
    StandBeside(on_device.second[0].node);
    sums.push_back(Sum(on_device.second));
  }
  builder_.set_device(device);
  builder_.set_colocation(colocation);
  return Sum(sums);
}

// The sum over all readers of an output, made once.
Gradient BackwardWalk::Total(const Output& output) {
  auto found = parts_.find(output);
  if (found == parts_.end() || found->second.empty()) return Gradient();
  std::vector<Gradient>& parts = found->second;
  if (parts.size() == 1) return parts[0];
  const bool all_slices = std::all_of(parts.begin(), parts.end(),
                                      [](const Gradient& part) { return part.is_slices(); });
  Gradient total;
  if (all_slices) {
    total = SumSlices(parts);
  } else {
    std::vector<Output> dense;
    for (const Gradient& part : parts) dense.push_back(DenseGradient(&builder_, part));
    total.values = options_.colocate_with_forward ? SumByDevice(dense) : Sum(dense);
  }
  parts.assign(1, total);
  return total;
}

// A gradient has the shape of what it is the gradient of, whether or not shape inference sees it.
Status BackwardWalk::ShapeLikeInput(const Node* node, int input, const Output& dx) {
  if (node->input(input).dtype() == DataType::kResource) return absl::OkStatus();
  const PartialShape own = builder_.ShapeOf(dx);
  const PartialShape wanted = builder_.ShapeOf(node->input(input));
  const StatusOr<PartialShape> merged = own.MergeWith(wanted);
  if (!merged.ok()) {
    return errors::InvalidArgument(
        "Incompatible shapes between op input and calculated input gradient: input ", input, " of ",
        node->Describe(), " has the shape ", wanted.ToString(), ", its gradient ", own.ToString());
  }
  return *merged == own ? absl::OkStatus() : graph_->RefineShape(dx, wanted);
}

// The nodes that are made from now on belong to `node`.
void BackwardWalk::StandBeside(const Node* node) {
  if (!options_.colocate_with_forward) return;
  builder_.set_device(graph_->Device(node));
  builder_.set_colocation(ColocationGroups(*node));
}

// Calls the function that the node's op, or its attribute, names.
Status BackwardWalk::CallFunction(const Node* node, GradientContext* context) const {
  const std::string op = GradientOp(*node);
  const StatusOr<GradientFunction> function = FindGradient(op);
  if (function.ok()) return *function == nullptr ? absl::OkStatus() : (*function)(context);
  StatusOr<bool> found = false;
  if (options_.functions != nullptr) found = options_.functions->Differentiate(op, node, context);
  if (!found.ok() || *found) return found.status();
  return function.status();
}

Status BackwardWalk::CallGradient(const Node* node, GradientContext* context) const {
  Status status;
  if (KindOf(*node) == ControlFlowKind::kMerge) {
    status = MergeGradient(context, forward_.branches.ChoiceOf(*node));
  } else {
    status = CallFunction(node, context);
  }
  if (status.ok()) status = builder_.status();
  if (status.ok()) return status;
  if (absl::IsNotFound(status)) return AnnotateWithNode(status, *node);
  return WithContext(status, absl::StrCat("in the gradient of ", node->Describe()));
}

Status BackwardWalk::VisitNode(const Node* node) {
  std::vector<Gradient> dy;
  bool any = false;
  builder_.set_scope(options_.scope.empty()
                         ? absl::StrCat(node->name(), "_grad")
                         : absl::StrCat(options_.scope, "/", node->name(), "_grad"));
  StandBeside(node);
  for (int i = 0; i < node->num_outputs(); ++i) {
    dy.push_back(stops_.contains(node->output(i)) ? Gradient() : Total(node->output(i)));
    any = any || !dy.back().is_none();
  }
  if (!any) return builder_.status();
  std::vector<Output> outputs;
  for (int i = 0; i < node->num_outputs(); ++i) outputs.push_back(node->output(i));
  GradientContext context(node->call(), node->inputs(), std::move(outputs), std::move(dy),
                          &builder_);
  MS_RETURN_IF_ERROR(CallGradient(node, &context));
  for (int i = 0; i < node->num_inputs(); ++i) {
    const Output& input = node->input(i);
    const Gradient& dx = context.dx()[i];
    if (!LeadsToX(input)) continue;
    if (context.lacks_dx(i)) return NoGradient(*node, i);
    if (dx.is_none() || !HasGradientType(input.dtype())) continue;
    if (!dx.is_slices()) MS_RETURN_IF_ERROR(ShapeLikeInput(node, i, dx.values));
    parts_[input].push_back(dx);
  }
  return absl::OkStatus();
}

Status BackwardWalk::Walk() {
  if (forward_.loops.num_loops() > 1) {
    FindBodies();
    MS_RETURN_IF_ERROR(WalkBody(own_loop_));
    for (int loop = own_loop_; loop != LoopNest::kRoot;) {  // what ys read from outside
      loop = forward_.loops.loop(loop).parent;
      MS_RETURN_IF_ERROR(WalkBody(loop));
    }
    return absl::OkStatus();
  }
  for (const Node* node : order_) {
    if (between_.contains(node)) MS_RETURN_IF_ERROR(VisitNode(node));
  }
  return absl::OkStatus();
}

StatusOr<std::vector<Gradient>> BackwardWalk::Results(const std::vector<Output>& xs) {
  builder_.set_scope(options_.scope);
  std::vector<Gradient> results;
  for (const Output& x : xs) {
    if (!forward_.loops.IsIn(own_loop_, forward_.loops.LoopOf(x.node))) {
      return AnnotateWithNode(
          errors::InvalidArgument("x '", x.name(), "' is in a loop that ys are not in"), *x.node);
    }
    StandBeside(x.node);
    results.push_back(Total(x));
  }
  MS_RETURN_IF_ERROR(builder_.status());
  return results;
}

}  // namespace millstream
