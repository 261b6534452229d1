#include "framework/tensor_list.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/allocator.h"

namespace millstream {
namespace {

const Tensor& Unset() {
  static const Tensor* const unset = new Tensor();
  return *unset;
}

// How deep the lists in a tensor are nested; 0 if there is none.
int NestingOf(const Tensor& tensor) {
  if (tensor.dtype() != DataType::kVariant) return 0;
  int deepest = 0;
  for (const OpaqueCell& cell : tensor.flat<OpaqueCell>()) {
    const TensorList* const list = TensorList::In(cell);
    if (list != nullptr) deepest = std::max(deepest, list->nesting() + 1);
  }
  return deepest;
}

}  // namespace

TensorList::TensorList(DataType element_dtype, PartialShape element_shape, int64_t max_size)
    : element_dtype_(element_dtype),
      element_shape_(std::move(element_shape)),
      max_size_(std::max(max_size, kUnbounded)) {}

const Tensor& TensorList::at(int64_t i) const {
  assert(i >= 0 && i < size_);
  return i < end_of_set() ? elements_[static_cast<size_t>(i)] : Unset();
}

Status TensorList::CheckElement(const Tensor& element, const char* mistake) const {
  if (element.dtype() != element_dtype_) {
    return errors::InvalidArgument("Invalid data types; op elements ",
                                   DataTypeName(element.dtype()), " but list elements ",
                                   DataTypeName(element_dtype_));
  }
  if (!element_shape_.IsCompatibleWith(element.shape())) {
    return errors::InvalidArgument(mistake, ". Op element shape: ", element.shape().ToString(),
                                   " list shape: ", element_shape_.ToString());
  }
  if (NestingOf(element) <= kMaxNesting) return absl::OkStatus();
  return errors::InvalidArgument("lists of lists are nested at most ", kMaxNesting, " deep");
}

// A length that the machine has no memory for fails the step and not the process.
Status TensorList::GrowTo(int64_t size) {
  constexpr int64_t kChecked = int64_t{1} << 16;
  if (size - end_of_set() > kChecked) {
    // The bytes of a vector's largest size can be counted.
    const bool is_countable = static_cast<size_t>(size) <= elements_.max_size();
    const size_t bytes = is_countable ? static_cast<size_t>(size) * sizeof(Tensor) : 0;
    void* const memory = is_countable ? HostAllocator()->Allocate(bytes) : nullptr;
    if (memory == nullptr) {
      return errors::ResourceExhausted("OOM: no memory for a tensor list of ", size, " elements");
    }
    HostAllocator()->Deallocate(memory, bytes);
  }
  elements_.resize(static_cast<size_t>(size));
  return absl::OkStatus();
}

void TensorList::NoteNesting(const Tensor& element) {
  nesting_ = std::max(nesting_, NestingOf(element));
}

Status TensorList::Append(Tensor element) {
  if (max_size_ != kUnbounded && size_ >= max_size_) {
    return errors::InvalidArgument("Tried to push item into a full list list size: ", size_,
                                   " max_num_elements: ", max_size_);
  }
  MS_RETURN_IF_ERROR(
      CheckElement(element, "Tried to append a tensor with incompatible shape to a list"));
  if (end_of_set() < size_) MS_RETURN_IF_ERROR(GrowTo(size_));
  NoteNesting(element);
  elements_.push_back(std::move(element));
  ++size_;
  return absl::OkStatus();
}

Status TensorList::Set(int64_t i, Tensor element) {
  assert(i >= 0 && i < size_);
  MS_RETURN_IF_ERROR(
      CheckElement(element, "Tried to set a tensor with incompatible shape at a list index"));
  if (end_of_set() <= i) MS_RETURN_IF_ERROR(GrowTo(i + 1));
  NoteNesting(element);
  elements_[static_cast<size_t>(i)] = std::move(element);
  return absl::OkStatus();
}

Tensor TensorList::TakeLast() {
  assert(size_ > 0);
  --size_;
  if (end_of_set() <= size_) return Tensor();
  Tensor last = std::move(elements_.back());
  elements_.pop_back();
  return last;
}

void TensorList::Resize(int64_t size) {
  assert(size >= 0);
  size_ = size;
  if (end_of_set() > size) elements_.resize(static_cast<size_t>(size));
}

Tensor* TensorList::mutable_element(int64_t i) {
  assert(i >= 0 && i < size_);
  if (i >= end_of_set() || !elements_[static_cast<size_t>(i)].has_value()) return nullptr;
  return &elements_[static_cast<size_t>(i)];
}

std::string TensorList::DebugString() const {
  return absl::StrCat("<list of ", size_, " ", DataTypeName(element_dtype_), " tensors of shape ",
                      element_shape_.ToString(), ">");
}

TensorList* ListToChange(OpaqueCell* cell) {
  auto* const list = dynamic_cast<TensorList*>(cell->get());
  if (list == nullptr) return nullptr;
  if (cell->use_count() == 1) {
    // use_count() does not order memory. The release of one more reference does: what others read
    // before they released theirs happened before the change.
    OpaqueCell(*cell).reset();
    return list;
  }
  auto copy = std::make_shared<TensorList>(*list);
  TensorList* const result = copy.get();
  *cell = std::move(copy);
  return result;
}

}  // namespace millstream
