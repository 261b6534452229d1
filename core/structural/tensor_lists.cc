// Tensor lists: their elements one by one, and several lists at once. On every device the elements
// are in host memory.
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "core/structural/host_kernel.h"
#include "core/structural/tensor_list_frame.h"

namespace millstream {
namespace {

Status EmptyList(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const DataType dtype, frame->call().Attr<DataType>("element_dtype"));
  MS_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeAt(*frame, 0));
  MS_ASSIGN_OR_RETURN(const int64_t max_size, ScalarAt(*frame, 1));
  return SetList(frame, 0, std::make_shared<TensorList>(dtype, std::move(shape), max_size));
}

Status PushBack(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(Tensor element, frame->InputTensor(1));
  MS_ASSIGN_OR_RETURN(TensorList * list, ChangedListAt(frame, 0));
  return list->Append(std::move(element));
}

Status PopBack(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(TensorList * list, ChangedListAt(frame, 0));
  if (list->size() == 0) {
    return errors::InvalidArgument("argument 'input_handle': Trying to pop from an empty list.");
  }
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ElementShapeAs(*frame, *list, 1));
  MS_ASSIGN_OR_RETURN(const Tensor element, ElementOrZeros(*list, list->TakeLast(), shape));
  return frame->SetOutput(1, element);
}

Status ReserveList(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const DataType dtype, frame->call().Attr<DataType>("element_dtype"));
  MS_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeAt(*frame, 0));
  MS_ASSIGN_OR_RETURN(const int64_t size, ScalarAt(*frame, 1));
  if (size < 0) {
    return errors::InvalidArgument(
        "argument 'num_elements': The num_elements to reserve must be a non negative number, got ",
        size);
  }
  auto list = std::make_shared<TensorList>(dtype, std::move(shape));
  list->Resize(size);
  return SetList(frame, 0, std::move(list));
}

Status Length(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const TensorList* list, ListAt(*frame, 0));
  if (list->size() > std::numeric_limits<int32_t>::max()) {
    return errors::InvalidArgument("argument 'input_handle': the length ", list->size(),
                                   " does not fit int32");
  }
  MS_ASSIGN_OR_RETURN(const Tensor length, frame->AllocateOutput(0, Shape()));
  *length.data<int32_t>() = static_cast<int32_t>(list->size());
  return absl::OkStatus();
}

Status ElementShape(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const TensorList* list, ListAt(*frame, 0));
  const PartialShape& shape = list->element_shape();
  MS_ASSIGN_OR_RETURN(
      const Tensor sizes,
      frame->AllocateOutput(0, shape.known_rank() ? Shape({shape.rank()}) : Shape()));
  for (int64_t i = 0; i < sizes.num_elements(); ++i) {
    const int64_t size = shape.known_rank() ? shape.dim(static_cast<int>(i)) : kUnknownDim;
    if (sizes.dtype() == DataType::kInt64) {
      sizes.data<int64_t>()[i] = size;
    } else if (size <= std::numeric_limits<int32_t>::max()) {
      sizes.data<int32_t>()[i] = static_cast<int32_t>(size);
    } else {
      return errors::InvalidArgument("argument 'input_handle': the size ", size,
                                     " of the element shape does not fit int32; set shape_type");
    }
  }
  return absl::OkStatus();
}

// The index that input 1 holds.
StatusOr<int64_t> IndexAt(const StructuralFrame& frame, const TensorList& list, const char* verb) {
  MS_ASSIGN_OR_RETURN(const int64_t index, ScalarAt(frame, 1));
  if (index >= 0 && index < list.size()) return index;
  return errors::InvalidArgument("argument 'index': Trying to ", verb, " element ", index,
                                 " in a list with ", list.size(), " elements.");
}

Status GetItem(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const TensorList* list, ListAt(*frame, 0));
  MS_ASSIGN_OR_RETURN(const int64_t index, IndexAt(*frame, *list, "access"));
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ElementShapeAs(*frame, *list, 2));
  MS_ASSIGN_OR_RETURN(const Tensor item, ElementOrZeros(*list, list->at(index), shape));
  return frame->SetOutput(0, item);
}

Status SetItem(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(Tensor item, frame->InputTensor(2));
  MS_ASSIGN_OR_RETURN(TensorList * list, ChangedListAt(frame, 0));
  MS_ASSIGN_OR_RETURN(const int64_t index, IndexAt(*frame, *list, "modify"));
  return list->Set(index, std::move(item));
}

Status Resize(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(TensorList * list, ChangedListAt(frame, 0));
  MS_ASSIGN_OR_RETURN(const int64_t size, ScalarAt(*frame, 1));
  if (size < 0) {
    return errors::InvalidArgument(
        "argument 'size': TensorListResize expects size to be non-negative. Got: ", size);
  }
  list->Resize(size);
  return absl::OkStatus();
}

// ---- Tensors of several lists ----

// Makes output 0 a tensor of lists that equals input 0, and gives it for changes.
StatusOr<Tensor> ChangedLists(StructuralFrame* frame) {
  Tensor lists;
  if (const Tensor* const taken = frame->TakeableInput(0)) {
    lists = *taken;
  } else {
    MS_ASSIGN_OR_RETURN(lists, frame->BorrowInput(0).DeepCopy());
  }
  MS_RETURN_IF_ERROR(frame->SetOutput(0, lists));
  return lists;
}

// The list of a cell for a change. `i` is the number of the input, for messages.
StatusOr<TensorList*> ListOfCell(const StructuralFrame& frame, int i, OpaqueCell* cell) {
  MS_RETURN_IF_ERROR(CheckedList(frame, i, *cell).status());
  return ListToChange(cell);
}

Status Extend(TensorList* list, const TensorList& more) {
  for (int64_t i = 0; i < more.end_of_set(); ++i) {
    if (more.at(i).has_value()) {
      MS_RETURN_IF_ERROR(list->Append(more.at(i)));
    } else {
      list->Resize(list->size() + 1);
    }
  }
  list->Resize(list->size() + more.size() - more.end_of_set());
  return absl::OkStatus();
}

Status ConcatLists(StructuralFrame* frame) {
  const Tensor more = frame->BorrowInput(1);
  if (frame->input_shape(0) != more.shape()) {
    return errors::InvalidArgument(
        "argument 'input_b' must have the shape of 'input_a', they have ",
        frame->input_shape(0).ToString(), " and ", more.shape().ToString());
  }
  MS_ASSIGN_OR_RETURN(const Tensor lists, ChangedLists(frame));
  for (int64_t i = 0; i < more.num_elements(); ++i) {
    OpaqueCell* const cell = lists.data<OpaqueCell>() + i;
    MS_ASSIGN_OR_RETURN(const TensorList* added,
                        CheckedList(*frame, 1, more.data<OpaqueCell>()[i]));
    MS_ASSIGN_OR_RETURN(TensorList * list, ListOfCell(*frame, 0, cell));
    MS_RETURN_IF_ERROR(Extend(list, *added));
  }
  return absl::OkStatus();
}

Status PushBackBatch(StructuralFrame* frame) {
  const Tensor rows = frame->BorrowInput(1);
  const Shape shape = frame->input_shape(0);
  if (shape.rank() != 1 || rows.shape().rank() < 1 || rows.shape().dim(0) != shape.dim(0)) {
    return errors::InvalidArgument(
        "argument 'tensor' must have a row for each list of the vector 'input_handles', got "
        "shapes ",
        rows.shape().ToString(), " and ", shape.ToString());
  }
  MS_ASSIGN_OR_RETURN(const Tensor lists, ChangedLists(frame));
  for (int64_t i = 0; i < shape.dim(0); ++i) {
    MS_ASSIGN_OR_RETURN(Tensor row, RowsOf(rows, i, RowShape(rows)).DeepCopy());
    MS_ASSIGN_OR_RETURN(TensorList * list, ListOfCell(*frame, 0, lists.data<OpaqueCell>() + i));
    MS_RETURN_IF_ERROR(list->Append(std::move(row)));
  }
  return absl::OkStatus();
}

MILLSTREAM_HOST_KERNEL("EmptyTensorList", HostFunction<&EmptyList>);
MILLSTREAM_HOST_KERNEL("TensorListPushBack", HostFunction<&PushBack>);
MILLSTREAM_HOST_KERNEL("TensorListPopBack", HostFunction<&PopBack>);
MILLSTREAM_HOST_KERNEL("TensorListReserve", HostFunction<&ReserveList>);
MILLSTREAM_HOST_KERNEL("TensorListLength", HostFunction<&Length>);
MILLSTREAM_HOST_KERNEL("TensorListElementShape", HostFunction<&ElementShape>);
MILLSTREAM_HOST_KERNEL("TensorListGetItem", HostFunction<&GetItem>);
MILLSTREAM_HOST_KERNEL("TensorListSetItem", HostFunction<&SetItem>);
MILLSTREAM_HOST_KERNEL("TensorListResize", HostFunction<&Resize>);
MILLSTREAM_HOST_KERNEL("TensorListConcatLists", HostFunction<&ConcatLists>);
MILLSTREAM_HOST_KERNEL("TensorListPushBackBatch", HostFunction<&PushBackBatch>);

}  // namespace
}  // namespace millstream
