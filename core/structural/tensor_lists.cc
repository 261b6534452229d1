// Tensor lists, an element at a time. The kernels have elements in host memory on every device.
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
  if (list->size() == 0) return errors::InvalidArgument("Trying to pop from an empty list.");
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ElementShapeAs(*frame, *list, 1));
  MS_ASSIGN_OR_RETURN(const Tensor element, ElementOrZeros(*list, list->TakeLast(), shape));
  return frame->SetOutput(1, element);
}

MILLSTREAM_HOST_KERNEL("EmptyTensorList", HostFunction<&EmptyList>);
MILLSTREAM_HOST_KERNEL("TensorListPushBack", HostFunction<&PushBack>);
MILLSTREAM_HOST_KERNEL("TensorListPopBack", HostFunction<&PopBack>);

}  // namespace
}  // namespace millstream
