// vectorize_maps: makes one operation of a loop over the rows of tensors whose body is elementwise
// operations on floats, as of tf.map_fn, tf.scan and tf.foldl. Rows that do not depend on each
// other are computed by a fused elementwise operation on the whole tensors; others by _ScanRows,
// row after row. The arrays that held the rows disappear. Each element is computed by the same
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
#include "core/passes/pass.h"
#include "core/passes/row_arrays.h"
#include "core/passes/row_program.h"

namespace millstream {
namespace {

constexpr char kMap[] = "_FusedElementwise";
constexpr char kScan[] = "_ScanRows";

// The shape of a tensor with so many rows.
PartialShape Stacked(int64_t count, const PartialShape& row) {
  PartialShape rows({count});
  for (const int64_t dim : row.dims()) rows.AddDim(dim);
  return rows;
}

// True if a value of this shape is repeated along a row: it is the last dimensions of the row, or
// one element.
bool GoesAlong(const PartialShape& value, const PartialShape& row) {
  if (value.rank() > row.rank()) return false;
  if (value.num_elements() == 1) return true;
  int first = 0;
  while (first < value.rank() && value.dim(first) == 1) ++first;
  for (int i = 1; i <= value.rank() - first; ++i) {
    if (value.dim(-i) != row.dim(-i)) return false;
  }
  return true;
}

class RowLoop {
 public:
  RowLoop(StepOps* ops, int place, const LoopBody& loop, const RowProgram& program)
      : ops_(*ops),
        place_(place),
        loop_(loop),
        program_(program),
        arrays_(*ops, place, loop, program) {}

  Status Rewrite() {
    if (op().must_run || !arrays_.Find() || !FindRow() || !ShapesFit() || !ExitsFit()) {
      return absl::OkStatus();
    }
    return program_.states.empty() ? RewriteMap() : RewriteScan();
  }

 private:
  // A write before the loop to the array with this number.
  struct Given {
    size_t array;
    int write;
  };

  const StepOp& op() const { return ops_.op(place_); }
  const Output& InitialOf(int state) const { return op().inputs[static_cast<size_t>(state)]; }

  // ---- Shapes ----

  bool FindRow() {
    if (!arrays_.reads().empty()) {
      const PartialShape* const rows = ops_.KnownShape(arrays_.RowsOf(arrays_.reads()[0]));
      row_ = PartialShape(rows->dims().subspan(1));
    } else if (!program_.states.empty()) {
      const PartialShape* const initial = ops_.KnownShape(InitialOf(program_.states[0]));
      if (initial == nullptr) return false;
      row_ = *initial;
    }
    return row_.known_rank() && row_.num_elements() > 0;
  }

  // True if a value in front of the loop has the shape of a row.
  bool IsLikeRow(const Output& value) const {
    const int producer = ops_.Producer(value);
    const bool is_row = absl::c_any_of(arrays_.reads(), [&](const ReadArray& array) {
      return producer >= 0 && absl::c_linear_search(array.others, producer);
    });
    const PartialShape* const shape = ops_.KnownShape(value);
    return is_row || (shape != nullptr && *shape == row_);
  }

  // True if the operation takes or gives elements of this shape.
  bool Allows(int i) const {
    const StatusOr<PartialShape> shape = ops_.op(i).node->Attr<PartialShape>("element_shape");
    return shape.ok() && shape->IsCompatibleWith(row_);
  }

  // All rows and states have one shape, and other values go along.
  bool ShapesFit() const {
    const auto read_fits = [&](const ReadArray& array) {
      const PartialShape& rows = *ops_.KnownShape(arrays_.RowsOf(array));
      return rows == Stacked(rows.dim(0), row_) && Allows(array.made);
    };
    const auto written_fits = [&](const WrittenArray& array) {
      const PartialShape* const known = ops_.KnownShape(ops_.op(array.gather).outputs[0]);
      const bool is_known_as = known == nullptr || *known == Stacked(array.size, row_);
      return is_known_as && Allows(array.made) && Allows(array.gather) &&
             absl::c_all_of(array.others, [&](int i) { return IsLikeRow(ops_.op(i).inputs[2]); });
    };
    const auto other_fits = [&](size_t input) {
      const PartialShape* const shape = ops_.KnownShape(op().inputs[input]);
      return shape != nullptr && GoesAlong(*shape, row_);
    };
    return absl::c_all_of(arrays_.reads(), read_fits) &&
           absl::c_all_of(arrays_.writes(), written_fits) &&
           absl::c_all_of(program_.states,
                          [&](int state) { return IsLikeRow(InitialOf(state)); }) &&
           absl::c_all_of(program_.others, other_fits) &&
           absl::c_all_of(program_.constants, [&](const Tensor& constant) {
             return GoesAlong(constant.shape(), row_);
           });
  }

  // True if of what leaves the loop only states are read, and flows of what is gathered.
  bool ExitsFit() const {
    const auto is_gathering = [&](int reader) {
      return absl::c_any_of(arrays_.writes(),
                            [&](const WrittenArray& array) { return array.gather == reader; });
    };
    return absl::c_all_of(op().outputs, [&](const Output& output) {
      switch (program_.roles[static_cast<size_t>(arrays_.VariableOf(output))]) {
        case RowProgram::Role::kState: return true;
        case RowProgram::Role::kFlow:
          return !ops_.IsVisible(output) && absl::c_all_of(ops_.Readers(output), is_gathering);
        case RowProgram::Role::kCounter: break;
      }
      return !ops_.IsVisible(output) && ops_.Readers(output).empty();
    });
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
      steps.push_back(step.node->op().name);
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
      return ops_.KnownShape(arrays_.RowsOf(array))->dim(0) == program_.iterations;
    };
    const auto is_written_whole = [](const WrittenArray& array) { return array.others.empty(); };
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

  Status RewriteScan() {
    std::vector<Given> given;
    std::vector<int64_t> places;
    std::vector<int64_t> sizes;
    for (size_t k = 0; k < arrays_.writes().size(); ++k) {
      sizes.push_back(arrays_.writes()[k].size);
      for (const int i : arrays_.writes()[k].others) {
        given.push_back({k, i});
        places.push_back(static_cast<int64_t>(k));
        places.push_back(*arrays_.RowOf(i));
      }
    }
    std::vector<int64_t> firsts;
    std::vector<int64_t> strides;
    const auto add = [&](const Progression& rows) {
      firsts.push_back(rows.first);
      strides.push_back(rows.step);
    };
    for (const RowRead& read : program_.reads) add(read.rows);
    for (const RowWrite& write : program_.writes) add(write.rows);
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
    if (program_.steps.empty() || !ops_.HasKernel(op_name, attrs)) return absl::OkStatus();
    for (const ReadArray& array : arrays_.reads()) {
      for (const int i : array.others) MS_RETURN_IF_ERROR(SliceInsteadOf(i, array));
    }
    const StepOp loop = op();
    MS_ASSIGN_OR_RETURN(std::vector<Output> inputs, Inputs(given));
    MS_ASSIGN_OR_RETURN(const std::vector<Output> outputs, Outputs());
    MS_RETURN_IF_ERROR(ops_.Replace(place_, {}, op_name, std::move(attrs), *loop.node,
                                    std::move(inputs), outputs));
    for (size_t k = 0; k < arrays_.writes().size(); ++k) {
      MS_RETURN_IF_ERROR(PassOn(arrays_.writes()[k].gather, outputs[k]));
    }
    RemoveArrays();
    for (const Output& input : loop.inputs) RemoveUnread(input);
    return absl::OkStatus();
  }

  // A row that is read outside of the loop becomes a slice.
  Status SliceInsteadOf(int i, const ReadArray& array) {
    const StepOp read = ops_.op(i);
    const int32_t row = static_cast<int32_t>(*arrays_.RowOf(i));
    std::vector<Output> inputs = {arrays_.RowsOf(array)};
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

  StatusOr<std::vector<Output>> Inputs(const std::vector<Given>& given) {
    std::vector<Output> inputs;
    for (const ReadArray& array : arrays_.reads()) inputs.push_back(arrays_.RowsOf(array));
    for (const int state : program_.states) inputs.push_back(InitialOf(state));
    for (const size_t input : program_.others) inputs.push_back(op().inputs[input]);
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
                          ops_.NewValue(DataType::kFloat, Stacked(array.size, row_)));
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

  // ---- What is left of the arrays ----

  void RemoveUnread(const Output& value) {
    const int producer = ops_.Producer(value);
    if (producer >= 0) ops_.RemoveUnread(producer);
  }

  // Removes an operation that concerns an array alone, if nothing reads its outputs.
  void RemoveFromArray(int i) {
    const auto is_read = [&](const Output& value) { return !ops_.Readers(value).empty(); };
    if (!arrays_.MayRemove(i) || absl::c_any_of(ops_.op(i).outputs, is_read)) return;
    const std::vector<Output> inputs = ops_.op(i).inputs;
    ops_.Remove(i);
    for (const Output& input : inputs) RemoveUnread(input);
  }

  void RemoveArrays() {
    for (const ReadArray& array : arrays_.reads()) RemoveFromArray(array.scatter);
    for (const WrittenArray& array : arrays_.writes()) {
      // A write reads the flow of the one before it.
      std::vector<int> writes = array.others;
      std::sort(writes.rbegin(), writes.rend());
      for (const int write : writes) RemoveFromArray(write);
    }
    for (const ReadArray& array : arrays_.reads()) RemoveFromArray(array.made);
    for (const WrittenArray& array : arrays_.writes()) RemoveFromArray(array.made);
  }

  StepOps& ops_;
  const int place_;
  const LoopBody& loop_;
  const RowProgram& program_;
  RowArrays arrays_;
  PartialShape row_;
};

Status VectorizeMaps(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (ops->IsGone(i) || ops->op(i).type() != "_Loop") continue;
    const auto found = ops->program().loops.find(ops->op(i).node);
    if (found == ops->program().loops.end()) continue;
    const std::optional<RowProgram> program = FindRowProgram(*ops, ops->op(i), *found->second);
    if (!program.has_value()) continue;
    MS_RETURN_IF_ERROR(RowLoop(ops, i, *found->second, *program).Rewrite());
  }
  return absl::OkStatus();
}

// After compile_elementwise, which says whether kernels may be machine code.
MILLSTREAM_PASS("vectorize_maps", 29, VectorizeMaps);

}  // namespace
}  // namespace millstream
