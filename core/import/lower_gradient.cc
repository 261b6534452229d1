// Expands a SymbolicGradient: the gradients of a function are built in a graph of their own, whose
// nodes are then added to the plan.
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/graph/colocation.h"
#include "core/graph/control_flow.h"
#include "core/import/function_library.h"
#include "core/import/lowering.h"
#include "framework/message.h"
#include "framework/proto_conversion.h"
#include "millstream/framework/protos/graph.pb.h"

namespace millstream {
namespace {

constexpr char kCall[] = "call";
// A gradient may be that of a function with gradients in it.
constexpr int kMostNested = 8;

std::string ArgumentName(size_t i) { return absl::StrCat("argument_", i); }

class GradientLowering : public Lowering {
 public:
  using Lowering::Lowering;

  Status Lower(const FunctionLibrary& library, const ImportOptions& options);

 private:
  StatusOr<BoundFunction> FindFunction(const FunctionLibrary& library);
  Status AddForward(const FunctionLibrary& library, const ImportOptions& options);
  StatusOr<std::vector<Output>> AddBackward(const ImportOptions& options);
  Status CopyNodes();
  Status CopyNode(const Node& node);
  PlannedInput Planned(const Output& output) const;

  BoundFunction function_;
  DataTypeList types_;  // of the arguments, and of the gradients of the results
  Graph graph_;         // the call of the function on placeholders, and its gradients
  std::vector<const Node*> placeholders_;
  std::vector<int> numbers_;  // in the plan, by the node's id
};

StatusOr<BoundFunction> GradientLowering::FindFunction(const FunctionLibrary& library) {
  MS_ASSIGN_OR_RETURN(const FunctionRef called, Attr<FunctionRef>("f"));
  MS_ASSIGN_OR_RETURN(const DataTypeList results, Attr<DataTypeList>("Tout"));
  MS_ASSIGN_OR_RETURN(types_, Attr<DataTypeList>("Tin"));
  MS_ASSIGN_OR_RETURN(BoundFunction function, library.Bind(called));
  DataTypeList expected = function.expanded.input_types;
  const DataTypeList& ys = function.expanded.output_types;
  expected.insert(expected.end(), ys.begin(), ys.end());
  if (types_ != expected || results != function.expanded.input_types) {
    return errors::InvalidArgument(
        "the node has arguments ", DataTypeListName(types_), " and results ",
        DataTypeListName(results), "; the gradient of function '", called.name, "' has ",
        DataTypeListName(expected), " and ", DataTypeListName(function.expanded.input_types));
  }
  MS_RETURN_IF_ERROR(CheckInputs(types_.size()));
  return function;
}

// Placeholders for all inputs, and the call.
Status GradientLowering::AddForward(const FunctionLibrary& library, const ImportOptions& options) {
  proto::GraphDef def;
  library.CopyTo(def.mutable_library());
  def.mutable_versions()->set_producer(
      editor_.node(owner_).spec.producer_version.value_or(kGraphDefProducer));
  proto::NodeDef call;
  call.set_name(kCall);
  call.set_op("PartitionedCall");
  for (size_t i = 0; i < types_.size(); ++i) {
    proto::NodeDef* const placeholder = def.add_node();
    placeholder->set_name(ArgumentName(i));
    placeholder->set_op("Placeholder");
    MS_RETURN_IF_ERROR(AttrsToProto(Attrs({{"dtype", types_[i]}}), placeholder->mutable_attr()));
    if (i < function_.expanded.input_types.size()) call.add_input(ArgumentName(i));
  }
  MS_ASSIGN_OR_RETURN(const FunctionRef called, Attr<FunctionRef>("f"));
  MS_RETURN_IF_ERROR(AttrsToProto(Attrs({{"Tin", function_.expanded.input_types},
                                         {"Tout", function_.expanded.output_types},
                                         {"f", called}}),
                                  call.mutable_attr()));
  *def.add_node() = std::move(call);
  MS_ASSIGN_OR_RETURN(const std::string bytes, ToBinary(def));
  ImportOptions inner;
  inner.forbidden_ops = options.forbidden_ops;
  inner.add_gradients = options.add_gradients;
  inner.gradient_depth = options.gradient_depth + 1;
  inner.max_expansion = options.max_expansion;
  return ImportGraphDef(&graph_, bytes, inner).status();
}

StatusOr<std::vector<Output>> GradientLowering::AddBackward(const ImportOptions& options) {
  std::vector<Output> given;
  for (size_t i = 0; i < types_.size(); ++i) {
    MS_ASSIGN_OR_RETURN(const Node* placeholder, graph_.FindNode(ArgumentName(i)));
    placeholders_.push_back(placeholder);
    given.push_back(placeholder->output(0));
  }
  MS_ASSIGN_OR_RETURN(const Node* call, graph_.FindNode(kCall));
  const auto first_dy = given.begin() + function_.expanded.input_types.size();
  std::vector<Output> ys;
  for (int i = 0; i < call->num_outputs(); ++i) ys.push_back(call->output(i));
  return options.add_gradients(&graph_, ys, {given.begin(), first_dy}, {first_dy, given.end()});
}

PlannedInput GradientLowering::Planned(const Output& output) const {
  for (size_t i = 0; i < placeholders_.size(); ++i) {
    if (placeholders_[i] == output.node) return inputs_[i];
  }
  return OutputOf(numbers_[output.node->id()], output.index);
}

Status GradientLowering::CopyNode(const Node& node) {
  Tensors inputs;
  for (const Output& input : node.inputs()) {
    // The first input of the Merge stands in for what closes a loop.
    inputs.push_back(IsBackEdge(input, node) ? inputs.front() : Planned(input));
  }
  Tensors controls;
  for (const Node* control : graph_.ControlInputs(&node)) {
    controls.push_back(After(Planned(Output{control, 0})));
  }
  if (inputs.empty() && controls.empty()) controls = controls_;
  AttrMap attrs;
  for (const auto& [name, value] : node.attrs()) {
    if (name != kColocationAttr) SetAttr(&attrs, name, value);
  }
  MS_ASSIGN_OR_RETURN(const PlannedInput added,
                      Add(node.name(), node.op().name.c_str(), std::move(attrs), inputs, controls));
  numbers_[node.id()] = added.node;
  return absl::OkStatus();
}

Status GradientLowering::CopyNodes() {
  numbers_.assign(static_cast<size_t>(graph_.num_nodes()), -1);
  const std::vector<const Node*> nodes = graph_.nodes();
  for (const Node* node : nodes) {
    if (absl::c_linear_search(placeholders_, node)) continue;
    MS_RETURN_IF_ERROR(CopyNode(*node));
  }
  for (const Node* node : nodes) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (!IsBackEdge(node->input(i), *node)) continue;
      editor_.node(numbers_[node->id()]).inputs[i] = Planned(node->input(i));
    }
  }
  return absl::OkStatus();
}

Status GradientLowering::Lower(const FunctionLibrary& library, const ImportOptions& options) {
  if (options.add_gradients == nullptr || options.gradient_depth >= kMostNested) {
    return errors::Unimplemented(
        options.add_gradients == nullptr
            ? "this import adds no gradients"
            : "the gradient of a function that has its own gradient, or too many, in it");
  }
  MS_ASSIGN_OR_RETURN(function_, FindFunction(library));
  MS_RETURN_IF_ERROR(AddForward(library, options));
  MS_ASSIGN_OR_RETURN(const std::vector<Output> gradients, AddBackward(options));
  MS_RETURN_IF_ERROR(CopyNodes());
  const DataTypeList& types = function_.expanded.input_types;
  Tensors results;
  for (size_t i = 0; i < types.size(); ++i) {
    if (gradients[i]) {
      results.push_back(Planned(gradients[i]));
      continue;
    }
    MS_ASSIGN_OR_RETURN(const PlannedInput zeros,
                        Add(absl::StrCat("zeros_", i), "ZerosLike", Attrs({{"T", types[i]}}),
                            {inputs_[i]}, controls_));
    results.push_back(zeros);
  }
  return editor_.Become(owner_, types, std::move(results), {});
}

}  // namespace

Status LowerSymbolicGradient(int owner, const FunctionLibrary& library,
                             const ImportOptions& options, PlanEditor* editor) {
  return GradientLowering(owner, editor).Lower(library, options);
}

}  // namespace millstream
