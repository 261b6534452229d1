// Infers types and static shapes of an import without changing the graph.
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/import/import_plan.h"

namespace millstream {
namespace {

class Checker {
 public:
  Checker(const Graph& graph, ImportPlan* plan, ImportBudget* budget)
      : graph_(graph), plan_(*plan), budget_(*budget) {}

  // REQUIRES: the node's inputs were checked, but for back edges.
  Status Check(PlannedNode* node) const {
    MS_ASSIGN_OR_RETURN(node->signature, ExpandSignature(*node->op, node->spec.attrs));
    MS_RETURN_IF_ERROR(CheckInputs(*node));
    MS_RETURN_IF_ERROR(InferFacts(node));
    return MergeDeclaredShapes(node);
  }

  // REQUIRES: all nodes were checked.
  Status CheckBackEdges(const PlannedNode& node) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (IsBackEdge(plan_, node.inputs[i], node)) MS_RETURN_IF_ERROR(CheckInput(node, i));
    }
    return absl::OkStatus();
  }

 private:
  std::string NameOf(const PlannedInput& input) const {
    if (input.node < 0) return input.existing.name();
    return absl::StrCat(plan_.nodes[input.node].spec.name, ":", input.index);
  }

  StatusOr<DataType> TypeOf(const PlannedInput& input) const {
    if (input.node < 0) return input.existing.dtype();
    const DataTypeList& types = plan_.nodes[input.node].signature.output_types;
    if (input.index < static_cast<int>(types.size())) return types[input.index];
    return errors::InvalidArgument("input '", NameOf(input), "' does not exist: the node has ",
                                   types.size(), " outputs");
  }

  Status CheckInputs(const PlannedNode& node) const {
    const DataTypeList& expected = node.signature.input_types;
    if (node.inputs.size() != expected.size()) {
      return errors::InvalidArgument("expected ", expected.size(), " inputs, got ",
                                     node.inputs.size());
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      if (!IsBackEdge(plan_, node.inputs[i], node)) MS_RETURN_IF_ERROR(CheckInput(node, i));
    }
    return absl::OkStatus();
  }

  Status CheckInput(const PlannedNode& node, size_t i) const {
    const DataType expected = node.signature.input_types[i];
    MS_ASSIGN_OR_RETURN(const DataType type, TypeOf(node.inputs[i]));
    if (type == expected) return absl::OkStatus();
    return errors::InvalidArgument("input ", i, " expected ", DataTypeName(expected), ", got ",
                                   DataTypeName(type), " (", NameOf(node.inputs[i]), ")");
  }

  // The value of an input that is a Const, else null.
  const Tensor* Constant(const PlannedInput& input) const {
    if (input.node < 0) return Graph::ConstantValue(input.existing);
    const PlannedNode& source = plan_.nodes[input.node];
    if (source.op->name != "Const") return nullptr;
    const AttrValue* value = FindAttr(source.spec.attrs, "value");
    return value == nullptr ? nullptr : value->get<Tensor>();
  }

  Status InferFacts(PlannedNode* node) const {
    // Room for those that there are: pointers into it stay, and inputs may be very many.
    std::vector<OutputFacts> of_graph;
    of_graph.reserve(
        absl::c_count_if(node->inputs, [](const PlannedInput& input) { return input.node < 0; }));
    std::vector<InputFacts> inputs(node->inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const PlannedInput& input = node->inputs[i];
      inputs[i].dtype = node->signature.input_types[i];
      if (IsBackEdge(plan_, input, *node)) continue;  // nothing is known of it
      if (input.node < 0) of_graph.push_back(graph_.Facts(input.existing));
      const OutputFacts& facts =
          input.node < 0 ? of_graph.back() : plan_.nodes[input.node].facts[input.index];
      inputs[i].shape = facts.shape;
      inputs[i].constant = Constant(input);
      inputs[i].partial_value = facts.value.has_value() ? &*facts.value : nullptr;
      inputs[i].handle = facts.handle.has_value() ? &*facts.handle : nullptr;
    }
    if (node->shape_of.has_value()) SetAttr(&node->spec.attrs, "shape", ShapeOf(*node->shape_of));
    ShapeContext context({node->op, &node->spec.attrs, &node->signature, node->spec.name},
                         std::move(inputs));
    MS_ASSIGN_OR_RETURN(node->facts, InferShapes(&context));
    return budget_.TakeFacts(node->facts);
  }

  PartialShape ShapeOf(const PlannedInput& tensor) const {
    if (tensor.node < 0) return graph_.Facts(tensor.existing).shape;
    return plan_.nodes[tensor.node].facts[tensor.index].shape;
  }

  static Status MergeDeclaredShapes(PlannedNode* node) {
    if (node->declared_shapes.empty()) return absl::OkStatus();
    if (node->declared_shapes.size() != node->facts.size()) {
      return errors::InvalidArgument("attribute '_output_shapes' expected ", node->facts.size(),
                                     " shapes, got ", node->declared_shapes.size());
    }
    for (size_t i = 0; i < node->facts.size(); ++i) {
      // Graph programs say that handles of arrays and stacks are vectors of two; here all are
      // scalars.
      if (node->signature.output_types[i] == DataType::kResource) {
        node->declared_shapes[i] = PartialShape();
      }
      StatusOr<PartialShape> merged = node->facts[i].shape.MergeWith(node->declared_shapes[i]);
      if (!merged.ok()) return WithContext(merged.status(), "attribute '_output_shapes'");
      node->facts[i].shape = *std::move(merged);
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const ImportPlan& plan_;
  ImportBudget& budget_;
};

}  // namespace

Status CheckTypesAndShapes(const Graph& graph, ImportPlan* plan, ImportBudget* budget) {
  const Checker checker(graph, plan, budget);
  for (int i : plan->order) {
    const Status status = checker.Check(&plan->nodes[i]);
    if (!status.ok()) return AnnotateWithSpec(status, plan->nodes[i].spec);
  }
  for (size_t i = 0; i < plan->nodes.size(); ++i) {
    const PlannedNode& node = plan->nodes[i];
    const Status status = checker.CheckBackEdges(node);
    if (!status.ok()) return AnnotateWithSpec(status, node.spec);
  }
  return absl::OkStatus();
}

}  // namespace millstream
