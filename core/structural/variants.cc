// Ops on numbers that variants have too: their zeros and their sums, which gradients of lists need.
// A variant that holds nothing is a zero. moved_cells.cc has the ops that move variants.
#include <cstdint>
#include <memory>
#include <utility>

#include "core/structural/host_kernel.h"
#include "core/structural/tensor_list_frame.h"
#include "framework/opaque_cell.h"
#include "framework/tensor_sum.h"

namespace millstream {
namespace {

// ---- Zeros ----

OpaqueCell ZerosLikeCell(const OpaqueCell& cell, Status* status);

StatusOr<Tensor> ZerosLikeTensor(const Tensor& tensor) {
  MS_ASSIGN_OR_RETURN(Tensor zeros, ZeroTensor(tensor.dtype(), tensor.shape()));
  if (tensor.dtype() != DataType::kVariant) return zeros;
  Status status;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    zeros.data<OpaqueCell>()[i] = ZerosLikeCell(tensor.data<OpaqueCell>()[i], &status);
  }
  MS_RETURN_IF_ERROR(status);
  return zeros;
}

// A list of as many zeros. Elements of the list's shape stay unset, and so take no memory.
StatusOr<OpaqueCell> ZerosLikeList(const TensorList& list) {
  auto zeros =
      std::make_shared<TensorList>(list.element_dtype(), list.element_shape(), list.max_size());
  zeros->Resize(list.size());
  const bool stay_unset =
      list.element_shape().IsFullyKnown() && list.element_dtype() != DataType::kVariant;
  Tensor last;  // elements of one shape share their zeros
  for (int64_t i = 0; i < list.end_of_set() && !stay_unset; ++i) {
    const Tensor& element = list.at(i);
    if (!element.has_value()) continue;
    const bool is_like_last = element.dtype() != DataType::kVariant && last.has_value() &&
                              last.shape() == element.shape();
    if (!is_like_last) {
      MS_ASSIGN_OR_RETURN(last, ZerosLikeTensor(element));
    }
    MS_RETURN_IF_ERROR(zeros->Set(i, last));
  }
  return OpaqueCell(std::move(zeros));
}

OpaqueCell ZerosLikeCell(const OpaqueCell& cell, Status* status) {
  const TensorList* const list = TensorList::In(cell);
  if (list == nullptr) return nullptr;
  StatusOr<OpaqueCell> zeros = ZerosLikeList(*list);
  if (zeros.ok()) return *std::move(zeros);
  status->Update(zeros.status());
  return nullptr;
}

Status ZerosLike(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const Tensor zeros, ZerosLikeTensor(frame->BorrowInput(0)));
  return frame->SetOutput(0, zeros);
}

// ---- Sums ----

Status AddToCell(OpaqueCell* sum, const OpaqueCell& more);

// Adds `more` to the tensor, which first gets memory of its own if others share it.
Status AddToTensor(Tensor* sum, const Tensor& more) {
  if (sum->shape() != more.shape()) {
    return errors::InvalidArgument(
        "Trying to add two lists of tensors with incompatible element shapes. One is ",
        sum->shape().ToString(), " and the other is ", more.shape().ToString());
  }
  const bool is_own = sum->buffer()->IsUnique() && sum->buffer()->writable();
  if (!is_own) {
    MS_ASSIGN_OR_RETURN(*sum, sum->DeepCopy());
  }
  if (sum->dtype() != DataType::kVariant) {
    AddElements(more, *sum);  // strings and booleans stay: they have no gradients but zeros
    return absl::OkStatus();
  }
  for (int64_t i = 0; i < sum->num_elements(); ++i) {
    MS_RETURN_IF_ERROR(AddToCell(sum->data<OpaqueCell>() + i, more.data<OpaqueCell>()[i]));
  }
  return absl::OkStatus();
}

Status CheckAlike(const TensorList& a, const TensorList& b) {
  if (a.element_dtype() != b.element_dtype()) {
    return errors::InvalidArgument(
        "Trying to add two lists of tensors of different dtypes. One is ",
        DataTypeName(a.element_dtype()), " and the other is ", DataTypeName(b.element_dtype()));
  }
  if (a.size() != b.size()) {
    return errors::InvalidArgument(
        "Trying to add two lists of tensors with different lengths. One is ", a.size(),
        " and the other is ", b.size());
  }
  if (a.element_shape().IsCompatibleWith(b.element_shape())) return absl::OkStatus();
  return errors::InvalidArgument(
      "Trying to add two lists of tensors with incompatible element shapes. One is ",
      a.element_shape().ToString(), " and the other is ", b.element_shape().ToString());
}

Status AddToCell(OpaqueCell* sum, const OpaqueCell& more) {
  const TensorList* const added = TensorList::In(more);
  if (added == nullptr) return absl::OkStatus();
  if (TensorList::In(*sum) == nullptr) {
    *sum = more;
    return absl::OkStatus();
  }
  MS_RETURN_IF_ERROR(CheckAlike(*TensorList::In(*sum), *added));
  TensorList* const list = ListToChange(sum);
  for (int64_t i = 0; i < added->end_of_set(); ++i) {
    if (!added->at(i).has_value()) continue;
    Tensor* const element = list->mutable_element(i);
    MS_RETURN_IF_ERROR(element == nullptr ? list->Set(i, added->at(i))
                                          : AddToTensor(element, added->at(i)));
  }
  return absl::OkStatus();
}

Status AddN(StructuralFrame* frame) {
  const Shape shape = frame->input_shape(0);
  for (uint32_t k = 1; k < frame->num_inputs(); ++k) {
    if (frame->input_shape(k) == shape) continue;
    return errors::InvalidArgument("argument 'inputs': all must have one shape, inputs[0] has ",
                                   shape.ToString(), " and inputs[", k, "] has ",
                                   frame->input_shape(k).ToString());
  }
  const Tensor* const taken = frame->TakeableInput(0);
  Tensor sum;
  if (taken != nullptr) {
    sum = *taken;
  } else {
    MS_ASSIGN_OR_RETURN(sum, frame->BorrowInput(0).DeepCopy());
  }
  for (uint32_t k = 1; k < frame->num_inputs(); ++k) {
    const Tensor more = frame->BorrowInput(k);
    for (int64_t i = 0; i < sum.num_elements(); ++i) {
      MS_RETURN_IF_ERROR(AddToCell(sum.data<OpaqueCell>() + i, more.data<OpaqueCell>()[i]));
    }
  }
  return frame->SetOutput(0, sum);
}

constexpr DataType kVariant = DataType::kVariant;
MILLSTREAM_HOST_KERNEL_OF_TYPE("ZerosLike", "T", kVariant, HostFunction<&ZerosLike>);
MILLSTREAM_HOST_KERNEL_OF_TYPE("AddN", "T", kVariant, HostFunction<&AddN>);

}  // namespace
}  // namespace millstream
