#include "core/passes/row_program.h"

#include <cstdlib>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/graph/structural_role.h"
#include "core/passes/known_values.h"

namespace millstream {
namespace {

// True for what FindIterations follows.
bool IsOfCondition(const std::string& op) {
  return op == "Greater" || op == "GreaterEqual" || op == "Less" || op == "LessEqual" ||
         op == "LogicalAnd";
}

class Translator {
 public:
  Translator(const StepOps& ops, const StepOp& op, const LoopBody& loop, const KeptLists& lists)
      : ops_(ops), op_(op), loop_(loop), lists_(lists), integers_(ops, op, loop, loop.iteration) {}

  std::optional<RowProgram> Translate() {
    const bool is_plain = loop_.sums.empty() && loop_.iteration.signature.targets.empty() &&
                          loop_.condition.signature.targets.empty();
    if (!is_plain || !AddFeeds()) return std::nullopt;
    for (const Node* node : loop_.iteration.pruned.nodes) {
      if (!AddNode(*node)) return std::nullopt;
    }
    const bool found =
        FindVariables() && FindRows() && FindIterations() && FindListRows() && ResultsVary();
    if (!found) return std::nullopt;
    DropUnread(Kind::kOther, &program_.others);
    DropUnread(Kind::kConstant, &program_.constants);
    // A read that others only wait for may fail.
    const auto is_read = [](const RowOther& other) { return other.read != nullptr; };
    if (absl::c_count_if(program_.others, is_read) != variables_read_) return std::nullopt;
    return std::move(program_);
  }

 private:
  using Kind = RowValue::Kind;

  using Role = RowProgram::Role;

  // An array is read or written at this row.
  struct Access {
    RowArray array;
    Counted row;
  };

  bool AddFeeds() {
    const std::vector<Output>& feeds = loop_.iteration.signature.feeds;
    const size_t num_variables = static_cast<size_t>(loop_.num_variables);
    program_.roles.assign(num_variables, Role::kState);
    for (size_t i = 0; i < feeds.size(); ++i) {
      const bool is_variable = i < num_variables;
      if (feeds[i].dtype() == DataType::kFloat) {
        std::vector<RowOther>& others = program_.others;
        if (!is_variable) others.push_back({i});
        values_[feeds[i]] =
            is_variable ? RowValue{Kind::kState, i} : RowValue{Kind::kOther, others.size() - 1};
      } else if (is_variable) {
        if (feeds[i].dtype() == DataType::kVariant) {
          program_.roles[i] = Role::kLonger;
          lists_as_fed_[feeds[i]] = static_cast<int>(i);
          continue;
        }
        if (!integers_.Find(feeds[i]).has_value()) return false;
        program_.roles[i] = Role::kCounter;
      } else if (feeds[i].dtype() == DataType::kResource) {
        handles_[feeds[i]] = RowArray{i, ""};
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

  // False if the loop is none that can be translated. No node is left out because no result follows
  // from it: others may wait for it, and it may fail. But the condition is followed elsewhere.
  bool AddNode(const Node& node) {
    const StructuralRole role = RoleOf(node.op().name);
    if (role == StructuralRole::kNothing || role == StructuralRole::kConstant) return true;
    if (role == StructuralRole::kHandle) return true;  // what reads it must be known
    if (role == StructuralRole::kIdentity) {
      for (int i = 0; i < node.num_outputs(); ++i) PassOn(node.input(i), node.output(i));
      integers_.Add(node);
      return true;
    }
    if (role != StructuralRole::kKernel || FindAttr(node.attrs(), "_kernel") != nullptr) {
      return false;
    }
    const std::string& op = node.op().name;
    if (op == "TensorArrayReadV3") return AddRead(node);
    if (op == "TensorArrayWriteV3") return AddWrite(node);
    if (op == "TensorArrayGradV3") return AddGradientArray(node);
    if (op == "ReadVariableOp") return AddVariable(node);
    if (op == "TensorListPushBack") return AddElement(node);
    if (op == "TensorListPopBack") return TakeElement(node);
    if (node.op().is_stateful) return false;
    if (op == "AddN") return AddSum(node);
    return integers_.Add(node) || AddStep(node) || IsOfCondition(op);
  }

  void PassOn(const Output& from, const Output& to) {
    if (const auto handle = handles_.find(from); handle != handles_.end()) {
      RowArray array = handle->second;
      handles_[to] = std::move(array);
    }
    if (const auto list = lists_as_fed_.find(from); list != lists_as_fed_.end()) {
      const int variable = list->second;
      lists_as_fed_[to] = variable;
    }
    if (const auto write = loose_flows_.find(from); write != loose_flows_.end()) {
      const size_t number = write->second;
      loose_flows_[to] = number;
    }
    if (const auto flow = flows_.find(from); flow != flows_.end()) {
      const int variable = flow->second;
      flows_[to] = variable;
    } else if (const std::optional<RowValue> value = Find(from)) {
      values_[to] = *value;
    }
  }

  // None of the operations that are known changes a variable.
  bool AddVariable(const Node& node) {
    const bool is_known = node.input(0).node->op().name == "VarHandleOp" &&
                          node.output_type(0) == DataType::kFloat &&
                          node.facts(0).shape.IsFullyKnown();
    if (!is_known) return false;
    values_[node.output(0)] = RowValue{Kind::kOther, program_.others.size()};
    program_.others.push_back({0, &node});
    ++variables_read_;
    return true;
  }

  // The array and the row that inputs 0 and 1 of the node name; none if another node of the same
  // kind concerns that array.
  std::optional<Access> AccessOf(const Node& node, const std::vector<Access>& before) const {
    const auto handle = handles_.find(node.input(0));
    const std::optional<Counted> row = integers_.Find(node.input(1));
    if (handle == handles_.end() || !row.has_value() || row->counter < 0) return std::nullopt;
    const RowArray& array = handle->second;
    if (absl::c_any_of(before, [&](const Access& other) { return other.array == array; })) {
      return std::nullopt;
    }
    return Access{array, *row};
  }

  bool AddGradientArray(const Node& node) {
    const auto handle = handles_.find(node.input(0));
    if (handle == handles_.end()) return false;
    RowArray array = handle->second;
    array.gradient = GradientArray(array.gradient, node);
    handles_[node.output(0)] = std::move(array);
    // The array exists as long as the step; the flow only says what was done before.
    PassOn(node.input(1), node.output(1));
    return true;
  }

  // A flow that comes into the loop, or that a variable passes on.
  bool IsFlowOfReads(const Output& value) {
    const std::optional<RowValue> flow = Find(value);
    if (!flow.has_value()) return false;
    if (flow->kind == Kind::kState) program_.roles[flow->index] = Role::kFlow;
    return flow->kind == Kind::kOther || flow->kind == Kind::kState;
  }

  bool AddRead(const Node& node) {
    const std::optional<Access> access = AccessOf(node, reads_);
    if (!access.has_value() || node.output_type(0) != DataType::kFloat ||
        !IsFlowOfReads(node.input(2))) {
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
    if (!access.has_value() || !value.has_value()) return false;
    int variable = -1;
    const std::optional<RowValue> flow = Find(node.input(3));
    if (flow.has_value() && flow->kind == Kind::kOther) {
      loose_flows_[node.output(0)] = writes_.size();  // until AddSum finds the variable
    } else if (const std::optional<int> found = FlowOf(node.input(3))) {
      variable = *found;
      flows_[node.output(0)] = variable;
      program_.roles[static_cast<size_t>(variable)] = Role::kFlow;
    } else {
      return false;
    }
    program_.writes.push_back({access->array, {}, variable, *value});
    writes_.push_back(*access);
    return true;
  }

  // The sum of a variable and of the flow of a write is the flow of all iterations. Other sums are
  // of floats, from the left to the right.
  bool AddSum(const Node& node) {
    for (int i = 0; i < node.num_inputs(); ++i) {
      const auto loose = loose_flows_.find(node.input(i));
      if (loose == loose_flows_.end()) continue;
      const std::optional<int> flow =
          node.num_inputs() == 2 ? FlowOf(node.input(1 - i)) : std::nullopt;
      if (!flow.has_value()) return false;
      program_.writes[loose->second].variable = *flow;
      program_.roles[static_cast<size_t>(*flow)] = Role::kFlow;
      flows_[node.output(0)] = *flow;
      return true;
    }
    std::vector<RowValue> terms;
    for (const Output& input : node.inputs()) {
      const std::optional<RowValue> term = Find(input);
      if (!term.has_value()) return false;
      terms.push_back(*term);
    }
    RowValue sum = terms[0];
    for (size_t k = 1; k < terms.size(); ++k) {
      program_.steps.push_back({"AddV2", {sum, terms[k]}});
      sum = RowValue{Kind::kStep, program_.steps.size() - 1};
    }
    values_[node.output(0)] = sum;
    return true;
  }

  // Adds to the end of a list, once in an iteration.
  bool AddElement(const Node& node) {
    const auto list = lists_as_fed_.find(node.input(0));
    if (list == lists_as_fed_.end()) return false;
    const int variable = list->second;
    const Output& element = node.input(1);
    if (!changed_lists_.insert({variable, node.output(0)}).second) return false;
    if (const std::optional<Counted> number = integers_.Find(element)) {
      program_.number_writes.push_back({variable, element.dtype(), {}});
      numbers_.push_back(*number);
      return true;
    }
    const std::optional<RowValue> value = Find(element);
    if (!value.has_value()) return false;
    program_.writes.push_back({{}, {}, variable, *value, true});
    writes_.push_back(Access{});
    return true;
  }

  // Takes the last element of a list that an earlier loop has filled, once in an iteration.
  bool TakeElement(const Node& node) {
    const auto list = lists_as_fed_.find(node.input(0));
    if (list == lists_as_fed_.end()) return false;
    const int variable = list->second;
    const KeptList* const kept = lists_.Find(op_.inputs[static_cast<size_t>(variable)]);
    if (kept == nullptr || kept->dtype != node.output_type(1) ||
        !changed_lists_.insert({variable, node.output(0)}).second) {
      return false;
    }
    program_.roles[static_cast<size_t>(variable)] = Role::kShorter;
    shortened_.push_back(kept);
    if (kept->numbers.has_value()) {
      const Progression& numbers = *kept->numbers;
      program_.counters[variable] = {numbers.At(kept->count - 1), -numbers.step};
      integers_.Set(node.output(1), {variable, 0});
      return true;
    }
    values_[node.output(1)] = RowValue{Kind::kRow, reads_.size()};
    reads_.push_back(Access{});
    program_.reads.push_back({{}, {}, variable});
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

  bool AddStep(const Node& node) {
    const bool computes_float = node.op().is_elementwise && node.num_outputs() == 1 &&
                                node.output_type(0) == DataType::kFloat && node.num_inputs() > 0 &&
                                node.num_inputs() <= 2;
    if (!computes_float) return false;
    RowStep step{node.op().name, {}};
    for (const Output& input : node.inputs()) {
      const std::optional<RowValue> operand = Find(input);
      if (!operand.has_value()) return false;
      step.operands.push_back(*operand);
    }
    values_[node.output(0)] = RowValue{Kind::kStep, program_.steps.size()};
    program_.steps.push_back(std::move(step));
    return true;
  }

  // States are numbered from here on, without the other variables.
  bool FindVariables() {
    const std::vector<Output>& results = loop_.iteration.signature.fetches;
    std::vector<size_t> numbers(program_.roles.size());
    for (size_t k = 0; k < program_.roles.size(); ++k) {
      const int variable = static_cast<int>(k);
      switch (program_.roles[k]) {
        case Role::kCounter: {
          const std::optional<Counted> next = integers_.Find(results[k]);
          const std::optional<int64_t> first = IndexScalar(ops_.constant(op_.inputs[k]));
          if (!next.has_value() || next->counter != variable) return false;
          program_.counters[variable] = {*first, next->added};
          break;
        }
        case Role::kFlow:
          if (FlowOf(results[k]) != variable) return false;
          break;
        case Role::kLonger:
        case Role::kShorter: {
          const auto list = changed_lists_.find(variable);
          if (list == changed_lists_.end() || list->second != results[k]) return false;
          break;
        }
        case Role::kState: {
          const std::optional<RowValue> next = Find(results[k]);
          if (!next.has_value()) return false;
          numbers[k] = program_.states.size();
          program_.states.push_back(variable);
          program_.next.push_back(*next);
          break;
        }
      }
    }
    const auto has_variable = [](const RowWrite& write) { return write.variable >= 0; };
    if (!absl::c_all_of(program_.writes, has_variable)) return false;
    bool is_float = true;
    const auto number = [&](RowValue* value) {
      if (value->kind != Kind::kState) return;
      is_float &= program_.roles[value->index] == Role::kState;
      value->index = numbers[value->index];
    };
    for (RowStep& step : program_.steps) {
      for (RowValue& operand : step.operands) number(&operand);
    }
    for (RowWrite& write : program_.writes) number(&write.value);
    for (RowValue& next : program_.next) number(&next);
    return is_float;
  }

  // Of what is read and written in arrays.
  bool FindRows() {
    const auto find = [&](const Access& access, Progression* rows) {
      *rows = ValuesOf(access.row, program_.counters);
      return std::abs(rows->step) == 1;
    };
    for (size_t k = 0; k < reads_.size(); ++k) {
      RowRead& read = program_.reads[k];
      if (read.list < 0 && !find(reads_[k], &read.rows)) return false;
    }
    for (size_t k = 0; k < writes_.size(); ++k) {
      RowWrite& write = program_.writes[k];
      if (!write.is_list && !find(writes_[k], &write.rows)) return false;
    }
    return true;
  }

  // Of the elements of lists.
  bool FindListRows() {
    for (const KeptList* const kept : shortened_) {
      if (kept->count != program_.iterations) return false;
    }
    for (RowRead& read : program_.reads) {
      if (read.list >= 0) read.rows = {program_.iterations - 1, -1};
    }
    for (RowWrite& write : program_.writes) {
      if (write.is_list) write.rows = {0, 1};
    }
    for (size_t k = 0; k < numbers_.size(); ++k) {
      program_.number_writes[k].numbers = ValuesOf(numbers_[k], program_.counters);
    }
    return numbers_.empty() || program_.iterations <= KeptLists::kMostNumbers;
  }

  bool FindIterations() {
    const std::optional<int64_t> found =
        CountIterations(loop_.condition, {ops_, op_, loop_, loop_.condition}, program_.counters);
    if (!found.has_value() || *found < 1 || *found > kLargestCounted) return false;
    program_.iterations = *found;
    return true;
  }

  // What is computed in all iterations alike may have another shape than a row. (The shape of what
  // is read is known.)
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
    const auto is_result = [&](const RowValue& value) {
      return value.kind != Kind::kStep || is_of_row(value);
    };
    return absl::c_all_of(program_.next, is_result) &&
           absl::c_all_of(program_.writes,
                          [&](const RowWrite& write) { return is_result(write.value); });
  }

  // Leaves out what neither a step reads of these values nor is a result, as the flows of arrays
  // that are read.
  template <typename T>
  void DropUnread(Kind kind, std::vector<T>* values) {
    std::vector<bool> is_read(values->size());
    const auto for_each_use = [&](const auto& function) {
      const auto visit = [&](RowValue& value) {
        if (value.kind == kind) function(value.index);
      };
      for (RowStep& step : program_.steps) absl::c_for_each(step.operands, visit);
      for (RowWrite& write : program_.writes) visit(write.value);
      absl::c_for_each(program_.next, visit);
    };
    for_each_use([&](size_t& index) { is_read[index] = true; });
    std::vector<T> kept;
    std::vector<size_t> numbers(values->size());
    for (size_t i = 0; i < values->size(); ++i) {
      numbers[i] = kept.size();
      if (is_read[i]) kept.push_back(std::move((*values)[i]));
    }
    for_each_use([&](size_t& index) { index = numbers[index]; });
    *values = std::move(kept);
  }

  const StepOps& ops_;
  const StepOp& op_;
  const LoopBody& loop_;
  const KeptLists& lists_;
  Integers integers_;
  RowProgram program_;
  absl::flat_hash_map<Output, RowValue> values_;  // of a state: the number of its variable
  absl::flat_hash_map<Output, RowArray> handles_;
  absl::flat_hash_map<Output, int> flows_;           // behind a write: the variables that they are
  absl::flat_hash_map<Output, size_t> loose_flows_;  // behind a write that begins outside
  absl::flat_hash_map<Output, int> lists_as_fed_;    // the variables that they are
  absl::flat_hash_map<int, Output> changed_lists_;   // by variables, what they are then
  std::vector<Access> reads_;                        // as program_.reads
  std::vector<Access> writes_;                       // as program_.writes
  std::vector<Counted> numbers_;                     // as program_.number_writes
  std::vector<const KeptList*> shortened_;
  int variables_read_ = 0;
};

}  // namespace

std::string GradientArray(const std::string& gradient, const Node& node) {
  // Without "@", so that it tells where each one begins.
  const std::string source = absl::BytesToHexString(node.Attr<std::string>("source").value_or(""));
  return absl::StrCat(gradient, "@", source);
}

std::optional<RowProgram> FindRowProgram(const StepOps& ops, const StepOp& op, const LoopBody& loop,
                                         const KeptLists& lists) {
  return Translator(ops, op, loop, lists).Translate();
}

}  // namespace millstream
