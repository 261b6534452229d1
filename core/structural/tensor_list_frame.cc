#include "core/structural/tensor_list_frame.h"

#include <cstring>
#include <utility>
#include <vector>

#include "framework/opaque_cell.h"

namespace millstream {
namespace {

std::string NameOf(const StructuralFrame& frame, uint32_t i) {
  return frame.call().InputName(static_cast<int>(i));
}

// The cell of a scalar variant.
StatusOr<const OpaqueCell*> CellAt(const StructuralFrame& frame, uint32_t i) {
  const MS_TensorView& view = frame.input(i);
  if (view.rank != 0) {
    return errors::InvalidArgument(
        "Input handle is not a scalar. Saw: ", frame.input_shape(i).ToString(), " as argument '",
        NameOf(frame, i), "'");
  }
  const char* const data = static_cast<const char*>(view.mem.base) + view.mem.offset;
  return reinterpret_cast<const OpaqueCell*>(data);
}

}  // namespace

StatusOr<const TensorList*> CheckedList(const StructuralFrame& frame, uint32_t i,
                                        const OpaqueCell& cell) {
  const TensorList* const list = TensorList::In(cell);
  if (list == nullptr) {
    return errors::InvalidArgument("Input handle is not a list. Saw: '",
                                   cell == nullptr ? "<unset>" : cell->DebugString(),
                                   "' as argument '", NameOf(frame, i), "'");
  }
  const StatusOr<DataType> dtype = frame.call().Attr<DataType>("element_dtype");
  if (!dtype.ok() || *dtype == list->element_dtype()) return list;
  return errors::InvalidArgument("Invalid data types; op elements ", DataTypeName(*dtype),
                                 " but list elements ", DataTypeName(list->element_dtype()),
                                 " in argument '", NameOf(frame, i), "'");
}

StatusOr<const TensorList*> ListAt(const StructuralFrame& frame, uint32_t i) {
  MS_ASSIGN_OR_RETURN(const OpaqueCell* const cell, CellAt(frame, i));
  return CheckedList(frame, i, *cell);
}

StatusOr<TensorList*> ChangedListAt(StructuralFrame* frame, uint32_t i) {
  MS_ASSIGN_OR_RETURN(const TensorList* const list, ListAt(*frame, i));
  if (const Tensor* const taken = frame->TakeableInput(i)) {
    const Tensor output = *taken;
    MS_RETURN_IF_ERROR(frame->SetOutput(0, output));
    return ListToChange(output.data<OpaqueCell>());
  }
  auto copy = std::make_shared<TensorList>(*list);
  TensorList* const changed = copy.get();
  MS_RETURN_IF_ERROR(SetList(frame, 0, std::move(copy)));
  return changed;
}

Status SetList(StructuralFrame* frame, uint32_t i, std::shared_ptr<TensorList> list) {
  MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(i, Shape()));
  *output.data<OpaqueCell>() = std::move(list);
  return absl::OkStatus();
}

StatusOr<int64_t> ScalarAt(const StructuralFrame& frame, uint32_t i) {
  if (frame.input(i).rank != 0) {
    return errors::InvalidArgument("argument '", NameOf(frame, i), "' must be a scalar, got shape ",
                                   frame.input_shape(i).ToString());
  }
  return frame.Integer(i);
}

StatusOr<PartialShape> ElementShapeAt(const StructuralFrame& frame, uint32_t i) {
  const uint32_t rank = frame.input(i).rank;
  if (rank > 1) {
    return errors::InvalidArgument("argument '", NameOf(frame, i),
                                   "' must be a vector of sizes or the scalar -1, got shape ",
                                   frame.input_shape(i).ToString());
  }
  if (rank == 0) {
    MS_ASSIGN_OR_RETURN(const int64_t size, frame.Integer(i));
    if (size == kUnknownDim) return PartialShape();
    return errors::InvalidArgument("argument '", NameOf(frame, i),
                                   "': The only valid scalar shape tensor is the fully unknown "
                                   "shape specified as -1, got ",
                                   size);
  }
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, frame.Integers(i));
  MS_RETURN_IF_ERROR(CheckRank(static_cast<int>(sizes.size())));
  for (const int64_t size : sizes) {
    if (size >= kUnknownDim) continue;
    return errors::InvalidArgument("argument '", NameOf(frame, i), "' holds the size ", size);
  }
  PartialShape shape((absl::MakeConstSpan(sizes)));
  if (shape.IsFullyKnown()) MS_RETURN_IF_ERROR(ValidateShape(shape.ToShape()));
  return shape;
}

StatusOr<PartialShape> ElementShapeAs(const StructuralFrame& frame, const TensorList& list,
                                      uint32_t wanted) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ElementShapeAt(frame, wanted));
  StatusOr<PartialShape> merged = list.element_shape().MergeWith(shape);
  if (merged.ok()) return merged;
  return errors::InvalidArgument(
      "argument '", NameOf(frame, wanted), "': Tried to read a list of element shape ",
      list.element_shape().ToString(), " with incompatible shape ", shape.ToString());
}

StatusOr<Tensor> ZeroTensor(DataType dtype, const Shape& shape) {
  MS_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Create(dtype, shape));
  if (IsPlainData(dtype) && zeros.bytes() > 0) std::memset(zeros.raw(), 0, zeros.bytes());
  return zeros;
}

StatusOr<Tensor> ElementOrZeros(const TensorList& list, const Tensor& element,
                                const PartialShape& shape) {
  if (element.has_value()) {
    if (shape.IsCompatibleWith(element.shape())) return element;
    return errors::InvalidArgument("Tried to read an element of shape ", element.shape().ToString(),
                                   " with incompatible shape ", shape.ToString());
  }
  if (shape.IsFullyKnown()) return ZeroTensor(list.element_dtype(), shape.ToShape());
  return errors::InvalidArgument(
      "Trying to read an uninitialized element but element_shape is not fully defined: ",
      shape.ToString());
}

}  // namespace millstream
