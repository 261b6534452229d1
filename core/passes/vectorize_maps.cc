// vectorize_maps: makes one operation of a loop over the rows of tensors whose body is elementwise
// operations on floats, as of tf.map_fn, tf.scan and tf.foldl, and of the loop that computes its
// gradient. Rows that do not depend on each other are computed by a fused elementwise operation on
// the whole tensors; others by _ScanRows, row after row. The arrays that held the rows disappear,
// and so do the lists that a loop keeps for its gradient. Each element is computed by the same
// operations in the same order as before, so no bit changes, except that an operation on two NaNs
// may return the other one.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/graph/inner_graph.h"
#include "core/passes/array_family.h"
#include "core/passes/pass.h"
#include "core/passes/row_arrays.h"
#include "core/passes/row_lists.h"
#include "core/passes/row_program.h"
#include "core/passes/row_shapes.h"

namespace millstream {
namespace {

constexpr char kMap[] = "_FusedElementwise";
constexpr char kScan[] = "_ScanRows";
constexpr char kRead[] = "ReadVariableOp";

class RowLoop {
 public:
  RowLoop(StepOps* ops, int place, const LoopBody& loop, const RowProgram& program,
          KeptLists* lists)
      : ops_(*ops),
        place_(place),
        loop_(loop),
        program_(program),
        lists_(*lists),
        arrays_(*ops, place, loop, program, *lists) {}

  Status Rewrite() {
    if (op().must_run || !arrays_.Find()) return absl::OkStatus();
    const std::optional<PartialShape> row = FindRowShape(ops_, place_, program_, arrays_);
    if (!row.has_value()) return absl::OkStatus();
    row_ = *row;
    if (!ListsFit() || !ExitsFit()) return absl::OkStatus();
    return program_.states.empty() ? RewriteMap() : RewriteScan();
  }
  // True if operations stand behind those that read their outputs.
  bool adds_reads() const { return adds_reads_; }

 private:
  // A write before the loop to the array with this number.
  struct Given {
    size_t array;
    int write;
  };

  const StepOp& op() const { return ops_.op(place_); }
  const Output& InitialOf(int state) const { return op().inputs[static_cast<size_t>(state)]; }

  // True if lists that become longer are empty before the loop, and what is added to them can be
  // kept.
  bool ListsFit() const {
    const auto fits = [&](int variable, DataType dtype, const PartialShape& element) {
      return lists_.IsEmptyListFor(InitialOf(variable), dtype, element) && lists_.CanKeep(dtype);
    };
    return absl::c_all_of(program_.writes,
                          [&](const RowWrite& write) {
                            return !write.is_list || fits(write.variable, DataType::kFloat, row_);
                          }) &&
           absl::c_all_of(program_.number_writes, [&](const NumberWrite& write) {
             return fits(write.variable, write.dtype, PartialShape::Scalar());
           });
  }

  // True if what leaves the loop is known without it, or computed by the operation.
  bool ExitsFit() const {
    return absl::c_all_of(op().outputs, [&](const Output& output) {
      const RowProgram::Role role = RoleOfExit(output);
      if (role == RowProgram::Role::kState) {
        // The operation gives each one once.
        return absl::c_count(loop_.exits, arrays_.VariableOf(output)) == 1;
      }
      if (ops_.IsVisible(output)) return false;
      switch (role) {
        case RowProgram::Role::kFlow: return IsOnlyFlow(ops_, output);
        case RowProgram::Role::kShorter: return ops_.Readers(output).empty();
        default: return true;
      }
    });
  }
  RowProgram::Role RoleOfExit(const Output& output) const {
    return program_.roles[static_cast<size_t>(arrays_.VariableOf(output))];
  }

  // ---- The operation ----

  size_t NumInputs() const {
    return program_.reads.size() + program_.states.size() + program_.others.size() +
           program_.constants.size();
  }

  // In the operation's attributes, values are numbered so: rows, states, others, constants, further
  // inputs, what the steps give.
  int64_t NumberOf(const RowValue& value, size_t num_inputs) const {
    const size_t first_other = program_.reads.size() + program_.states.size();
    size_t first = 0;
    switch (value.kind) {
      case RowValue::Kind::kRow: break;
      case RowValue::Kind::kState: first = program_.reads.size(); break;
      case RowValue::Kind::kOther: first = first_other; break;
      case RowValue::Kind::kConstant: first = first_other + program_.others.size(); break;
      case RowValue::Kind::kStep: first = num_inputs; break;
    }
    return static_cast<int64_t>(first + value.index);
  }

  AttrMap ProgramAttrs(size_t num_inputs) const {
    std::vector<std::string> steps;
    std::vector<int64_t> operands;
    std::vector<int64_t> results;
    for (const RowStep& step : program_.steps) {
      steps.push_back(step.op);
      operands.push_back(NumberOf(step.operands[0], num_inputs));
      operands.push_back(step.operands.size() == 2 ? NumberOf(step.operands[1], num_inputs) : -1);
    }
    for (const RowWrite& write : program_.writes) {
      results.push_back(NumberOf(write.value, num_inputs));
    }
    for (const RowValue& next : program_.next) results.push_back(NumberOf(next, num_inputs));
    AttrMap attrs;
    SetAttr(&attrs, "N", static_cast<int64_t>(num_inputs));
    SetAttr(&attrs, "M", static_cast<int64_t>(results.size()));
    SetAttr(&attrs, "T", DataType::kFloat);
    SetAttr(&attrs, "steps", std::move(steps));
    SetAttr(&attrs, "operands", std::move(operands));
    SetAttr(&attrs, "results", std::move(results));
    SetAttr(&attrs, "compile", ops_.machine_code_allowed());
    return attrs;
  }

  // If all rows are read and written, and each result follows from rows of one number.
  Status RewriteMap() {
    const auto is_read_whole = [&](const ReadArray& array) {
      return ops_.KnownShape(array.rows)->dim(0) == program_.iterations;
    };
    const auto is_written_whole = [](const WrittenArray& array) {
      return array.before.empty() && array.after < 0;
    };
    const auto is_same_row = [&](const auto& access) {
      return access.rows == program_.reads[0].rows;
    };
    const bool is_map = !arrays_.reads().empty() && !arrays_.writes().empty() &&
                        absl::c_all_of(program_.reads, is_same_row) &&
                        absl::c_all_of(program_.writes, is_same_row) &&
                        absl::c_all_of(arrays_.reads(), is_read_whole) &&
                        absl::c_all_of(arrays_.writes(), is_written_whole);
    return is_map ? Finish(kMap, ProgramAttrs(NumInputs()), {}) : absl::OkStatus();
  }

  // The rows of an array that the operation gives, and how many rows come before them: a row that
  // is written behind the loop is put before or behind them then.
  static int64_t ComputedRows(const WrittenArray& array) {
    return array.after < 0 ? array.size : array.size - 1;
  }
  int64_t RowsBefore(const WrittenArray& array) const {
    return array.after >= 0 && *arrays_.RowOf(array.after) == 0 ? 1 : 0;
  }

  Status RewriteScan() {
    std::vector<Given> given;
    std::vector<int64_t> places;
    std::vector<int64_t> sizes;
    for (size_t k = 0; k < arrays_.writes().size(); ++k) {
      const WrittenArray& array = arrays_.writes()[k];
      sizes.push_back(ComputedRows(array));
      for (const int i : array.before) {
        given.push_back({k, i});
        places.push_back(static_cast<int64_t>(k));
        places.push_back(*arrays_.RowOf(i) - RowsBefore(array));
      }
    }
    std::vector<int64_t> firsts;
    std::vector<int64_t> strides;
    const auto add = [&](const Progression& rows) {
      firsts.push_back(rows.first);
      strides.push_back(rows.step);
    };
    for (const RowRead& read : program_.reads) add(read.rows);
    for (size_t k = 0; k < program_.writes.size(); ++k) {
      const Progression& rows = program_.writes[k].rows;
      add({rows.first - RowsBefore(arrays_.writes()[k]), rows.step});
    }
    AttrMap attrs = ProgramAttrs(NumInputs() + given.size());
    SetAttr(&attrs, "num_rows", static_cast<int64_t>(program_.reads.size()));
    SetAttr(&attrs, "num_states", static_cast<int64_t>(program_.states.size()));
    SetAttr(&attrs, "firsts", std::move(firsts));
    SetAttr(&attrs, "strides", std::move(strides));
    SetAttr(&attrs, "iterations", program_.iterations);
    SetAttr(&attrs, "sizes", std::move(sizes));
    SetAttr(&attrs, "places", std::move(places));
    return Finish(kScan, std::move(attrs), given);
  }

  Status Finish(const char* op_name, AttrMap attrs, const std::vector<Given>& given) {
    if (program_.steps.empty() || !ops_.HasKernel(op_name, attrs) || !CanJoin() || !CanRead()) {
      return absl::OkStatus();
    }
    for (const ReadArray& array : arrays_.reads()) {
      for (const int i : array.others) MS_RETURN_IF_ERROR(SliceInsteadOf(i, array));
    }
    const StepOp loop = op();
    MS_ASSIGN_OR_RETURN(std::vector<Output> inputs, Inputs(given));
    MS_ASSIGN_OR_RETURN(const std::vector<Output> outputs, Outputs());
    MS_RETURN_IF_ERROR(PassKnownOn());
    MS_RETURN_IF_ERROR(ops_.Replace(place_, {}, op_name, std::move(attrs), *loop.node,
                                    std::move(inputs), outputs));
    for (size_t k = 0; k < arrays_.writes().size(); ++k) {
      const WrittenArray& array = arrays_.writes()[k];
      if (array.gather < 0) continue;
      MS_RETURN_IF_ERROR(array.after < 0 ? PassOn(array.gather, outputs[k])
                                         : Join(array, outputs[k]));
    }
    KeepLists(loop, outputs);
    // Sums of flows go before the writes that they wait for.
    for (const Output& input : loop.inputs) RemoveUnread(input);
    for (const ReadArray& array : arrays_.reads()) RemoveUnreadArrays(array.made, &ops_);
    for (const WrittenArray& array : arrays_.writes()) RemoveUnreadArrays(array.made, &ops_);
    return absl::OkStatus();
  }

  // What reads the last value of a counter reads the number. Nothing is left to wait for flows.
  Status PassKnownOn() {
    for (const Output& output : std::vector<Output>(op().outputs)) {
      const int variable = arrays_.VariableOf(output);
      const RowProgram::Role role = RoleOfExit(output);
      if (role == RowProgram::Role::kCounter) {
        const int64_t last = program_.counters.at(variable).At(program_.iterations);
        MS_ASSIGN_OR_RETURN(const Output number,
                            ops_.NewConstant(IndexTensor(output.dtype(), last)));
        ops_.Redirect(output, number);
      } else if (role == RowProgram::Role::kFlow) {
        MS_RETURN_IF_ERROR(DropFlow(output));
      }
    }
    return absl::OkStatus();
  }

  Status DropFlow(const Output& flow) {
    if (ops_.Readers(flow).empty()) return absl::OkStatus();
    MS_ASSIGN_OR_RETURN(const Output nothing, ops_.NewConstant(Tensor::Scalar<float>(0)));
    ops_.Redirect(flow, nothing);
    return absl::OkStatus();
  }

  void KeepLists(const StepOp& loop, const std::vector<Output>& outputs) {
    const auto keep = [&](int variable, KeptList list) {
      list.count = program_.iterations;
      list.like = loop.node;
      for (size_t j = 0; j < loop.outputs.size(); ++j) {
        if (loop_.exits[j] == variable) lists_.Add(loop.outputs[j], list);
      }
    };
    for (size_t k = 0; k < program_.writes.size(); ++k) {
      if (!program_.writes[k].is_list) continue;
      KeptList list;
      list.element.assign(row_.dims().begin(), row_.dims().end());
      list.rows = outputs[k];
      keep(program_.writes[k].variable, list);
    }
    for (const NumberWrite& write : program_.number_writes) {
      KeptList list;
      list.dtype = write.dtype;
      list.numbers = write.numbers;
      keep(write.variable, list);
    }
  }

  // A row that is read outside of the loop becomes a slice.
  Status SliceInsteadOf(int i, const ReadArray& array) {
    const StepOp read = ops_.op(i);
    const int32_t row = static_cast<int32_t>(*arrays_.RowOf(i));
    std::vector<Output> inputs = {array.rows};
    for (const int32_t number : {row, row + 1, 1}) {
      MS_ASSIGN_OR_RETURN(const Output input, ops_.NewConstant(Tensor::Vector<int32_t>({number})));
      inputs.push_back(input);
    }
    AttrMap attrs;
    SetAttr(&attrs, "T", DataType::kFloat);
    SetAttr(&attrs, "Index", DataType::kInt32);
    SetAttr(&attrs, "shrink_axis_mask", int64_t{1});
    for (const char* mask : {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask"}) {
      SetAttr(&attrs, mask, int64_t{0});
    }
    Output slice = read.outputs[0];
    if (!ops_.IsVisible(slice)) {
      MS_ASSIGN_OR_RETURN(slice, ops_.NewValue(DataType::kFloat, row_));
    }
    MS_RETURN_IF_ERROR(ops_.Replace(i, {}, "StridedSlice", std::move(attrs), *read.node,
                                    std::move(inputs), {slice}));
    if (slice != read.outputs[0]) ops_.Redirect(read.outputs[0], slice);
    return absl::OkStatus();
  }

  // The value of a variable, which `read` reads in the loop's first iteration. The operations that
  // give it stand behind all others for now.
  StatusOr<Output> ReadBefore(const Node& read) {
    adds_reads_ = true;
    MS_ASSIGN_OR_RETURN(const Output handle, ops_.AddHandle(*read.input(0).node));
    MS_ASSIGN_OR_RETURN(const Output value, ops_.NewValue(DataType::kFloat, read.facts(0).shape));
    MS_RETURN_IF_ERROR(ops_.Add(kRead, ReadingAttrs(), read, {handle}, {value}));
    return value;
  }
  static AttrMap ReadingAttrs() {
    AttrMap attrs;
    SetAttr(&attrs, "dtype", DataType::kFloat);
    return attrs;
  }
  bool CanRead() const {
    const auto is_read = [](const RowOther& other) { return other.read != nullptr; };
    return absl::c_none_of(program_.others, is_read) || ops_.HasKernel(kRead, ReadingAttrs());
  }

  StatusOr<std::vector<Output>> Inputs(const std::vector<Given>& given) {
    std::vector<Output> inputs;
    for (const ReadArray& array : arrays_.reads()) inputs.push_back(array.rows);
    for (const int state : program_.states) inputs.push_back(InitialOf(state));
    for (const RowOther& other : program_.others) {
      if (other.read == nullptr) {
        inputs.push_back(op().inputs[other.input]);
        continue;
      }
      MS_ASSIGN_OR_RETURN(const Output value, ReadBefore(*other.read));
      inputs.push_back(value);
    }
    for (const Tensor& constant : program_.constants) {
      MS_ASSIGN_OR_RETURN(const Output input, ops_.NewConstant(constant));
      inputs.push_back(input);
    }
    for (const Given& row : given) inputs.push_back(ops_.op(row.write).inputs[2]);
    return inputs;
  }

  StatusOr<std::vector<Output>> Outputs() {
    std::vector<Output> outputs;
    for (const WrittenArray& array : arrays_.writes()) {
      MS_ASSIGN_OR_RETURN(const Output rows,
                          ops_.NewValue(DataType::kFloat, Stacked(ComputedRows(array), row_)));
      outputs.push_back(rows);
    }
    for (const int state : program_.states) {
      const auto exit = absl::c_find(loop_.exits, state);
      if (exit != loop_.exits.end()) {
        outputs.push_back(op().outputs[static_cast<size_t>(exit - loop_.exits.begin())]);
      } else {
        MS_ASSIGN_OR_RETURN(const Output unread, ops_.NewValue(DataType::kFloat, row_));
        outputs.push_back(unread);
      }
    }
    return outputs;
  }

  // What was gathered is `rows` now.
  Status PassOn(int gather, const Output& rows) {
    const StepOp gathering = ops_.op(gather);
    if (ops_.Redirect(gathering.outputs[0], rows)) {
      ops_.Remove(gather);
      return absl::OkStatus();
    }
    AttrMap attrs;
    SetAttr(&attrs, "T", DataType::kFloat);
    return ops_.Replace(gather, {}, "Identity", std::move(attrs), *gathering.node, {rows},
                        gathering.outputs);
  }

  static AttrMap PackAttrs() {
    AttrMap attrs;
    SetAttr(&attrs, "N", int64_t{1});
    SetAttr(&attrs, "T", DataType::kFloat);
    SetAttr(&attrs, "axis", int64_t{0});
    return attrs;
  }
  static AttrMap ConcatAttrs() {
    AttrMap attrs;
    SetAttr(&attrs, "N", int64_t{2});
    SetAttr(&attrs, "T", DataType::kFloat);
    SetAttr(&attrs, "Tidx", DataType::kInt32);
    return attrs;
  }

  bool CanJoin() const {
    const auto is_joined = [](const WrittenArray& array) { return array.after >= 0; };
    return absl::c_none_of(arrays_.writes(), is_joined) ||
           (ops_.HasKernel("Pack", PackAttrs()) && ops_.HasKernel("ConcatV2", ConcatAttrs()));
  }

  // What was gathered is `rows` now, and the row that is written behind the loop.
  Status Join(const WrittenArray& array, const Output& rows) {
    const bool is_first = RowsBefore(array) > 0;
    const StepOp write = ops_.op(array.after);
    MS_RETURN_IF_ERROR(DropFlow(write.outputs[0]));
    MS_ASSIGN_OR_RETURN(const Output row, ops_.NewValue(DataType::kFloat, Stacked(1, row_)));
    MS_RETURN_IF_ERROR(
        ops_.Replace(array.after, {}, "Pack", PackAttrs(), *write.node, {write.inputs[2]}, {row}));
    const StepOp gathering = ops_.op(array.gather);
    MS_ASSIGN_OR_RETURN(const Output axis, ops_.NewConstant(Tensor::Scalar<int32_t>(0)));
    return ops_.Replace(array.gather, {}, "ConcatV2", ConcatAttrs(), *gathering.node,
                        {is_first ? row : rows, is_first ? rows : row, axis}, gathering.outputs);
  }

  // ---- What is left of the arrays ----

  void RemoveUnread(const Output& value) {
    const int producer = ops_.Producer(value);
    if (producer >= 0) ops_.RemoveUnread(producer);
  }

  StepOps& ops_;
  const int place_;
  const LoopBody& loop_;
  const RowProgram& program_;
  KeptLists& lists_;
  RowArrays arrays_;
  PartialShape row_;
  bool adds_reads_ = false;
};

Status VectorizeMaps(StepOps* ops) {
  KeptLists lists(ops);
  bool adds_reads = false;
  for (int i = 0; i < ops->size(); ++i) {
    if (ops->IsGone(i) || ops->op(i).type() != "_Loop") continue;
    const auto found = ops->program().loops.find(ops->op(i).node);
    if (found == ops->program().loops.end()) continue;
    const std::optional<RowProgram> program =
        FindRowProgram(*ops, ops->op(i), *found->second, lists);
    if (!program.has_value()) continue;
    RowLoop rows(ops, i, *found->second, *program, &lists);
    MS_RETURN_IF_ERROR(rows.Rewrite());
    adds_reads |= rows.adds_reads();
  }
  MS_RETURN_IF_ERROR(lists.MakeThoseRead());
  if (adds_reads) ops->Reorder();
  return absl::OkStatus();
}

// After compile_elementwise, which says whether kernels may be machine code.
MILLSTREAM_PASS("vectorize_maps", 29, VectorizeMaps);

}  // namespace
}  // namespace millstream
