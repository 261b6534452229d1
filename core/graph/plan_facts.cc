#include "core/graph/plan_facts.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/graph/error_details.h"
#include "core/graph/inner_facts.h"
#include "core/graph/structural_role.h"

namespace millstream {
namespace {

// What PlaceholderWithDefault passes on has the shape that its attribute promises.
Status CheckDefaultValue(const Node& node, const PartialShape& shape) {
  if (node.op().name != "PlaceholderWithDefault") return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(const PartialShape allowed, node.Attr<PartialShape>("shape"));
  if (allowed.IsCompatibleWith(shape)) return absl::OkStatus();
  return AnnotateWithNode(
      errors::InvalidArgument("'input' must have the shape ", allowed.ToString(),
                              ", as attribute 'shape' says, got ", shape.ToString()),
      node);
}

// Adds what else is known of the shape.
void Refine(const PartialShape& shape, OutputFacts* facts) {
  StatusOr<PartialShape> merged = facts->shape.MergeWith(shape);
  if (merged.ok()) facts->shape = *std::move(merged);
}

// What a read of an array gives follows from what is written, which the front end has seen. Of
// copies alone: their facts do not change any more. The read fails if it gives another shape.
void AddReadShape(const Node& node, OutputFacts* facts) {
  const std::string& op = node.op().name;
  const bool is_read = op == "TensorArrayReadV3" || op == "TensorArrayReadV2";
  if (is_read && node.origin() != &node) Refine(node.facts(0).shape, facts);
}

// The array of a handle, or that whose gradients the array has.
Output SourceArray(Output handle) {
  while (handle.node->op().name == "TensorArrayGradV3") handle = handle.node->input(0);
  return handle;
}

// Of a sum of flows, one that a write gives; else the flow itself.
Output WrittenFlow(const Output& flow) {
  if (flow.node->op().name != "AddN") return flow;
  for (const Output& term : flow.node->inputs()) {
    if (term.node->op().name == "TensorArrayWriteV3") return term;
  }
  return flow;
}

// The shape of what an iteration of the loop `node` writes to the array before the flow that is its
// variable `variable`. It is that of all iterations, because the front end has seen the body.
PartialShape ShapeWrittenIn(const LoopBody& loop, const Node& node, int variable,
                            const Output& array) {
  constexpr int kMostSteps = 16;
  const std::vector<Output>& feeds = loop.iteration.signature.feeds;
  Output flow = loop.iteration.signature.fetches[static_cast<size_t>(variable)];
  for (int step = 0; step < kMostSteps; ++step) {
    flow = WrittenFlow(flow);
    const Node& write = *flow.node;
    if (write.op().name != "TensorArrayWriteV3") break;
    const auto feed = absl::c_find(feeds, SourceArray(write.input(0)));
    if (feed == feeds.end()) break;
    if (SourceArray(node.input(static_cast<int>(feed - feeds.begin()))) == array) {
      const Output& value = write.input(2);
      return value.node->facts(value.index).shape;
    }
    flow = write.input(3);
  }
  return PartialShape();
}

// What both shapes say.
PartialShape InCommon(const PartialShape& x, const PartialShape& y) {
  if (!x.known_rank() || !y.known_rank() || x.rank() != y.rank()) return PartialShape();
  PartialShape common = PartialShape::Scalar();
  for (int i = 0; i < x.rank(); ++i) common.AddDim(x.dim(i) == y.dim(i) ? x.dim(i) : kUnknownDim);
  return common;
}

// True if nothing was written to the array before the flow: it begins with the array, or as zero.
bool IsFirstFlow(const Output& flow, const Output& array) {
  return flow.node == array.node || RoleOf(flow.node->op().name) == StructuralRole::kConstant ||
         flow.node->op().name == "ZerosLike";
}

}  // namespace

std::optional<Tensor> KnownValue(const Output& output, const OutputFacts& facts) {
  if (!facts.value.has_value() || !facts.shape.IsFullyKnown() || facts.shape.rank() > 1) {
    return std::nullopt;
  }
  const int64_t count = facts.shape.num_elements();
  if (count != static_cast<int64_t>(facts.value->size())) return std::nullopt;
  const DataType dtype = output.dtype();
  if (dtype != DataType::kInt32 && dtype != DataType::kInt64) return std::nullopt;
  StatusOr<Tensor> tensor = Tensor::Create(dtype, facts.shape.ToShape());
  if (!tensor.ok()) return std::nullopt;
  for (int64_t i = 0; i < count; ++i) {
    const std::optional<int64_t>& element = (*facts.value)[i];
    if (!element.has_value()) return std::nullopt;
    if (dtype == DataType::kInt64) {
      tensor->data<int64_t>()[i] = *element;
    } else {
      tensor->data<int32_t>()[i] = static_cast<int32_t>(*element);
    }
  }
  return *std::move(tensor);
}

// False if the node is neither a loop nor a conditional.
bool PlanFacts::InferInner(const Node* node, const PrunedGraph& graph) {
  const auto loop = graph.loops.find(node);
  const auto branch = graph.branches.find(node);
  if (loop == graph.loops.end() && branch == graph.branches.end()) return false;
  std::vector<OutputFacts> inputs;
  for (const Output& source : node->inputs()) inputs.push_back(of(source));
  std::vector<OutputFacts>& outputs = outputs_[node];
  if (loop != graph.loops.end()) {
    const std::vector<PartialShape> shapes = LoopShapes(*loop->second, inputs);
    for (const int input : loop->second->exits) {
      // What adds up keeps its shape.
      const bool is_variable = input < loop->second->num_variables;
      outputs.emplace_back().shape = is_variable ? shapes[input] : inputs[input].shape;
    }
  } else {
    for (PartialShape& shape : BranchShapes(*branch->second, inputs)) {
      outputs.emplace_back().shape = std::move(shape);
    }
  }
  return true;
}

Status PlanFacts::InferNode(const Node* node, const PrunedGraph& graph, const Received* received) {
  auto known = received == nullptr ? Received::const_iterator() : received->find(node);
  if (received != nullptr && known != received->end()) {
    outputs_[node] = {known->second};
    return absl::OkStatus();
  }
  if (InferInner(node, graph)) return absl::OkStatus();
  // What passes a tensor on knows all that is known of it; the op's own attributes may know less.
  if (RoleOf(node->op().name) == StructuralRole::kIdentity) {
    std::vector<OutputFacts>& outputs = outputs_[node];
    for (const Output& source : node->inputs()) outputs.push_back(of(source));
    return CheckDefaultValue(*node, outputs[0].shape);
  }
  std::vector<InputFacts> inputs(node->num_inputs());
  for (int i = 0; i < node->num_inputs(); ++i) {
    const Output& source = node->input(i);
    const OutputFacts& facts = of(source);
    inputs[i].shape = facts.shape;
    inputs[i].dtype = source.dtype();
    inputs[i].constant = constant(source);
    inputs[i].partial_value = facts.value.has_value() ? &*facts.value : nullptr;
    inputs[i].handle = facts.handle.has_value() ? &*facts.handle : nullptr;
  }
  ShapeContext context(node->call(), std::move(inputs));
  StatusOr<std::vector<OutputFacts>> inferred = InferShapes(&context);
  if (!inferred.ok() && graph.iterations != nullptr && graph.iterations->contains(node)) {
    outputs_[node].resize(node->num_outputs());
    return absl::OkStatus();
  }
  if (!inferred.ok()) {
    std::vector<std::string> described;
    for (const Output& source : node->inputs()) {
      described.push_back(absl::StrCat(DataTypeName(source.dtype()), of(source).shape.ToString(),
                                       " ", source.name()));
    }
    const Status with_inputs = WithErrorDetail(inferred.status(), "inputs", JoinInputs(described));
    return AnnotateWithNode(WithNodeIteration(with_inputs, graph.iterations.get(), node), *node);
  }
  outputs_[node] = *std::move(inferred);
  if (node->num_outputs() == 1) AddReadShape(*node, &outputs_[node][0]);
  FollowElements(node, graph);
  return absl::OkStatus();
}

// The shape of the elements of an array before `flow`, of which the last one that was written tells
// it. Unknown if they may have several shapes.
PartialShape PlanFacts::WrittenShape(const Output& handle, Output flow,
                                     const PrunedGraph& graph) const {
  constexpr int kMostSteps = 16;
  const Output array = SourceArray(handle);
  if (array.node->op().name != "TensorArrayV3" ||
      !array.node->Attr<bool>("identical_element_shapes").value_or(false)) {
    return PartialShape();
  }
  // A loop may have no iteration, and leave the elements that were written before.
  std::optional<PartialShape> in_loops;
  const auto written = [&](const PartialShape& shape) {
    return in_loops.has_value() ? InCommon(*in_loops, shape) : shape;
  };
  for (int step = 0; step < kMostSteps && !IsFed(flow); ++step) {
    flow = WrittenFlow(flow);
    const Node& node = *flow.node;
    const std::string& op = node.op().name;
    if (in_loops.has_value() && IsFirstFlow(flow, array)) return *in_loops;
    if (RoleOf(op) == StructuralRole::kIdentity) {
      flow = node.input(flow.index);
      continue;
    }
    const auto loop = graph.loops.find(&node);
    if (loop != graph.loops.end()) {
      const int variable = loop->second->exits[static_cast<size_t>(flow.index)];
      if (variable >= loop->second->num_variables) break;
      in_loops = written(ShapeWrittenIn(*loop->second, node, variable, array));
      flow = node.input(variable);
      continue;
    }
    if (!absl::StartsWith(op, "TensorArray") || node.num_inputs() == 0 ||
        SourceArray(node.input(0)) != array) {
      break;
    }
    if (op == "TensorArrayWriteV3") return written(of(node.input(2)).shape);
    if (op == "TensorArrayScatterV3") {
      const PartialShape& rows = of(node.input(2)).shape;
      return written(rows.rank() < 1 ? PartialShape() : PartialShape(rows.dims().subspan(1)));
    }
    if (op != "TensorArrayGradV3") break;
    flow = node.input(1);
  }
  return PartialShape();
}

// What a list or an array gives follows from what the graph itself has put in, as where a loop
// became its iterations.
void PlanFacts::FollowElements(const Node* node, const PrunedGraph& graph) {
  const std::string& op = node->op().name;
  std::vector<OutputFacts>& outputs = outputs_[node];
  if (op == "TensorListPushBack") {
    pushed_[node->output(0)] = {node->input(1), node->input(0)};
  } else if (op == "TensorListPopBack") {
    const auto list = pushed_.find(node->input(0));
    if (list == pushed_.end() || IsFed(node->input(0))) return;
    const Pushed last = list->second;
    const OutputFacts& element = of(last.element);
    Refine(element.shape, &outputs[1]);
    if (!outputs[1].value.has_value()) outputs[1].value = element.value;
    const auto rest = pushed_.find(last.rest);
    if (rest == pushed_.end() || IsFed(last.rest)) return;
    const Pushed before = rest->second;
    pushed_[node->output(0)] = before;
  } else if (op == "TensorArrayReadV3") {
    Refine(WrittenShape(node->input(0), node->input(2), graph), &outputs[0]);
  } else if (op == "TensorArrayGatherV3") {
    const PartialShape element = WrittenShape(node->input(0), node->input(2), graph);
    const PartialShape& indices = of(node->input(1)).shape;
    if (!element.known_rank() || indices.rank() != 1) return;
    PartialShape all({indices.dim(0)});
    for (const int64_t dim : element.dims()) all.AddDim(dim);
    Refine(all, &outputs[0]);
  }
}

void PlanFacts::KeepConstants(const Node* node) {
  for (int i = 0; i < node->num_outputs(); ++i) {
    const Output output = node->output(i);
    auto fed = fed_.find(output);
    if (fed != fed_.end()) {
      outputs_[node][i] = fed->second;
      continue;
    }
    if (const Tensor* value = Graph::ConstantValue(output)) {
      constants_[output] = value;
    } else if (!node->op().is_stateful) {
      std::optional<Tensor> known = KnownValue(output, outputs_[node][i]);
      if (!known.has_value()) continue;
      computed_.push_back(*std::move(known));
      constants_[output] = &computed_.back();
    }
  }
}

StatusOr<PlanFacts> PlanFacts::Infer(const PrunedGraph& graph, const StepSignature& signature,
                                     const std::vector<Shape>* feed_shapes,
                                     const Received* received) {
  std::vector<OutputFacts> feeds(signature.feeds.size());
  for (size_t i = 0; feed_shapes != nullptr && i < feeds.size(); ++i) {
    feeds[i].shape = (*feed_shapes)[i];
  }
  return InferFrom(graph, signature, feeds, received);
}

StatusOr<PlanFacts> PlanFacts::InferFrom(const PrunedGraph& graph, const StepSignature& signature,
                                         const std::vector<OutputFacts>& feeds,
                                         const Received* received) {
  PlanFacts facts;
  for (size_t i = 0; i < signature.feeds.size(); ++i) facts.fed_[signature.feeds[i]] = feeds[i];
  for (const Node* node : graph.nodes) {
    MS_RETURN_IF_ERROR(facts.InferNode(node, graph, received));
    facts.KeepConstants(node);
  }
  return facts;
}

}  // namespace millstream
