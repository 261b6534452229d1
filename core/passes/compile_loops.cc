// compile_loops: makes one operation of a loop whose condition and body are elementwise operations
// on scalars. Its kernel runs the iterations as a program, without a call for each operation.
// Results have the same bits, except that an operation on two NaNs may return the other one.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "core/graph/inner_graph.h"
#include "core/graph/structural_role.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr char kScalarLoop[] = "_ScalarLoop";
// As many as the kernel takes.
constexpr size_t kMostSteps = 4096;

constexpr absl::string_view kOnNumbers[] = {
    "Abs",     "Add",     "AddV2", "Equal", "Greater",  "GreaterEqual", "Less", "LessEqual",
    "Maximum", "Minimum", "Mul",   "Neg",   "NotEqual", "Square",       "Sub"};
constexpr absl::string_view kOnReals[] = {"Div", "RealDiv"};
constexpr absl::string_view kOnTruth[] = {"Equal", "LogicalAnd", "LogicalNot", "LogicalOr",
                                          "NotEqual"};

bool IsReal(DataType dtype) { return dtype == DataType::kFloat || dtype == DataType::kDouble; }
bool IsNumber(DataType dtype) {
  return IsReal(dtype) || dtype == DataType::kInt32 || dtype == DataType::kInt64;
}
bool IsScalarType(DataType dtype) { return IsNumber(dtype) || dtype == DataType::kBool; }

// True if the kernel has the node's op for scalars of these types.
bool IsStep(const Node& node) {
  const std::string& op = node.op().name;
  if (node.num_outputs() != 1 || node.num_inputs() == 0 || node.num_inputs() > 3 ||
      FindAttr(node.attrs(), "_kernel") != nullptr || !IsScalarType(node.output_type(0))) {
    return false;
  }
  const auto is_scalar = [](const Output& input) { return IsScalarType(input.dtype()); };
  if (!absl::c_all_of(node.inputs(), is_scalar)) return false;
  if (op == "Select" || op == "SelectV2") return true;
  if (op == "Cast") return !node.Attr<bool>("Truncate").value_or(true);
  const DataType dtype = node.input(0).dtype();
  if (dtype == DataType::kBool) return absl::c_linear_search(kOnTruth, op);
  if (absl::c_linear_search(kOnNumbers, op)) return true;
  if (IsReal(dtype) && absl::c_linear_search(kOnReals, op)) return true;
  return node.op().is_elementwise && node.output_type(0) == DataType::kFloat &&
         absl::c_all_of(node.inputs(),
                        [](const Output& input) { return input.dtype() == DataType::kFloat; });
}

// The program of a loop. Values are numbered as in the attributes of the operation.
class LoopProgram {
 public:
  explicit LoopProgram(const LoopBody& loop) : loop_(loop) {}

  // False if the loop has other operations.
  bool Translate() {
    num_values_ = static_cast<int64_t>(loop_.iteration.signature.feeds.size());
    for (const InnerGraph* graph : {&loop_.condition, &loop_.iteration}) {
      if (!AddFeeds(*graph) || !AddConstants(*graph)) return false;
    }
    if (!AddSteps(loop_.condition)) return false;
    num_first_ = static_cast<int64_t>(steps_.size());
    return AddSteps(loop_.iteration) && steps_.size() <= kMostSteps;
  }

  const std::vector<Tensor>& constants() const { return constants_; }

  AttrMap Attrs(const std::vector<Output>& inputs, const std::vector<Output>& outputs) const {
    AttrMap attrs;
    SetAttr(&attrs, "Tin", TypesOf(inputs));
    SetAttr(&attrs, "Tout", TypesOf(outputs));
    SetAttr(&attrs, "steps", steps_);
    SetAttr(&attrs, "operands", operands_);
    SetAttr(&attrs, "num_first", num_first_);
    const std::vector<Output>& results = loop_.iteration.signature.fetches;
    std::vector<int64_t> next;
    for (int k = 0; k < loop_.num_variables; ++k) next.push_back(values_.at(results[k]));
    SetAttr(&attrs, "next", std::move(next));
    SetAttr(&attrs, "conditions",
            std::vector<int64_t>{values_.at(loop_.condition.signature.fetches[0]),
                                 values_.at(results[loop_.num_variables])});
    SetAttr(&attrs, "exits", std::vector<int64_t>(loop_.exits.begin(), loop_.exits.end()));
    return attrs;
  }

 private:
  static std::vector<DataType> TypesOf(const std::vector<Output>& values) {
    std::vector<DataType> types;
    for (const Output& value : values) types.push_back(value.dtype());
    return types;
  }

  bool AddFeeds(const InnerGraph& graph) {
    const std::vector<Output>& feeds = graph.signature.feeds;
    for (size_t i = 0; i < feeds.size(); ++i) values_[feeds[i]] = static_cast<int64_t>(i);
    return static_cast<int64_t>(feeds.size()) == num_values_ - NumConstants();
  }

  bool AddConstants(const InnerGraph& graph) {
    for (const Node* node : graph.pruned.nodes) {
      if (RoleOf(node->op().name) != StructuralRole::kConstant) continue;
      const Tensor* const value = Graph::ConstantValue(node->output(0));
      if (value == nullptr || value->shape().rank() != 0 || !IsScalarType(value->dtype())) {
        return false;
      }
      values_[node->output(0)] = num_values_++;
      constants_.push_back(*value);
    }
    return true;
  }
  int64_t NumConstants() const { return static_cast<int64_t>(constants_.size()); }

  bool AddSteps(const InnerGraph& graph) {
    for (const Node* node : graph.pruned.nodes) {
      if (node->num_outputs() > 0 && values_.contains(node->output(0))) continue;
      switch (RoleOf(node->op().name)) {
        case StructuralRole::kNothing: break;
        case StructuralRole::kIdentity:
          for (int i = 0; i < node->num_outputs(); ++i) {
            values_[node->output(i)] = values_.at(node->input(i));
          }
          break;
        case StructuralRole::kKernel:
          if (!IsStep(*node)) return false;
          AddStep(*node);
          break;
        default: return false;
      }
    }
    return true;
  }

  void AddStep(const Node& node) {
    steps_.push_back(node.op().name);
    const size_t end = operands_.size() + 3;
    for (const Output& input : node.inputs()) operands_.push_back(values_.at(input));
    if (node.op().name == "Cast") operands_.push_back(static_cast<int64_t>(node.output_type(0)));
    operands_.resize(end, -1);
    values_[node.output(0)] = num_values_++;
  }

  const LoopBody& loop_;
  int64_t num_values_ = 0;
  int64_t num_first_ = 0;
  std::vector<Tensor> constants_;
  std::vector<std::string> steps_;
  std::vector<int64_t> operands_;
  absl::flat_hash_map<Output, int64_t> values_;
};

Status CompileLoop(int i, const LoopBody& loop, StepOps* ops) {
  const StepOp op = ops->op(i);
  const auto is_scalar = [&](const Output& input) {
    const PartialShape* const shape = ops->KnownShape(input);
    return IsScalarType(input.dtype()) && shape != nullptr && shape->rank() == 0;
  };
  if (!loop.sums.empty() || !absl::c_all_of(op.inputs, is_scalar)) return absl::OkStatus();
  LoopProgram program(loop);
  if (!program.Translate()) return absl::OkStatus();
  std::vector<Output> inputs = op.inputs;
  for (const Tensor& constant : program.constants()) {
    MS_ASSIGN_OR_RETURN(const Output input, ops->NewConstant(constant));
    inputs.push_back(input);
  }
  AttrMap attrs = program.Attrs(inputs, op.outputs);
  if (!ops->HasKernel(kScalarLoop, attrs)) return absl::OkStatus();
  return ops->Replace(i, {}, kScalarLoop, std::move(attrs), *op.node, std::move(inputs),
                      op.outputs);
}

Status CompileLoops(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (ops->IsGone(i) || ops->op(i).type() != "_Loop") continue;
    const auto found = ops->program().loops.find(ops->op(i).node);
    if (found == ops->program().loops.end()) continue;
    MS_RETURN_IF_ERROR(CompileLoop(i, *found->second, ops));
  }
  return absl::OkStatus();
}

MILLSTREAM_PASS("compile_loops", 27, CompileLoops);

}  // namespace
}  // namespace millstream
