// Ragged tensors in elements of variants, as a whole or row by row.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"
#include "core/structural/tensor_rows.h"
#include "framework/opaque_cell.h"

namespace millstream {
namespace {

// A ragged tensor, or a tensor where there are no splits. Nobody changes it.
class RaggedCell final : public OpaqueObject {
 public:
  RaggedCell(std::vector<Tensor> splits, Tensor values)
      : splits_(std::move(splits)), values_(std::move(values)) {}
  const std::vector<Tensor>& splits() const { return splits_; }  // outermost first
  const Tensor& values() const { return values_; }
  std::string DebugString() const override {
    return absl::StrCat("ragged tensor with ", splits_.size(), " splits, values ",
                        DataTypeName(values_.dtype()), values_.shape().ToString());
  }

 private:
  std::vector<Tensor> splits_;
  Tensor values_;
};

int64_t SplitAt(const Tensor& splits, int64_t i) {
  return splits.dtype() == DataType::kInt32 ? splits.data<int32_t>()[i] : splits.data<int64_t>()[i];
}

void SetSplit(const Tensor& splits, int64_t i, int64_t value) {
  if (splits.dtype() == DataType::kInt32) {
    splits.data<int32_t>()[i] = static_cast<int32_t>(value);
  } else {
    splits.data<int64_t>()[i] = value;
  }
}

// Splits must begin with 0, not decrease, and end at the number of rows that are split.
Status CheckSplits(const Tensor& splits, int64_t rows) {
  const int64_t size = splits.num_elements();
  const char* wrong = nullptr;
  if (splits.shape().rank() != 1 || size == 0) {
    wrong = "must be a vector of one number or more";
  } else if (SplitAt(splits, 0) != 0) {
    wrong = "must begin with 0";
  } else if (SplitAt(splits, size - 1) != rows) {
    wrong = "must end at the number of rows that they split";
  }
  for (int64_t i = 1; i < size && wrong == nullptr; ++i) {
    if (SplitAt(splits, i) < SplitAt(splits, i - 1)) wrong = "must not decrease";
  }
  if (wrong == nullptr) return absl::OkStatus();
  return errors::InvalidArgument("argument 'rt_nested_splits' ", wrong);
}

// The elements of `from` become those of `to` from `first` on.
void CopyElements(const Tensor& from, const Tensor& to, int64_t first) {
  const int64_t count = from.num_elements();
  if (from.dtype() == DataType::kString) {
    std::copy_n(from.data<std::string>(), count, to.data<std::string>() + first);
  } else if (count > 0) {
    std::memcpy(
        static_cast<char*>(to.raw()) + static_cast<size_t>(first) * DataTypeSize(to.dtype()),
        from.raw(), from.bytes());
  }
}

// ---- To variants ----

StatusOr<std::vector<Tensor>> SplitsInput(const StructuralFrame& frame) {
  std::vector<Tensor> splits;
  for (uint32_t i = 0; i + 1 < frame.num_inputs(); ++i) {
    MS_ASSIGN_OR_RETURN(Tensor tensor, frame.InputTensor(i));
    splits.push_back(std::move(tensor));
  }
  const Shape values = frame.input_shape(frame.num_inputs() - 1);
  if (values.rank() == 0) {
    return errors::InvalidArgument("argument 'rt_dense_values' must not be a scalar");
  }
  for (size_t i = splits.size(); i-- > 0;) {
    const bool is_last = i + 1 == splits.size();
    const int64_t rows = is_last ? values.dim(0) : splits[i + 1].num_elements() - 1;
    MS_RETURN_IF_ERROR(CheckSplits(splits[i], rows));
  }
  return splits;
}

// Rows `begin` to `end` of the dimension behind the first splits.
StatusOr<OpaqueCell> CellOf(const std::vector<Tensor>& splits, const Tensor& values, int64_t begin,
                            int64_t end) {
  std::vector<Tensor> inner;
  for (size_t i = 1; i < splits.size(); ++i) {
    const int64_t rows = end - begin;
    MS_ASSIGN_OR_RETURN(Tensor part, Tensor::Create(splits[i].dtype(), Shape({rows + 1})));
    const int64_t first = SplitAt(splits[i], begin);
    for (int64_t k = 0; k <= rows; ++k) SetSplit(part, k, SplitAt(splits[i], begin + k) - first);
    end = SplitAt(splits[i], end);
    begin = first;
    inner.push_back(std::move(part));
  }
  Tensor rows = RowsOf(values, begin, ShapeOfRows(end - begin, RowShape(values)));
  return OpaqueCell(std::make_shared<RaggedCell>(std::move(inner), std::move(rows)));
}

class ToVariant final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(is_batch_, info.Attr<bool>("batched_input"));
    MS_ASSIGN_OR_RETURN(const DataType dtype, info.Attr<DataType>("Tvalues"));
    // A variant in a variant could be nested without bound.
    if (dtype == DataType::kString || IsPlainData(dtype)) return absl::OkStatus();
    return errors::Unimplemented("attribute 'Tvalues': a variant holds no ragged tensor of type ",
                                 DataTypeName(dtype));
  }

  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(std::vector<Tensor> splits, SplitsInput(*frame));
    if (!is_batch_) {
      MS_ASSIGN_OR_RETURN(Tensor values, frame->InputTensor(frame->num_inputs() - 1));
      MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape()));
      *output.data<OpaqueCell>() =
          std::make_shared<RaggedCell>(std::move(splits), std::move(values));
      return absl::OkStatus();
    }
    // Its elements share the values.
    MS_ASSIGN_OR_RETURN(const Tensor values, frame->InputTensor(frame->num_inputs() - 1));
    const int64_t rows = splits[0].num_elements() - 1;
    MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape({rows})));
    for (int64_t i = 0; i < rows; ++i) {
      MS_ASSIGN_OR_RETURN(output.data<OpaqueCell>()[i],
                          CellOf(splits, values, SplitAt(splits[0], i), SplitAt(splits[0], i + 1)));
    }
    return absl::OkStatus();
  }

 private:
  bool is_batch_ = false;
};

// ---- From variants ----

// The cells of input 0. They are of the types that the node says, and of one rank.
StatusOr<std::vector<const RaggedCell*>> CellsInput(const StructuralFrame& frame,
                                                    const Tensor& encoded) {
  const DataType dtype = frame.call().output_type(static_cast<int>(frame.num_outputs() - 1));
  const int64_t inner = static_cast<int64_t>(frame.num_outputs()) - 1 - encoded.shape().rank();
  std::vector<const RaggedCell*> cells;
  for (int64_t i = 0; i < encoded.num_elements(); ++i) {
    const auto* const cell = dynamic_cast<const RaggedCell*>(encoded.data<OpaqueCell>()[i].get());
    if (cell == nullptr) {
      return errors::InvalidArgument("argument 'encoded_ragged': element ", i,
                                     " holds no ragged tensor");
    }
    if (cell->values().dtype() != dtype) {
      return errors::InvalidArgument(
          "argument 'encoded_ragged': Expected values Tensor dtype: ", DataTypeName(dtype),
          ", found: ", DataTypeName(cell->values().dtype()), " in element ", i);
    }
    if (static_cast<int64_t>(cell->splits().size()) != inner) {
      return errors::InvalidArgument("argument 'encoded_ragged': Encoded input RaggedTensor has ",
                                     "ragged_rank=", cell->splits().size(),
                                     ". Expected ragged_rank=", inner, " in element ", i);
    }
    for (const Tensor& splits : cell->splits()) {
      if (splits.dtype() == frame.call().output_type(0)) continue;
      return errors::InvalidArgument("argument 'encoded_ragged': Expected row_splits Tensor dtype",
                                     ": ", DataTypeName(frame.call().output_type(0)),
                                     ", found: ", DataTypeName(splits.dtype()), " in element ", i);
    }
    cells.push_back(cell);
  }
  return cells;
}

// Splits of which split i has `length(i)` rows.
template <typename Length>
Status SetSplits(StructuralFrame* frame, uint32_t output, int64_t rows, const Length& length) {
  MS_ASSIGN_OR_RETURN(const Tensor splits, frame->AllocateOutput(output, Shape({rows + 1})));
  int64_t end = 0;
  SetSplit(splits, 0, 0);
  for (int64_t i = 0; i < rows; ++i) {
    end += length(i);
    SetSplit(splits, i + 1, end);
  }
  return absl::OkStatus();
}

int64_t RowsIn(const RaggedCell& cell) {
  return cell.splits().empty() ? cell.values().shape().dim(0) : cell.splits()[0].num_elements() - 1;
}

// Sets output `output` to the splits number `d` of all cells, one behind the other.
Status SetInnerSplits(StructuralFrame* frame, uint32_t output, size_t d,
                      const std::vector<const RaggedCell*>& cells) {
  int64_t rows = 0;
  for (const RaggedCell* const cell : cells) rows += cell->splits()[d].num_elements() - 1;
  size_t at = 0;
  int64_t row = 0;
  return SetSplits(frame, output, rows, [&](int64_t) {
    while (row + 1 >= cells[at]->splits()[d].num_elements()) {
      ++at;
      row = 0;
    }
    const Tensor& splits = cells[at]->splits()[d];
    ++row;
    return SplitAt(splits, row) - SplitAt(splits, row - 1);
  });
}

Status SetValues(StructuralFrame* frame, const std::vector<const RaggedCell*>& cells) {
  Shape shape({0});
  if (!cells.empty()) shape = cells[0]->values().shape();
  int64_t rows = 0;
  for (const RaggedCell* const cell : cells) {
    Shape other = cell->values().shape();
    rows += other.dim(0);
    other.set_dim(0, shape.dim(0));
    if (other == shape) continue;
    return errors::InvalidArgument("argument 'encoded_ragged': the values of elements have the ",
                                   "shapes ", cells[0]->values().shape().ToString(), " and ",
                                   cell->values().shape().ToString());
  }
  shape.set_dim(0, rows);
  MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(frame->num_outputs() - 1, shape));
  int64_t next = 0;
  for (const RaggedCell* const cell : cells) {
    CopyElements(cell->values(), output, next);
    next += cell->values().num_elements();
  }
  return absl::OkStatus();
}

Status FromVariant(StructuralFrame* frame) {
  const Tensor encoded = frame->BorrowInput(0);
  const Shape& outer = encoded.shape();
  if (static_cast<int64_t>(frame->num_outputs()) - 1 < outer.rank()) {
    return errors::InvalidArgument("attribute 'output_ragged_rank' must be at least the rank of ",
                                   "encoded_ragged, ", outer.rank(), ", got ",
                                   frame->num_outputs() - 1);
  }
  MS_ASSIGN_OR_RETURN(const std::vector<const RaggedCell*> cells, CellsInput(*frame, encoded));
  // The outer dimensions but the last have rows of one length.
  int64_t rows = 1;
  for (int d = 0; d + 1 < outer.rank(); ++d) {
    rows *= outer.dim(d);
    const int64_t length = outer.dim(d + 1);
    MS_RETURN_IF_ERROR(
        SetSplits(frame, static_cast<uint32_t>(d), rows, [&](int64_t) { return length; }));
  }
  if (outer.rank() > 0) {
    MS_RETURN_IF_ERROR(
        SetSplits(frame, static_cast<uint32_t>(outer.rank() - 1), encoded.num_elements(),
                  [&](int64_t i) { return RowsIn(*cells[static_cast<size_t>(i)]); }));
  }
  for (uint32_t i = static_cast<uint32_t>(outer.rank()); i + 1 < frame->num_outputs(); ++i) {
    MS_RETURN_IF_ERROR(SetInnerSplits(frame, i, i - static_cast<size_t>(outer.rank()), cells));
  }
  return SetValues(frame, cells);
}

MILLSTREAM_HOST_KERNEL("RaggedTensorToVariant", ToVariant);
MILLSTREAM_HOST_KERNEL("RaggedTensorFromVariant", HostFunction<&FromVariant>);

}  // namespace
}  // namespace millstream
