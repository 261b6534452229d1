#include "core/passes/row_program.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/graph/structural_role.h"
#include "core/passes/known_values.h"

namespace millstream {
namespace {

// Larger numbers are not followed, so that none overflows.
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

bool IsIndexType(DataType dtype) { return dtype == DataType::kInt32 || dtype == DataType::kInt64; }

std::optional<int64_t> ScalarOf(const Tensor* tensor) {
  if (tensor == nullptr || tensor->shape().rank() != 0 || !IsIndexType(tensor->dtype())) {
    return std::nullopt;
  }
  const int64_t value = tensor->dtype() == DataType::kInt32 ? int64_t{*tensor->data<int32_t>()}
                                                            : *tensor->data<int64_t>();
  return std::abs(value) <= kLargest ? std::make_optional(value) : std::nullopt;
}

// An integer: what a counter has at the beginning of the iteration, or 0 without a counter, and a
// known number.
struct Counted {
  int counter = -1;
  int64_t added = 0;
};

bool IsAddition(const std::string& op) { return op == "Add" || op == "AddV2"; }

std::optional<Counted> Sum(const std::string& op, const Counted& x, const Counted& y) {
  const bool subtracts = op == "Sub";
  if (!subtracts && !IsAddition(op)) return std::nullopt;
  if (y.counter >= 0 && (subtracts || x.counter >= 0)) return std::nullopt;
  const Counted sum = {std::max(x.counter, y.counter),
                       subtracts ? x.added - y.added : x.added + y.added};
  return std::abs(sum.added) <= kLargest ? std::make_optional(sum) : std::nullopt;
}

// How many times in a row the comparison holds, of a progression on the left and a number.
std::optional<int64_t> TimesHeld(const std::string& op, const Progression& x, int64_t end) {
  const bool is_less = op == "Less" || op == "LessEqual";
  if (!is_less && op != "Greater" && op != "GreaterEqual") return std::nullopt;
  const bool is_equal_allowed = op == "LessEqual" || op == "GreaterEqual";
  const int64_t way = (is_less ? end - x.first : x.first - end) + (is_equal_allowed ? 1 : 0);
  if (way <= 0) return 0;
  const int64_t nearer = is_less ? x.step : -x.step;
  return nearer <= 0 ? kForever : (way + nearer - 1) / nearer;
}

std::string Turned(const std::string& comparison) {
  if (comparison == "Less") return "Greater";
  if (comparison == "LessEqual") return "GreaterEqual";
  if (comparison == "Greater") return "Less";
  return comparison == "GreaterEqual" ? "LessEqual" : comparison;
}

// Follows the integers of one graph of a loop.
class Integers {
 public:
  Integers(const StepOps& ops, const StepOp& op, const LoopBody& loop, const InnerGraph& graph) {
    const std::vector<Output>& feeds = graph.signature.feeds;
    for (size_t i = 0; i < feeds.size(); ++i) {
      if (!IsIndexType(feeds[i].dtype())) continue;
      const std::optional<int64_t> known = ScalarOf(ops.constant(op.inputs[i]));
      if (static_cast<int>(i) < loop.num_variables) {
        if (known.has_value()) values_[feeds[i]] = {static_cast<int>(i), 0};
      } else if (known.has_value()) {
        values_[feeds[i]] = {-1, *known};
      }
    }
  }

  std::optional<Counted> Find(const Output& value) const {
    const auto found = values_.find(value);
    if (found != values_.end()) return found->second;
    const std::optional<int64_t> known = ScalarOf(Graph::ConstantValue(value));
    return known.has_value() ? std::make_optional(Counted{-1, *known}) : std::nullopt;
  }

  // True if the result of the node is known now.
  bool Add(const Node& node) {
    std::optional<Counted> result;
    if (RoleOf(node.op().name) == StructuralRole::kIdentity && node.num_inputs() == 1) {
      result = Find(node.input(0));
    } else if (node.num_inputs() == 2 && node.num_outputs() == 1) {
      const std::optional<Counted> x = Find(node.input(0));
      const std::optional<Counted> y = Find(node.input(1));
      if (x.has_value() && y.has_value()) result = Sum(node.op().name, *x, *y);
    }
    if (result.has_value()) values_[node.output(0)] = *result;
    return result.has_value();
  }

 private:
  absl::flat_hash_map<Output, Counted> values_;
};

class Translator {
 public:
  Translator(const StepOps& ops, const StepOp& op, const LoopBody& loop)
      : ops_(ops), op_(op), loop_(loop), integers_(ops, op, loop, loop.iteration) {}

  std::optional<RowProgram> Translate() {
    const bool is_plain = loop_.sums.empty() && loop_.iteration.signature.targets.empty() &&
                          loop_.condition.signature.targets.empty();
    if (!is_plain || !AddFeeds()) return std::nullopt;
    for (const Node* node : loop_.iteration.pruned.nodes) {
      if (!AddNode(*node)) return std::nullopt;
    }
    const bool found = FindVariables() && FindRows() && FindIterations() && ResultsVary();
    if (!found) return std::nullopt;
    DropUnread(Kind::kOther, &program_.others);
    DropUnread(Kind::kConstant, &program_.constants);
    return std::move(program_);
  }

 private:
  using Kind = RowValue::Kind;

  // An array is read or written at this row.
  struct Access {
    size_t array;
    Counted row;
  };

  bool AddFeeds() {
    const std::vector<Output>& feeds = loop_.iteration.signature.feeds;
    const size_t num_variables = static_cast<size_t>(loop_.num_variables);
    program_.roles.assign(num_variables, RowProgram::Role::kState);
    for (size_t i = 0; i < feeds.size(); ++i) {
      const bool is_variable = i < num_variables;
      if (feeds[i].dtype() == DataType::kFloat) {
        std::vector<size_t>& others = program_.others;
        if (!is_variable) others.push_back(i);
        values_[feeds[i]] =
            is_variable ? RowValue{Kind::kState, i} : RowValue{Kind::kOther, others.size() - 1};
      } else if (is_variable) {
        if (!integers_.Find(feeds[i]).has_value()) return false;
        program_.roles[i] = RowProgram::Role::kCounter;
      } else if (feeds[i].dtype() == DataType::kResource) {
        handles_[feeds[i]] = i;
      }
    }
    return true;
  }

  std::optional<RowValue> Find(const Output& value) {
    const auto found = values_.find(value);
    if (found != values_.end()) return found->second;
    const Tensor* const constant = Graph::ConstantValue(value);
    if (constant == nullptr || constant->dtype() != DataType::kFloat) return std::nullopt;
    program_.constants.push_back(*constant);
    return values_[value] = RowValue{Kind::kConstant, program_.constants.size() - 1};
  }

  // False if the loop is none that can be translated. Other results of nodes that change nothing
  // may stay unknown: it counts whether a result of the loop follows from them.
  bool AddNode(const Node& node) {
    const StructuralRole role = RoleOf(node.op().name);
    if (role == StructuralRole::kNothing || role == StructuralRole::kConstant) return true;
    if (role == StructuralRole::kIdentity) {
      for (int i = 0; i < node.num_outputs(); ++i) PassOn(node.input(i), node.output(i));
      integers_.Add(node);
      return true;
    }
    if (role != StructuralRole::kKernel || FindAttr(node.attrs(), "_kernel") != nullptr) {
      return false;
    }
    if (node.op().name == "TensorArrayReadV3") return AddRead(node);
    if (node.op().name == "TensorArrayWriteV3") return AddWrite(node);
    if (node.op().is_stateful) return false;
    if (!integers_.Add(node)) AddStep(node);
    return true;
  }

  void PassOn(const Output& from, const Output& to) {
    if (const auto handle = handles_.find(from); handle != handles_.end()) {
      const size_t input = handle->second;
      handles_[to] = input;
    }
    if (const auto flow = flows_.find(from); flow != flows_.end()) {
      const int variable = flow->second;
      flows_[to] = variable;
    } else if (const std::optional<RowValue> value = Find(from)) {
      values_[to] = *value;
    }
  }

  // The array and the row that inputs 0 and 1 of the node name; none if another node of the same
  // kind concerns that array.
  std::optional<Access> AccessOf(const Node& node, const std::vector<Access>& before) const {
    const auto handle = handles_.find(node.input(0));
    const std::optional<Counted> row = integers_.Find(node.input(1));
    if (handle == handles_.end() || !row.has_value() || row->counter < 0) return std::nullopt;
    const size_t array = handle->second;
    if (absl::c_any_of(before, [&](const Access& other) { return other.array == array; })) {
      return std::nullopt;
    }
    return Access{array, *row};
  }

  bool AddRead(const Node& node) {
    const std::optional<Access> access = AccessOf(node, reads_);
    const std::optional<RowValue> flow = Find(node.input(2));
    if (!access.has_value() || !flow.has_value() || flow->kind != Kind::kOther ||
        node.output_type(0) != DataType::kFloat) {
      return false;
    }
    values_[node.output(0)] = RowValue{Kind::kRow, reads_.size()};
    reads_.push_back(*access);
    program_.reads.push_back({access->array, {}});
    return true;
  }

  bool AddWrite(const Node& node) {
    const std::optional<Access> access = AccessOf(node, writes_);
    const std::optional<RowValue> value = Find(node.input(2));
    const std::optional<int> flow = FlowOf(node.input(3));
    if (!access.has_value() || !value.has_value() || !flow.has_value()) return false;
    flows_[node.output(0)] = *flow;
    program_.roles[static_cast<size_t>(*flow)] = RowProgram::Role::kFlow;
    program_.writes.push_back({access->array, {}, *flow, *value});
    writes_.push_back(*access);
    return true;
  }

  // The variable whose flow it is.
  std::optional<int> FlowOf(const Output& value) {
    const auto flow = flows_.find(value);
    if (flow != flows_.end()) return flow->second;
    const std::optional<RowValue> found = Find(value);
    if (!found.has_value() || found->kind != Kind::kState) return std::nullopt;
    return static_cast<int>(found->index);
  }

  void AddStep(const Node& node) {
    const bool computes_float = node.op().is_elementwise && node.num_outputs() == 1 &&
                                node.output_type(0) == DataType::kFloat && node.num_inputs() > 0 &&
                                node.num_inputs() <= 2;
    if (!computes_float) return;
    RowStep step{&node, {}};
    for (const Output& input : node.inputs()) {
      const std::optional<RowValue> operand = Find(input);
      if (!operand.has_value()) return;
      step.operands.push_back(*operand);
    }
    values_[node.output(0)] = RowValue{Kind::kStep, program_.steps.size()};
    program_.steps.push_back(std::move(step));
  }

  // States are numbered from here on, without the other variables.
  bool FindVariables() {
    const std::vector<Output>& results = loop_.iteration.signature.fetches;
    std::vector<size_t> numbers(program_.roles.size());
    for (size_t k = 0; k < program_.roles.size(); ++k) {
      if (program_.roles[k] == RowProgram::Role::kCounter) {
        const std::optional<Counted> next = integers_.Find(results[k]);
        const std::optional<int64_t> first = ScalarOf(ops_.constant(op_.inputs[k]));
        if (!next.has_value() || next->counter != static_cast<int>(k)) return false;
        counters_[static_cast<int>(k)] = {*first, next->added};
      } else if (program_.roles[k] == RowProgram::Role::kFlow) {
        const auto flow = flows_.find(results[k]);
        if (flow == flows_.end() || flow->second != static_cast<int>(k)) return false;
      } else {
        const std::optional<RowValue> next = Find(results[k]);
        if (!next.has_value()) return false;
        numbers[k] = program_.states.size();
        program_.states.push_back(static_cast<int>(k));
        program_.next.push_back(*next);
      }
    }
    bool is_float = true;
    const auto number = [&](RowValue* value) {
      if (value->kind != Kind::kState) return;
      is_float &= program_.roles[value->index] == RowProgram::Role::kState;
      value->index = numbers[value->index];
    };
    for (RowStep& step : program_.steps) {
      for (RowValue& operand : step.operands) number(&operand);
    }
    for (RowWrite& write : program_.writes) number(&write.value);
    for (RowValue& next : program_.next) number(&next);
    return is_float;
  }

  // Of what is read and written.
  bool FindRows() {
    for (size_t k = 0; k < reads_.size(); ++k) program_.reads[k].rows = ValuesOf(reads_[k].row);
    for (size_t k = 0; k < writes_.size(); ++k) program_.writes[k].rows = ValuesOf(writes_[k].row);
    const auto goes_on = [](const auto& access) { return std::abs(access.rows.step) == 1; };
    return absl::c_all_of(program_.reads, goes_on) && absl::c_all_of(program_.writes, goes_on);
  }

  // How many times in a row the condition holds.
  bool FindIterations() {
    const InnerGraph& graph = loop_.condition;
    Integers integers(ops_, op_, loop_, graph);
    absl::flat_hash_map<Output, int64_t> held;
    for (const Node* node : graph.pruned.nodes) {
      if (integers.Add(*node) || node->num_outputs() != 1) continue;
      if (RoleOf(node->op().name) == StructuralRole::kIdentity) {
        const auto found = held.find(node->input(0));
        if (found == held.end()) continue;
        const int64_t times = found->second;
        held[node->output(0)] = times;
      } else if (node->num_inputs() == 2) {
        const std::optional<int64_t> times = TimesOf(*node, integers, held);
        if (times.has_value()) held[node->output(0)] = *times;
      }
    }
    const auto found = held.find(graph.signature.fetches[0]);
    if (found == held.end() || found->second < 1 || found->second > kLargest) return false;
    program_.iterations = found->second;
    return true;
  }

  std::optional<int64_t> TimesOf(const Node& node, const Integers& integers,
                                 const absl::flat_hash_map<Output, int64_t>& held) const {
    const std::string& op = node.op().name;
    if (op == "LogicalAnd") {
      const auto x = held.find(node.input(0));
      const auto y = held.find(node.input(1));
      if (x == held.end() || y == held.end()) return std::nullopt;
      return std::min(x->second, y->second);
    }
    const std::optional<Counted> x = integers.Find(node.input(0));
    const std::optional<Counted> y = integers.Find(node.input(1));
    if (!x.has_value() || !y.has_value() || (x->counter >= 0 && y->counter >= 0)) {
      return std::nullopt;
    }
    if (x->counter < 0 && y->counter >= 0) return TimesHeld(Turned(op), ValuesOf(*y), x->added);
    return TimesHeld(op, ValuesOf(*x), y->added);
  }

  Progression ValuesOf(const Counted& value) const {
    if (value.counter < 0) return {value.added, 0};
    const Progression& counter = counters_.at(value.counter);
    return {counter.first + value.added, counter.step};
  }

  // A result that is the same in all iterations may have another shape.
  bool ResultsVary() const {
    std::vector<bool> varies(program_.steps.size());
    const auto is_of_row = [&](const RowValue& value) {
      switch (value.kind) {
        case Kind::kRow:
        case Kind::kState: return true;
        case Kind::kStep: return static_cast<bool>(varies[value.index]);
        default: return false;
      }
    };
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      varies[i] = absl::c_any_of(program_.steps[i].operands, is_of_row);
    }
    return absl::c_all_of(program_.next, is_of_row) &&
           absl::c_all_of(program_.writes,
                          [&](const RowWrite& write) { return is_of_row(write.value); });
  }

  // Leaves out what no step reads of these values, as the flows of arrays that are read.
  template <typename T>
  void DropUnread(Kind kind, std::vector<T>* values) {
    std::vector<bool> is_read(values->size());
    const auto for_each_operand = [&](const auto& function) {
      for (RowStep& step : program_.steps) {
        for (RowValue& operand : step.operands) {
          if (operand.kind == kind) function(operand.index);
        }
      }
    };
    for_each_operand([&](size_t& index) { is_read[index] = true; });
    std::vector<T> kept;
    std::vector<size_t> numbers(values->size());
    for (size_t i = 0; i < values->size(); ++i) {
      numbers[i] = kept.size();
      if (is_read[i]) kept.push_back(std::move((*values)[i]));
    }
    for_each_operand([&](size_t& index) { index = numbers[index]; });
    *values = std::move(kept);
  }

  const StepOps& ops_;
  const StepOp& op_;
  const LoopBody& loop_;
  Integers integers_;
  RowProgram program_;
  absl::flat_hash_map<Output, RowValue> values_;  // of a state: the number of its variable
  absl::flat_hash_map<Output, size_t> handles_;   // the inputs that they are
  absl::flat_hash_map<Output, int> flows_;        // behind a write: the variables that they are
  absl::flat_hash_map<int, Progression> counters_;
  std::vector<Access> reads_;
  std::vector<Access> writes_;
};

}  // namespace

std::optional<RowProgram> FindRowProgram(const StepOps& ops, const StepOp& op,
                                         const LoopBody& loop) {
  return Translator(ops, op, loop).Translate();
}

}  // namespace millstream
