// Tensor lists and tensors whose rows are the elements: a row for each element, or several.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/device/device_memory.h"
#include "core/structural/host_kernel.h"
#include "core/structural/tensor_list_frame.h"

namespace millstream {
namespace {

// Input i, which has rows.
StatusOr<Tensor> TensorWithRows(const StructuralFrame& frame, uint32_t i) {
  Tensor tensor = frame.BorrowInput(i);
  if (tensor.shape().rank() > 0) return tensor;
  return errors::InvalidArgument("argument '", frame.call().InputName(static_cast<int>(i)),
                                 "': Tensor must be at least a vector, but saw shape: []");
}

StatusOr<std::vector<int64_t>> VectorAt(const StructuralFrame& frame, uint32_t i) {
  if (frame.input(i).rank == 1) return frame.Integers(i);
  return errors::InvalidArgument("argument '", frame.call().InputName(static_cast<int>(i)),
                                 "' must be a vector, got shape ", frame.input_shape(i).ToString());
}

// An empty list for elements of the shape that input `wanted` asks for.
StatusOr<std::shared_ptr<TensorList>> NewList(const StructuralFrame& frame, uint32_t wanted) {
  MS_ASSIGN_OR_RETURN(const DataType dtype, frame.call().Attr<DataType>("element_dtype"));
  MS_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeAt(frame, wanted));
  return std::make_shared<TensorList>(dtype, std::move(shape));
}

// Writes an element into its rows of a tensor; zeros if it is unset.
Status WriteRows(const Tensor& element, const Tensor& rows) {
  if (element.has_value()) return CopyElements(element, rows);
  if (IsPlainData(rows.dtype())) {
    if (rows.bytes() > 0) std::memset(rows.raw(), 0, rows.bytes());
    return absl::OkStatus();
  }
  MS_ASSIGN_OR_RETURN(const Tensor zeros, ZeroTensor(rows.dtype(), rows.shape()));
  return CopyElements(zeros, rows);
}

// ---- A row for each element ----

Status FromTensor(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const Tensor tensor, TensorWithRows(*frame, 0));
  MS_ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, NewList(*frame, 1));
  const Shape shape = RowShape(tensor);
  if (!list->element_shape().IsCompatibleWith(shape)) {
    return errors::InvalidArgument("argument 'element_shape': Specified a list with shape ",
                                   list->element_shape().ToString(), " from a tensor with shape ",
                                   shape.ToString());
  }
  const int64_t rows = tensor.shape().dim(0);
  list->Resize(rows);
  // The last one first: the list grows once, and has memory for all or for none. Empty rows take
  // no memory in the tensor, however many there are.
  for (int64_t i = rows - 1; i >= 0; --i) {
    MS_ASSIGN_OR_RETURN(Tensor row, RowsOf(tensor, i, shape).DeepCopy());
    MS_RETURN_IF_ERROR(list->Set(i, std::move(row)));
  }
  return SetList(frame, 0, std::move(list));
}

using ElementAt = absl::FunctionRef<const Tensor&(int64_t)>;

// The one shape of the elements `at(0)` to `at(count - 1)`, as far as `shape` leaves it open.
StatusOr<Shape> CommonShape(PartialShape shape, int64_t count, ElementAt at) {
  bool any = false;
  for (int64_t i = 0; i < count; ++i) {
    if (!at(i).has_value()) continue;
    any = true;
    const StatusOr<PartialShape> merged = shape.MergeWith(at(i).shape());
    if (!merged.ok()) {
      return errors::InvalidArgument("Tried to stack an element of shape ",
                                     at(i).shape().ToString(), " with elements of shape ",
                                     shape.ToString(), ", at position ", i);
    }
    shape = *merged;
  }
  if (any || shape.IsFullyKnown()) return shape.ToShape();
  return errors::InvalidArgument(
      "Tried to stack list which is empty or only contains uninitialized tensors and has a "
      "non-fully-defined element_shape: ",
      shape.ToString());
}

// Output 0 has the elements as rows: `count` of them, and then zeros up to `size` rows.
Status SetRows(StructuralFrame* frame, const PartialShape& shape, int64_t count, int64_t size,
               ElementAt at) {
  MS_ASSIGN_OR_RETURN(const Shape row, CommonShape(shape, count, at));
  const Shape whole = ShapeOfRows(size, row);
  MS_RETURN_IF_ERROR(ValidateShape(whole));
  MS_ASSIGN_OR_RETURN(const Tensor rows, frame->AllocateOutput(0, whole));
  for (int64_t i = 0; i < count; ++i) {
    MS_RETURN_IF_ERROR(WriteRows(at(i), RowsOf(rows, i, row)));
  }
  if (count == size) return absl::OkStatus();
  return WriteRows(Tensor(), RowsOf(rows, count, ShapeOfRows(size - count, row)));
}

Status Stack(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const TensorList* list, ListAt(*frame, 0));
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ElementShapeAs(*frame, *list, 1));
  MS_ASSIGN_OR_RETURN(const int64_t count, frame->call().Attr<int64_t>("num_elements"));
  if (count != kUnknownDim && count != list->size()) {
    return errors::InvalidArgument("argument 'input_handle': Operation expected a list with ",
                                   count, " elements but got a list with ", list->size(),
                                   " elements.");
  }
  return SetRows(frame, shape, list->end_of_set(), list->size(),
                 [&](int64_t i) -> const Tensor& { return list->at(i); });
}

Status Gather(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const TensorList* list, ListAt(*frame, 0));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, VectorAt(*frame, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ElementShapeAs(*frame, *list, 2));
  for (const int64_t index : indices) {
    if (index >= 0 && index < list->size()) continue;
    return errors::InvalidArgument("argument 'indices': Trying to gather element ", index,
                                   " in a list with ", list->size(), " elements.");
  }
  const auto count = static_cast<int64_t>(indices.size());
  return SetRows(frame, shape, count, count,
                 [&](int64_t i) -> const Tensor& { return list->at(indices[i]); });
}

// The elements that indices name get the rows of a tensor.
Status ScatterRows(const Tensor& tensor, const std::vector<int64_t>& indices, TensorList* list) {
  const Shape shape = RowShape(tensor);
  for (size_t i = 0; i < indices.size(); ++i) {
    MS_ASSIGN_OR_RETURN(Tensor row, RowsOf(tensor, static_cast<int64_t>(i), shape).DeepCopy());
    MS_RETURN_IF_ERROR(list->Set(indices[i], std::move(row)));
  }
  return absl::OkStatus();
}

// The indices of input i, one for each row of a tensor.
StatusOr<std::vector<int64_t>> ScatterIndices(const StructuralFrame& frame, uint32_t i,
                                              const Tensor& tensor) {
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> indices, VectorAt(frame, i));
  const auto count = static_cast<int64_t>(indices.size());
  if (count != tensor.shape().dim(0)) {
    return errors::InvalidArgument("argument 'indices' must have an index for each of ",
                                   tensor.shape().dim(0), " rows of 'tensor', got ", count);
  }
  for (const int64_t index : indices) {
    if (index >= 0) continue;
    return errors::InvalidArgument(
        "argument 'indices': Indices in TensorListScatter must all be positive, got ", index);
  }
  return indices;
}

int64_t EndOf(const std::vector<int64_t>& indices) {
  return indices.empty() ? 0 : *std::max_element(indices.begin(), indices.end()) + 1;
}

// TensorListScatter; TensorListScatterV2 has the length as well.
Status Scatter(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const Tensor tensor, TensorWithRows(*frame, 0));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, ScatterIndices(*frame, 1, tensor));
  MS_ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, NewList(*frame, 2));
  int64_t size = EndOf(indices);
  if (frame->num_inputs() > 3) {
    MS_ASSIGN_OR_RETURN(const int64_t wanted, ScalarAt(*frame, 3));
    if (wanted < -1) {
      return errors::InvalidArgument(
          "argument 'num_elements': TensorListScatter expects num_elements >= -1, found: ", wanted);
    }
    if (wanted != -1 && wanted < size) {
      return errors::InvalidArgument(
          "argument 'indices': TensorListScatter: Trying to scatter at index ", size - 1,
          " in list with size ", wanted);
    }
    if (wanted != -1) size = wanted;
  }
  list->Resize(size);
  MS_RETURN_IF_ERROR(ScatterRows(tensor, indices, list.get()));
  return SetList(frame, 0, std::move(list));
}

Status ScatterIntoExistingList(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const Tensor tensor, TensorWithRows(*frame, 1));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, ScatterIndices(*frame, 2, tensor));
  MS_ASSIGN_OR_RETURN(TensorList * list, ChangedListAt(frame, 0));
  list->Resize(std::max(list->size(), EndOf(indices)));
  return ScatterRows(tensor, indices, list);
}

// ---- Several rows for each element ----

// What the shapes of the elements agree on, without their first dimension.
StatusOr<PartialShape> JoinedRowShape(const TensorList& list, const PartialShape& shape) {
  PartialShape row = shape.known_rank() ? PartialShape(shape.dims().subspan(1)) : PartialShape();
  for (int64_t i = 0; i < list.end_of_set(); ++i) {
    const Tensor& element = list.at(i);
    if (!element.has_value()) continue;
    if (element.shape().rank() == 0) {
      return errors::InvalidArgument("Concat saw a scalar shape at index ", i,
                                     " but requires at least vectors.");
    }
    const StatusOr<PartialShape> merged = row.MergeWith(RowShape(element));
    if (!merged.ok()) {
      return errors::InvalidArgument("Tried to concat an element of shape ",
                                     element.shape().ToString(), " with rows of shape ",
                                     row.ToString(), ", at index ", i);
    }
    row = *merged;
  }
  if (row.IsFullyKnown()) return row;
  return errors::InvalidArgument(
      "All except the first dimension must be fully defined when concating an empty tensor list. "
      "element_shape: ",
      shape.ToString());
}

// The number of rows that element i of a list takes. `leading` has those of unset elements, unless
// `first` is known; null: none may be unset.
StatusOr<int64_t> LengthOf(const TensorList& list, int64_t i, int64_t first,
                           const std::vector<int64_t>* leading) {
  const Tensor& element = list.at(i);
  if (element.has_value()) {
    const int64_t length = element.shape().dim(0);
    if (first == kUnknownDim || first == length) return length;
    return errors::InvalidArgument("Tried to concat an element of shape ",
                                   element.shape().ToString(), ", expected ", first,
                                   " rows, at index ", i);
  }
  if (leading == nullptr) {
    return errors::InvalidArgument(
        "Concatenating lists with uninitialized elements is not supported in TensorListConcat; "
        "TensorListConcatV2 has leading_dims for them");
  }
  if (first != kUnknownDim) return first;
  if (i >= static_cast<int64_t>(leading->size())) {
    return errors::InvalidArgument("List contains uninitialized element at index ", i,
                                   " but leading_dims has only ", leading->size(), " elements.");
  }
  const int64_t length = (*leading)[static_cast<size_t>(i)];
  if (length >= 0) return length;
  return errors::InvalidArgument("argument 'leading_dims' has the negative size ", length, " at ",
                                 i);
}

// Sets the outputs of TensorListConcat: the elements one below the other, and their lengths.
Status SetConcatenation(StructuralFrame* frame, const TensorList& list, const PartialShape& shape,
                        const std::vector<int64_t>* leading) {
  if (shape.known_rank() && shape.rank() == 0) {
    return errors::InvalidArgument(
        "Concat requires elements to be at least vectors, found scalars instead.");
  }
  MS_ASSIGN_OR_RETURN(const PartialShape known_row, JoinedRowShape(list, shape));
  const Shape row = known_row.ToShape();
  const int64_t first = shape.known_rank() ? shape.dim(0) : kUnknownDim;
  MS_ASSIGN_OR_RETURN(const Tensor lengths, frame->AllocateOutput(1, Shape({list.size()})));
  int64_t total = 0;
  for (int64_t i = 0; i < list.size(); ++i) {
    MS_ASSIGN_OR_RETURN(lengths.data<int64_t>()[i], LengthOf(list, i, first, leading));
    if (!__builtin_add_overflow(total, lengths.data<int64_t>()[i], &total)) continue;
    return errors::InvalidArgument("argument 'leading_dims': the lengths add up to too many rows");
  }
  const Shape whole = ShapeOfRows(total, row);
  MS_RETURN_IF_ERROR(ValidateShape(whole));
  MS_ASSIGN_OR_RETURN(const Tensor tensor, frame->AllocateOutput(0, whole));
  int64_t at = 0;
  for (int64_t i = 0; i < list.size(); ++i) {
    const int64_t length = lengths.data<int64_t>()[i];
    MS_RETURN_IF_ERROR(WriteRows(list.at(i), RowsOf(tensor, at, ShapeOfRows(length, row))));
    at += length;
  }
  return absl::OkStatus();
}

Status Concat(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const TensorList* list, ListAt(*frame, 0));
  MS_ASSIGN_OR_RETURN(const PartialShape wanted, frame->call().Attr<PartialShape>("element_shape"));
  const StatusOr<PartialShape> shape = list->element_shape().MergeWith(wanted);
  if (!shape.ok()) return WithContext(shape.status(), "attribute 'element_shape'");
  return SetConcatenation(frame, *list, *shape, nullptr);
}

Status ConcatV2(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const TensorList* list, ListAt(*frame, 0));
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ElementShapeAs(*frame, *list, 1));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> leading, VectorAt(*frame, 2));
  return SetConcatenation(frame, *list, shape, &leading);
}

Status Split(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const Tensor tensor, TensorWithRows(*frame, 0));
  MS_ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, NewList(*frame, 1));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, VectorAt(*frame, 2));
  const Shape row = RowShape(tensor);
  const int64_t rows = tensor.shape().dim(0);
  int64_t at = 0;
  for (const int64_t length : lengths) {
    if (length < 0) {
      return errors::InvalidArgument("argument 'lengths': Invalid value in lengths: ", length);
    }
    if (length > rows - at) {
      return errors::InvalidArgument("argument 'lengths': Attempted to slice [", at, ", ",
                                     at + std::min(length, rows), "] from tensor with length ",
                                     rows);
    }
    MS_ASSIGN_OR_RETURN(Tensor piece, RowsOf(tensor, at, ShapeOfRows(length, row)).DeepCopy());
    MS_RETURN_IF_ERROR(list->Append(std::move(piece)));
    at += length;
  }
  if (at == rows) return SetList(frame, 0, std::move(list));
  return errors::InvalidArgument("argument 'lengths': Unused values in tensor. Length of tensor: ",
                                 rows, " Values used: ", at);
}

MILLSTREAM_HOST_KERNEL("TensorListFromTensor", HostFunction<&FromTensor>);
MILLSTREAM_HOST_KERNEL("TensorListStack", HostFunction<&Stack>);
MILLSTREAM_HOST_KERNEL("TensorListGather", HostFunction<&Gather>);
MILLSTREAM_HOST_KERNEL("TensorListScatter", HostFunction<&Scatter>);
MILLSTREAM_HOST_KERNEL("TensorListScatterV2", HostFunction<&Scatter>);
MILLSTREAM_HOST_KERNEL("TensorListScatterIntoExistingList", HostFunction<&ScatterIntoExistingList>);
MILLSTREAM_HOST_KERNEL("TensorListConcat", HostFunction<&Concat>);
MILLSTREAM_HOST_KERNEL("TensorListConcatV2", HostFunction<&ConcatV2>);
MILLSTREAM_HOST_KERNEL("TensorListSplit", HostFunction<&Split>);

}  // namespace
}  // namespace millstream
