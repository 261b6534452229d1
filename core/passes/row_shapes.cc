#include "core/passes/row_shapes.h"

#include "absl/algorithm/container.h"

namespace millstream {
namespace {

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

class RowShapes {
 public:
  // REQUIRES: what is given outlives this object.
  RowShapes(const StepOps& ops, int place, const RowProgram& program, const RowArrays& arrays)
      : ops_(ops), place_(place), program_(program), arrays_(arrays) {}

  std::optional<PartialShape> Find() {
    return FindRow() && ShapesFit() ? std::make_optional(row_) : std::nullopt;
  }

 private:
  const StepOp& op() const { return ops_.op(place_); }
  const Output& InitialOf(int state) const { return op().inputs[static_cast<size_t>(state)]; }

  bool FindRow() {
    if (!arrays_.reads().empty()) {
      const PartialShape* const rows = ops_.KnownShape(arrays_.reads()[0].rows);
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

  // True if the operation takes or gives elements of this shape; also without an operation.
  bool Allows(int i) const {
    if (i < 0) return true;
    const StatusOr<PartialShape> shape = ops_.op(i).node->Attr<PartialShape>("element_shape");
    return shape.ok() && shape->IsCompatibleWith(row_);
  }

  // All rows and states have one shape, and other values go along.
  bool ShapesFit() const {
    const auto read_fits = [&](const ReadArray& array) {
      const PartialShape& rows = *ops_.KnownShape(array.rows);
      return rows == Stacked(rows.dim(0), row_) && Allows(array.made);
    };
    const auto writes_row = [&](int i) { return IsLikeRow(ops_.op(i).inputs[2]); };
    const auto written_fits = [&](const WrittenArray& array) {
      if (array.gather < 0) return true;
      const PartialShape* const known = ops_.KnownShape(ops_.op(array.gather).outputs[0]);
      const bool is_known_as = known == nullptr || *known == Stacked(array.size, row_);
      return is_known_as && Allows(array.made) && Allows(array.gather) &&
             absl::c_all_of(array.before, writes_row) &&
             (array.after < 0 || writes_row(array.after));
    };
    const auto other_fits = [&](const RowOther& other) {
      const PartialShape* const shape = ShapeOf(other);
      return shape != nullptr && GoesAlong(*shape, row_);
    };
    const auto next_fits = [&](const RowValue& next) { return IsResult(next); };
    return absl::c_all_of(arrays_.reads(), read_fits) &&
           absl::c_all_of(arrays_.writes(), written_fits) &&
           absl::c_all_of(program_.states,
                          [&](int state) { return IsLikeRow(InitialOf(state)); }) &&
           absl::c_all_of(program_.others, other_fits) &&
           absl::c_all_of(
               program_.constants,
               [&](const Tensor& constant) { return GoesAlong(constant.shape(), row_); }) &&
           absl::c_all_of(program_.next, next_fits) &&
           absl::c_all_of(program_.writes,
                          [&](const RowWrite& write) { return IsResult(write.value); });
  }
  // A result of the loop has the shape of a row.
  bool IsResult(const RowValue& value) const {
    switch (value.kind) {
      case RowValue::Kind::kOther: return *ShapeOf(program_.others[value.index]) == row_;
      case RowValue::Kind::kConstant: return program_.constants[value.index].shape() == row_;
      default: return true;
    }
  }

  const PartialShape* ShapeOf(const RowOther& other) const {
    return other.read != nullptr ? &other.read->facts(0).shape
                                 : ops_.KnownShape(op().inputs[other.input]);
  }

  const StepOps& ops_;
  const int place_;
  const RowProgram& program_;
  const RowArrays& arrays_;
  PartialShape row_;
};

}  // namespace

PartialShape Stacked(int64_t count, const PartialShape& row) {
  PartialShape rows({count});
  for (const int64_t dim : row.dims()) rows.AddDim(dim);
  return rows;
}

std::optional<PartialShape> FindRowShape(const StepOps& ops, int place, const RowProgram& program,
                                         const RowArrays& arrays) {
  return RowShapes(ops, place, program, arrays).Find();
}

}  // namespace millstream
