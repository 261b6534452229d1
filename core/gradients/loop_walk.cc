// The walk over loops, and over the bodies of loops.
#include <algorithm>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/gradients/backward_walk.h"
#include "core/gradients/shape_helpers.h"
#include "core/graph/control_flow.h"

namespace millstream {
namespace {

// "while/while_context" is the frame of the loop of scope "while".
absl::string_view ScopeOf(absl::string_view frame_name) {
  return frame_name.substr(0, frame_name.rfind('/'));
}

// False for a loop that was made with back_prop=False.
bool HasBackProp(const Node& exit) {
  const StatusOr<bool> back_prop = exit.Attr<bool>("_back_prop");
  return !back_prop.ok() || *back_prop;
}

// True if all is known of a shape but the number of rows, so that no rows have a shape too.
bool HasKnownRows(const PartialShape& shape) {
  if (!shape.known_rank() || shape.rank() == 0) return false;
  return absl::c_all_of(shape.dims().subspan(1), [](int64_t dim) { return dim != kUnknownDim; });
}

// What is in one body: nodes, and loops in it. They come in an order in which readers come before
// what they read, and the newest first where that leaves a choice.
class BodyOrder {
 public:
  struct Part {
    const Node* node = nullptr;  // null: a loop
    int loop = 0;
    int newest = -1;         // the greatest id of its nodes that others read
    int num_readers = 0;     // that are still to come
    std::vector<int> reads;  // parts, once for each edge
  };

  BodyOrder(const LoopNest& loops, int body) : loops_(loops), body_(body) {}

  // The part that the node belongs to; -1 for nodes outside of the body.
  int PartOf(const Node* node) {
    const int own = loops_.OwnLoop(node);
    if (own == body_) return Find(node, body_, node);
    const int child = loops_.ChildAround(body_, own);
    return child < 0 ? -1 : Find(&loops_.loop(child), child, nullptr);
  }
  void AddNode(const Node* node) {
    const int part = PartOf(node);
    if (part < 0) return;
    parts_[part].newest = std::max(parts_[part].newest, node->id());
    for (const Output& input : node->inputs()) {
      if (IsBackEdge(input, *node)) continue;
      const int read = PartOf(input.node);
      if (read < 0 || read == part) continue;
      parts_[part].reads.push_back(read);
      ++parts_[read].num_readers;
    }
  }
  std::vector<Part> Take() {
    std::priority_queue<std::pair<int, int>> ready;  // by the newest node
    const auto add = [&](int i) { ready.emplace(parts_[i].newest, i); };
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].num_readers == 0) add(static_cast<int>(i));
    }
    std::vector<Part> ordered;
    while (!ready.empty()) {
      const int i = ready.top().second;
      ready.pop();
      for (const int read : parts_[i].reads) {
        if (--parts_[read].num_readers == 0) add(read);
      }
      ordered.push_back(std::move(parts_[i]));
    }
    return ordered;
  }

 private:
  int Find(const void* key, int loop, const Node* node) {
    const auto [found, is_new] = index_.try_emplace(key, static_cast<int>(parts_.size()));
    if (is_new) {
      parts_.emplace_back();
      parts_.back().node = node;
      parts_.back().loop = loop;
    }
    return found->second;
  }

  const LoopNest& loops_;
  const int body_;
  std::vector<Part> parts_;
  absl::flat_hash_map<const void*, int> index_;
};

}  // namespace

// ---- Bodies ----

void BackwardWalk::FindBodies() {
  const LoopNest& loops = forward_.loops;
  bodies_.resize(loops.num_loops());
  for (const Node* const node : order_) {
    if (!between_.contains(node)) continue;
    const int own = loops.OwnLoop(node);
    bodies_[own].push_back(node);
    const ControlFlowKind kind = KindOf(*node);
    if (kind == ControlFlowKind::kEnter || kind == ControlFlowKind::kExit) {
      bodies_[loops.loop(own).parent].push_back(node);
    }
  }
}

Status BackwardWalk::WalkBody(int loop) {
  BodyOrder order(forward_.loops, loop);
  for (const Node* const node : bodies_[loop]) order.AddNode(node);
  for (const BodyOrder::Part& part : order.Take()) {
    if (part.node == nullptr) {
      if (forward_.loops.IsIn(own_loop_, part.loop)) continue;  // walked already, as a body
      MS_RETURN_IF_ERROR(VisitLoop(part.loop));
    } else if (!forward_.loops.IsFrame(*part.node)) {
      MS_RETURN_IF_ERROR(VisitNode(part.node));
    } else if (forward_.loops.IsIn(own_loop_, loop)) {
      MS_RETURN_IF_ERROR(VisitEnter(part.node));
    }
  }
  return absl::OkStatus();
}

// Of ys that are in a loop: what comes from outside of the loop, without earlier iterations.
Status BackwardWalk::VisitEnter(const Node* node) {
  if (KindOf(*node) != ControlFlowKind::kEnter || !LeadsToX(node->input(0))) {
    return absl::OkStatus();
  }
  const Gradient total = Total(node->output(0));
  if (!total.is_none()) parts_[node->input(0)].push_back(total);
  return builder_.status();
}

// The region of a loop of the forward graph.
class BackwardWalk::OwnLoop final : public GraphRegion {
 public:
  OwnLoop(Graph* graph, const LoopNest* loops, int loop, const Node* pivot)
      : loops_(loops),
        loop_(loop),
        pivot_(pivot),
        builder_(graph, "gradients"),
        frame_(&builder_, this, loops->loop(loop).frame_name,
               loops->loop(loop).parallel_iterations) {}

  StatusOr<Output> Inside(const Output& tensor) override {
    if (made_.contains(tensor.node) || loops_->LoopOf(tensor.node) == loop_) return tensor;
    if (loops_->loop(loop_).parent != loops_->LoopOf(tensor.node)) {
      return errors::Unimplemented("a gradient in a loop reads '", tensor.name(),
                                   "', which is not of that loop or the one around it");
    }
    Output& entered = entered_[tensor];
    if (!entered) entered = frame_.Invariant(tensor);
    MS_RETURN_IF_ERROR(builder_.status());
    return entered;
  }
  const Node* pivot() const override { return pivot_; }
  void NoteMade(const Node* node) override { made_.insert(node); }

 private:
  const LoopNest* const loops_;
  const int loop_;
  const Node* const pivot_;
  GraphBuilder builder_;
  FrameBuilder frame_;
  absl::flat_hash_set<const Node*> made_;
  absl::flat_hash_map<Output, Output> entered_;
};

Status BackwardWalk::FindOwnLoop(const std::vector<Output>& ys) {
  own_loop_ = forward_.loops.LoopOf(ys[0].node);
  for (const Output& y : ys) {
    const int loop = forward_.loops.LoopOf(y.node);
    if (loop == own_loop_) continue;
    return AnnotateWithNode(errors::InvalidArgument("all ys must be of one loop or of none, got '",
                                                    ys[0].name(), "' and '", y.name(), "'"),
                            *y.node);
  }
  if (own_loop_ == LoopNest::kRoot) return absl::OkStatus();
  own_region_ = std::make_unique<OwnLoop>(graph_, &forward_.loops, own_loop_, ys[0].node);
  builder_.set_region(own_region_.get());
  return absl::OkStatus();
}

BackwardWalk::~BackwardWalk() = default;

// ---- Loops ----

struct BackwardWalk::LoopGradients {
  struct OfVariable {
    const LoopVariable* forward = nullptr;
    bool is_active = false;
    Output first;            // the gradient of the value after the loop
    FrameVariable gradient;  // in the backward loop
  };
  const Loop* loop = nullptr;
  std::vector<OfVariable> variables;
  std::vector<const Node*> invariants;
};

Output BackwardWalk::ZerosLike(const Output& tensor) {
  const PartialShape shape = builder_.ShapeOf(tensor);
  if (tensor.dtype() == DataType::kVariant || !shape.IsFullyKnown()) {
    return builder_.Op("ZerosLike", {tensor});
  }
  const Output zero = builder_.ScalarOf(tensor.dtype(), 0);
  if (shape.rank() == 0) return zero;
  const std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  return builder_.Op("Fill", {builder_.Int64Vector(dims), zero});
}

// A gradient that may be a tensor of the forward graph, where new nodes go.
Output BackwardWalk::InRegion(const Output& gradient) {
  if (builder_.region() == nullptr || !gradient) return gradient;
  const StatusOr<Output> inside = builder_.region()->Inside(gradient);
  builder_.UpdateStatus(inside.status());
  return inside.ok() ? *inside : Output();
}

// The sum of the gradients of several outputs; no node if there is none.
Output BackwardWalk::DenseTotal(const std::vector<Output>& outputs) {
  std::vector<Output> parts;
  for (const Output& output : outputs) {
    const Gradient total = stops_.contains(output) ? Gradient() : Total(output);
    if (!total.is_none()) parts.push_back(DenseGradient(&builder_, total));
  }
  if (parts.size() < 2) return parts.empty() ? Output() : InRegion(parts[0]);
  return Sum(parts);
}

// Sets the gradients of the values after the loop. False if there are none.
bool BackwardWalk::FindFirstGradients(LoopGradients* gradients) {
  bool any = false;
  for (const LoopVariable& variable : gradients->loop->variables) {
    std::vector<Output> values;
    for (const Node* const exit : variable.exits) {
      if (HasBackProp(*exit)) values.push_back(exit->output(0));
    }
    LoopGradients::OfVariable of_variable;
    of_variable.forward = &variable;
    of_variable.first = DenseTotal(values);
    any = any || of_variable.first;
    gradients->variables.push_back(of_variable);
  }
  return any;
}

// Finds the variables and invariants of the loop that have gradients: those whose values in some
// iteration have an effect on a value after the loop that has a gradient.
void BackwardWalk::FindActive(LoopGradients* gradients) const {
  absl::flat_hash_map<const Node*, LoopGradients::OfVariable*> by_merge;
  absl::flat_hash_set<const Node*> seen;
  std::vector<const Node*> waiting;
  const auto activate = [&](LoopGradients::OfVariable* variable) {
    if (!std::exchange(variable->is_active, true)) waiting.push_back(variable->forward->next);
  };
  for (LoopGradients::OfVariable& variable : gradients->variables) {
    by_merge[variable.forward->merge] = &variable;
    if (variable.first) activate(&variable);
  }
  const absl::flat_hash_set<const Node*> invariants(gradients->loop->invariants.begin(),
                                                    gradients->loop->invariants.end());
  for (size_t i = 0; i < waiting.size(); ++i) {
    for (const Output& input : waiting[i]->inputs()) {
      if (!LeadsToX(input) || !HasGradientType(input.dtype())) continue;
      if (!seen.insert(input.node).second) continue;
      const auto of_merge = by_merge.find(input.node);
      if (of_merge != by_merge.end()) {
        activate(of_merge->second);
      } else if (invariants.contains(input.node)) {
        gradients->invariants.push_back(input.node);
      } else {
        waiting.push_back(input.node);
      }
    }
  }
}

// A loop that another program made may have a Switch of another form.
Status BackwardWalk::CheckActive(const LoopGradients& gradients) {
  for (const LoopGradients::OfVariable& variable : gradients.variables) {
    if (!variable.is_active || variable.forward->decision != nullptr) continue;
    return AnnotateWithNode(
        errors::Unimplemented("the loop of '", gradients.loop->frame_name,
                              "' has no Switch for a variable, which needs it to have a gradient"),
        *variable.forward->merge);
  }
  return absl::OkStatus();
}

// The gradients of the active variables are variables of the backward loop. In its body they are
// the gradients of what the forward body gives to the next iteration.
void BackwardWalk::AddVariables(LoopGradients* gradients, BackwardLoop* backward) {
  for (LoopGradients::OfVariable& variable : gradients->variables) {
    if (!variable.is_active) continue;
    if (!variable.first) variable.first = ZerosLike(backward->ValueAfter(*variable.forward));
    if (!builder_.ok()) return;
    variable.gradient = backward->Variable(variable.first);
    const Output next = variable.forward->next->input(0);
    parts_[next].push_back(Gradient{variable.gradient.now(), {}, {}});
  }
}

void BackwardWalk::SetNextGradients(const LoopGradients& gradients, BackwardLoop* backward) {
  for (const LoopGradients::OfVariable& variable : gradients.variables) {
    if (!variable.is_active) continue;
    const LoopVariable& forward = *variable.forward;
    Output next = DenseTotal({forward.decision->output(1), forward.merge->output(0)});
    if (!next) next = InRegion(ZerosLike(forward.decision->output(1)));
    if (!builder_.ok()) return;
    backward->SetNext(variable.gradient, next);
  }
}

// The gradient of an invariant is the sum over all iterations.
Status BackwardWalk::SumOverIterations(const Node* enter, BackwardLoop* backward,
                                       GraphRegion* outside) {
  const Output entered = enter->output(0);
  const Gradient rows = stops_.contains(entered) ? Gradient() : Total(entered);
  if (rows.is_slices() && HasKnownRows(builder_.ShapeOf(rows.values)) &&
      HasKnownRows(builder_.ShapeOf(rows.indices))) {
    return JoinIterations(enter, rows, backward, outside);
  }
  const Output part = DenseTotal({entered});
  if (!part) return builder_.status();
  const Output value = enter->input(0);
  builder_.set_region(outside);
  Output zeros;
  if (value.dtype() == DataType::kResource) {
    const Output zero = builder_.ScalarOf(part.dtype(), 0);
    zeros = builder_.Op("Fill", {builder_.Op("VariableShape", {value}), zero});
  } else {
    zeros = ZerosLike(value);
  }
  builder_.set_region(backward);
  MS_RETURN_IF_ERROR(builder_.status());
  const FrameVariable sum = backward->Variable(zeros);
  const Node* const next = builder_.Variadic("AddN", {{sum.now(), part}});
  MS_RETURN_IF_ERROR(builder_.status());
  backward->SetNext(sum, next->output(0));
  return AddPart(enter, backward->Exit(sum));
}

// The rows of all iterations, one below the other, when they are read after the loop.
Output BackwardWalk::JoinedRows(const Output& rows, BackwardLoop* backward, GraphRegion* outside) {
  const PartialShape shape = builder_.ShapeOf(rows);
  std::vector<int32_t> dims(shape.dims().begin(), shape.dims().end());
  dims[0] = -1;  // iterations may have different numbers of rows
  const std::pair<const char*, AttrValue> dtype = {"element_dtype", rows.dtype()};
  builder_.set_region(outside);
  const Output empty =
      builder_.Op("EmptyTensorList", {builder_.Int32Vector(dims), builder_.Int32(-1)}, {dtype});
  builder_.set_region(backward);
  if (!builder_.ok()) return Output();
  const FrameVariable list = backward->Variable(empty);
  backward->SetNext(list, builder_.Op("TensorListPushBack", {list.now(), rows}, {dtype}));
  builder_.set_region(outside);
  const Output joined = builder_.Op(
      "TensorListConcatV2",
      {backward->Exit(list), builder_.Int32Vector(dims), builder_.Int64Vector({})}, {dtype});
  builder_.set_region(backward);
  return joined;
}

Status BackwardWalk::JoinIterations(const Node* enter, const Gradient& rows, BackwardLoop* backward,
                                    GraphRegion* outside) {
  Gradient joined;
  joined.values = JoinedRows(rows.values, backward, outside);
  joined.indices = JoinedRows(rows.indices, backward, outside);
  builder_.set_region(outside);
  const Output value = enter->input(0);
  joined.dense_shape = value.dtype() == DataType::kResource ? builder_.Op("VariableShape", {value})
                                                            : ShapeVector(&builder_, value);
  builder_.set_region(backward);
  MS_RETURN_IF_ERROR(builder_.status());
  MS_RETURN_IF_ERROR(backward->status());
  if (LeadsToX(value)) parts_[value].push_back(joined);
  return absl::OkStatus();
}

// The gradient of what enters a loop.
Status BackwardWalk::AddPart(const Node* enter, const Output& gradient) {
  if (!gradient || !LeadsToX(enter->input(0))) return absl::OkStatus();
  MS_RETURN_IF_ERROR(ShapeLikeInput(enter, 0, gradient));
  parts_[enter->input(0)].push_back(Gradient{gradient, {}, {}});
  return absl::OkStatus();
}

Status BackwardWalk::VisitLoop(int number) {
  const Loop& loop = forward_.loops.loop(number);
  const std::string scope = absl::StrCat(options_.scope, "/", ScopeOf(loop.frame_name), "_grad");
  const auto stand_alone = [&] {
    builder_.set_scope(scope);
    builder_.set_device("");
    builder_.set_colocation({});
  };
  stand_alone();
  LoopGradients gradients;
  gradients.loop = &loop;
  if (!FindFirstGradients(&gradients)) return builder_.status();
  MS_RETURN_IF_ERROR(loop.form);
  FindActive(&gradients);
  MS_RETURN_IF_ERROR(CheckActive(gradients));
  GraphRegion* const outside = builder_.region();
  BackwardLoop backward(graph_, &forward_, number, outside, scope, options_.source, options_.made);
  MS_RETURN_IF_ERROR(backward.Begin());
  AddVariables(&gradients, &backward);
  builder_.set_region(&backward);
  Status status = WalkBody(number);
  stand_alone();
  if (status.ok()) SetNextGradients(gradients, &backward);
  for (const Node* const enter : gradients.invariants) {
    if (status.ok()) status = SumOverIterations(enter, &backward, outside);
  }
  builder_.set_region(outside);
  MS_RETURN_IF_ERROR(status);
  for (const LoopGradients::OfVariable& variable : gradients.variables) {
    if (!variable.is_active) continue;
    MS_RETURN_IF_ERROR(AddPart(variable.forward->enter, backward.Exit(variable.gradient)));
  }
  MS_RETURN_IF_ERROR(backward.status());
  return builder_.status();
}

}  // namespace millstream
