// compile_loops: makes one operation of a loop whose condition and body are elementwise operations
// on scalars. Its kernel runs the iterations as a program, without a call for each operation. Lists
// of scalars that the loop keeps for its gradient become vectors, from which the loop that computes
// the gradient takes the elements.
// Results have the same bits, except that an operation on two NaNs may return the other one.
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/graph/inner_graph.h"
#include "core/graph/structural_role.h"
#include "core/passes/pass.h"
#include "core/passes/row_lists.h"

namespace millstream {
namespace {

constexpr char kScalarLoop[] = "_ScalarLoop";
constexpr char kZeros[] = "ZerosLike";
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

// None if memory is exhausted.
std::optional<Tensor> Zero(DataType dtype) {
  const StatusOr<Tensor> zero = Tensor::Create(dtype, Shape());
  if (!zero.ok()) return std::nullopt;
  std::memset(zero->raw(), 0, zero->bytes());
  return *zero;
}

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
  // Operation `op` stands for the loop. `lists`: those that loops before it have filled.
  LoopProgram(const LoopBody& loop, const StepOp& op, const KeptLists& lists)
      : loop_(loop), op_(op), lists_(lists) {}

  // False if the loop has other operations.
  bool Translate() {
    NumberFeeds();
    for (const InnerGraph* graph : {&loop_.condition, &loop_.iteration}) {
      if (!AddFeeds(*graph)) return false;
      AddConstants(*graph);
    }
    if (!TakeElements() || !AddSteps(loop_.condition)) return false;
    num_first_ = static_cast<int64_t>(steps_.size());
    return AddSteps(loop_.iteration) && steps_.size() <= kMostSteps && ResultsFit();
  }

  const std::vector<Tensor>& constants() const { return constants_; }
  // The inputs of the loop that are no lists.
  const std::vector<size_t>& scalars() const { return scalars_; }
  // The vectors that elements are taken from.
  const std::vector<Output>& stacks() const { return stacks_; }
  // An element is added to the list of this variable in each iteration.
  struct Kept {
    int variable;
    DataType dtype;
    int64_t value;
  };
  const std::vector<Kept>& kept() const { return kept_; }
  bool IsList(int variable) const {
    return loop_.iteration.signature.feeds[static_cast<size_t>(variable)].dtype() ==
           DataType::kVariant;
  }

  AttrMap Attrs(const std::vector<Output>& inputs, const std::vector<Output>& outputs) const {
    AttrMap attrs;
    SetAttr(&attrs, "Tin", TypesOf(inputs));
    SetAttr(&attrs, "Tout", TypesOf(outputs));
    SetAttr(&attrs, "steps", steps_);
    SetAttr(&attrs, "operands", operands_);
    SetAttr(&attrs, "num_first", num_first_);
    const std::vector<Output>& results = loop_.iteration.signature.fetches;
    std::vector<int64_t> next;
    for (int k = 0; k < loop_.num_variables; ++k) {
      if (!IsList(k)) next.push_back(values_.at(results[k]));
    }
    SetAttr(&attrs, "next", std::move(next));
    SetAttr(&attrs, "conditions",
            std::vector<int64_t>{values_.at(loop_.condition.signature.fetches[0]),
                                 values_.at(results[loop_.num_variables])});
    std::vector<int64_t> exits;
    for (const int variable : loop_.exits) {
      if (!IsList(variable)) exits.push_back(numbers_[static_cast<size_t>(variable)]);
    }
    SetAttr(&attrs, "exits", std::move(exits));
    std::vector<int64_t> kept;
    for (const Kept& element : kept_) kept.push_back(element.value);
    SetAttr(&attrs, "kept", std::move(kept));
    SetAttr(&attrs, "num_stacks", static_cast<int64_t>(stacks_.size()));
    return attrs;
  }

 private:
  static std::vector<DataType> TypesOf(const std::vector<Output>& values) {
    std::vector<DataType> types;
    for (const Output& value : values) types.push_back(value.dtype());
    return types;
  }

  void NumberFeeds() {
    const std::vector<Output>& feeds = loop_.iteration.signature.feeds;
    numbers_.assign(feeds.size(), -1);
    for (size_t i = 0; i < feeds.size(); ++i) {
      if (feeds[i].dtype() == DataType::kVariant) continue;
      numbers_[i] = num_values_++;
      scalars_.push_back(i);
    }
  }

  bool AddFeeds(const InnerGraph& graph) {
    const std::vector<Output>& feeds = graph.signature.feeds;
    if (feeds.size() != numbers_.size()) return false;
    for (size_t i = 0; i < feeds.size(); ++i) {
      if (numbers_[i] >= 0) {
        values_[feeds[i]] = numbers_[i];
      } else if (static_cast<int>(i) < loop_.num_variables) {
        as_fed_[feeds[i]] = static_cast<int>(i);
      }
    }
    return true;
  }

  // Those that are no scalars are read by operations on lists alone, if the loop fits. All values
  // are scalars then, so zeros like one of them are constants, too.
  void AddConstants(const InnerGraph& graph) {
    for (const Node* node : graph.pruned.nodes) {
      std::optional<Tensor> value;
      if (RoleOf(node->op().name) == StructuralRole::kConstant) {
        const Tensor* const constant = Graph::ConstantValue(node->output(0));
        if (constant != nullptr && constant->shape().rank() == 0) value = *constant;
      } else if (node->op().name == kZeros && IsScalarType(node->output_type(0))) {
        value = Zero(node->output_type(0));
      }
      if (!value.has_value() || !IsScalarType(value->dtype())) continue;
      values_[node->output(0)] = num_values_++;
      constants_.push_back(*std::move(value));
    }
  }

  // The vectors stand behind the constants.
  bool TakeElements() {
    for (const Node* node : loop_.iteration.pruned.nodes) {
      if (node->op().name != "TensorListPopBack") continue;
      const auto list = as_fed_.find(node->input(0));
      if (list == as_fed_.end()) return false;
      const KeptList* const kept = lists_.Find(op_.inputs[static_cast<size_t>(list->second)]);
      const bool fits = kept != nullptr && kept->dtype == node->output_type(1) &&
                        changed_.insert({list->second, node->output(0)}).second;
      if (!fits) return false;
      stacks_.push_back(kept->rows);
      shorter_.insert(list->second);
      values_[node->output(1)] = num_values_++;
    }
    return true;
  }

  bool AddSteps(const InnerGraph& graph) {
    for (const Node* node : graph.pruned.nodes) {
      if (node->op().name == kZeros && !Has(node->input(0))) return false;
      if (node->num_outputs() > 0 && Has(node->output(0))) continue;
      if (node->op().name == "TensorListPopBack") {
        if (!values_.contains(node->output(1))) return false;
        continue;
      }
      if (node->op().name == "TensorListPushBack") {
        if (!AddKept(*node)) return false;
        continue;
      }
      switch (RoleOf(node->op().name)) {
        case StructuralRole::kNothing:
        case StructuralRole::kConstant: break;
        case StructuralRole::kIdentity:
          for (int i = 0; i < node->num_outputs(); ++i) {
            if (!Has(node->input(i))) return false;
            const int64_t value = values_.at(node->input(i));
            values_[node->output(i)] = value;
          }
          break;
        case StructuralRole::kKernel:
          if (!absl::c_all_of(node->inputs(), [&](const Output& input) { return Has(input); })) {
            return false;
          }
          if (IsSum(*node)) {
            AddSum(*node);
          } else if (IsStep(*node)) {
            AddStep(*node);
          } else {
            return false;
          }
          break;
        default: return false;
      }
    }
    return true;
  }
  bool Has(const Output& value) const { return values_.contains(value); }

  // Adds to the end of a list, once in an iteration.
  bool AddKept(const Node& node) {
    const auto list = as_fed_.find(node.input(0));
    const Output& element = node.input(1);
    if (list == as_fed_.end() || !Has(element) || !IsScalarType(element.dtype()) ||
        !changed_.insert({list->second, node.output(0)}).second) {
      return false;
    }
    kept_.push_back({list->second, element.dtype(), values_.at(element)});
    return true;
  }

  // True if all lists are changed once in each iteration, and no vector leaves the loop again.
  bool ResultsFit() const {
    const std::vector<Output>& results = loop_.iteration.signature.fetches;
    for (int k = 0; k < loop_.num_variables; ++k) {
      if (!IsList(k)) {
        if (!Has(results[static_cast<size_t>(k)])) return false;
        continue;
      }
      const auto list = changed_.find(k);
      if (list == changed_.end() || list->second != results[static_cast<size_t>(k)]) return false;
      if (shorter_.contains(k) && absl::c_linear_search(loop_.exits, k)) return false;
    }
    return Has(loop_.condition.signature.fetches[0]) &&
           Has(results[static_cast<size_t>(loop_.num_variables)]);
  }

  static bool IsSum(const Node& node) {
    return node.op().name == "AddN" && IsNumber(node.output_type(0)) &&
           FindAttr(node.attrs(), "_kernel") == nullptr;
  }

  // From the left to the right.
  void AddSum(const Node& node) {
    int64_t sum = values_.at(node.input(0));
    for (int i = 1; i < node.num_inputs(); ++i) {
      steps_.push_back("AddV2");
      for (const int64_t operand : {sum, values_.at(node.input(i)), int64_t{-1}}) {
        operands_.push_back(operand);
      }
      sum = num_values_++;
    }
    values_[node.output(0)] = sum;
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
  const StepOp& op_;
  const KeptLists& lists_;
  std::vector<int64_t> numbers_;  // of the values that the feeds are; -1 of lists
  std::vector<size_t> scalars_;
  int64_t num_values_ = 0;
  int64_t num_first_ = 0;
  std::vector<Tensor> constants_;
  std::vector<Output> stacks_;
  std::vector<Kept> kept_;
  std::vector<std::string> steps_;
  std::vector<int64_t> operands_;
  absl::flat_hash_map<Output, int64_t> values_;
  absl::flat_hash_map<Output, int> as_fed_;   // the variables that lists are
  absl::flat_hash_map<int, Output> changed_;  // what these lists are in the next iteration
  absl::flat_hash_set<int> shorter_;          // the variables that elements are taken from
};

// True if the lists that become longer are empty before the loop and can be kept, and nothing
// outside of the step sees them.
bool ListsFit(const LoopProgram& program, const LoopBody& loop, const StepOp& op,
              const KeptLists& lists, const StepOps& ops) {
  for (size_t j = 0; j < op.outputs.size(); ++j) {
    if (program.IsList(loop.exits[j]) && ops.IsVisible(op.outputs[j])) return false;
  }
  return absl::c_all_of(program.kept(), [&](const LoopProgram::Kept& kept) {
    const Output& first = op.inputs[static_cast<size_t>(kept.variable)];
    return lists.IsEmptyListFor(first, kept.dtype, PartialShape::Scalar()) &&
           lists.CanKeep(kept.dtype);
  });
}

Status CompileLoop(int i, const LoopBody& loop, KeptLists* lists, StepOps* ops) {
  const StepOp op = ops->op(i);
  if (!loop.sums.empty()) return absl::OkStatus();
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    const Output& input = op.inputs[k];
    const bool is_list =
        input.dtype() == DataType::kVariant && static_cast<int>(k) < loop.num_variables;
    const PartialShape* const shape = ops->KnownShape(input);
    const bool is_scalar = IsScalarType(input.dtype()) && shape != nullptr && shape->rank() == 0;
    if (!is_list && !is_scalar) return absl::OkStatus();
  }
  LoopProgram program(loop, op, *lists);
  if (!program.Translate() || !ListsFit(program, loop, op, *lists, *ops)) return absl::OkStatus();
  std::vector<Output> inputs;
  for (const size_t input : program.scalars()) inputs.push_back(op.inputs[input]);
  for (const Tensor& constant : program.constants()) {
    MS_ASSIGN_OR_RETURN(const Output input, ops->NewConstant(constant));
    inputs.push_back(input);
  }
  inputs.insert(inputs.end(), program.stacks().begin(), program.stacks().end());
  std::vector<Output> outputs;
  for (size_t j = 0; j < op.outputs.size(); ++j) {
    if (!program.IsList(loop.exits[j])) outputs.push_back(op.outputs[j]);
  }
  const size_t first_kept = outputs.size();
  for (const LoopProgram::Kept& kept : program.kept()) {
    MS_ASSIGN_OR_RETURN(const Output vector,
                        ops->NewValue(kept.dtype, PartialShape::Vector(kUnknownDim)));
    outputs.push_back(vector);
  }
  AttrMap attrs = program.Attrs(inputs, outputs);
  if (!ops->HasKernel(kScalarLoop, attrs)) return absl::OkStatus();
  MS_RETURN_IF_ERROR(
      ops->Replace(i, {}, kScalarLoop, std::move(attrs), *op.node, std::move(inputs), outputs));
  for (size_t k = 0; k < program.kept().size(); ++k) {
    KeptList list;
    list.dtype = program.kept()[k].dtype;
    list.rows = outputs[first_kept + k];
    list.like = op.node;
    for (size_t j = 0; j < op.outputs.size(); ++j) {
      if (loop.exits[j] == program.kept()[k].variable) lists->Add(op.outputs[j], list);
    }
  }
  return absl::OkStatus();
}

Status CompileLoops(StepOps* ops) {
  KeptLists lists(ops);
  for (int i = 0; i < ops->size(); ++i) {
    if (ops->IsGone(i) || ops->op(i).type() != "_Loop") continue;
    const auto found = ops->program().loops.find(ops->op(i).node);
    if (found == ops->program().loops.end()) continue;
    MS_RETURN_IF_ERROR(CompileLoop(i, *found->second, &lists, ops));
  }
  return lists.MakeThoseRead();
}

MILLSTREAM_PASS("compile_loops", 27, CompileLoops);

}  // namespace
}  // namespace millstream
