#include "core/resources/tensor_array.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "framework/tensor_sum.h"

namespace millstream {
namespace {

// An array that grows keeps a size that fits int32, as which its size is told.
constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();

bool IsBefore(const Tensor& a, const Tensor& b) {
  return a.bytes() > 0 && std::memcmp(a.raw(), b.raw(), a.bytes()) < 0;
}

// Adds up tensors of one dtype and shape. The order of rounded sums must not depend on which write
// came first, so it follows from the bits. REQUIRES: the dtype has sums.
StatusOr<Tensor> SumOf(std::vector<Tensor> parts) {
  std::sort(parts.begin(), parts.end(), IsBefore);
  Tensor sum = std::move(parts[0]);
  if (!sum.buffer() || !sum.buffer()->IsUnique() || !sum.buffer()->writable()) {
    MS_ASSIGN_OR_RETURN(sum, sum.DeepCopy());
  }
  for (size_t k = 1; k < parts.size(); ++k) AddElements(parts[k], sum);
  return sum;
}

bool HasSums(DataType dtype) { return IsPlainData(dtype) && dtype != DataType::kBool; }

PartialShape Prepended(const Shape& outer, const PartialShape& inner) {
  if (!inner.known_rank()) return PartialShape();
  PartialShape shape(outer);
  for (const int64_t dim : inner.dims()) shape.AddDim(dim);
  return shape;
}

}  // namespace

Status TensorArray::CheckOpen() const {
  if (!is_closed_) return absl::OkStatus();
  return errors::InvalidArgument("TensorArray ", name_, " has already been closed.");
}

Status TensorArray::Write(absl::Span<const int64_t> indices, absl::Span<const Tensor> values) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(CheckOpen());
  for (size_t k = 0; k < indices.size(); ++k) MS_RETURN_IF_ERROR(WriteOne(indices[k], values[k]));
  return absl::OkStatus();
}

Status TensorArray::WriteAt(int64_t index, Tensor value) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(CheckOpen());
  return WriteOne(index, std::move(value));
}

StatusOr<Tensor> TensorArray::ReadAt(int64_t index) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(CheckOpen());
  return ReadOne(index);
}

TensorArray::Element& TensorArray::At(int64_t index) {
  const int64_t number = index / kPageSize;
  if (last_ == nullptr || number != last_page_) {
    std::unique_ptr<Page>& page = pages_[number];
    if (page == nullptr) page = std::make_unique<Page>();
    last_page_ = number;
    last_ = page.get();
  }
  return (*last_)[index % kPageSize];
}

Status TensorArray::WriteOne(int64_t index, Tensor value) {
  if (index < 0 || (index >= size_ && !dynamic_size_)) {
    return Error("Tried to write to index ", index,
                 " but array is not resizeable and size is: ", size_);
  }
  if (index >= size_ && index >= kMostElements) {
    return Error("Tried to write to index ", index, " but array cannot have more than ",
                 kMostElements, " elements.");
  }
  if (value.dtype() != dtype_) {
    return Error("Could not write to TensorArray index ", index, " because the value dtype is ",
                 DataTypeName(value.dtype()), " but TensorArray dtype is ", DataTypeName(dtype_),
                 ".");
  }
  if (!element_shape_.IsCompatibleWith(value.shape())) {
    return Error("Could not write to TensorArray index ", index, " because the value shape is ",
                 value.shape().ToString(),
                 " which is incompatible with the TensorArray's inferred element shape: ",
                 element_shape_.ToString(), " (consider setting infer_shape=False).");
  }
  Element& element = At(index);
  if (element.is_read) {
    return Error("Could not write to TensorArray index ", index,
                 " because it has already been read.");
  }
  if (element.is_written && !adds_up_) {
    return Error("Could not write to TensorArray index ", index,
                 " because it has already been written to.");
  }
  if (element.shape.has_value() && *element.shape != value.shape()) {
    return Error("Could not aggregate to TensorArray index ", index,
                 " because the existing shape is ", element.shape->ToString(),
                 " but the new input shape is ", value.shape().ToString(), ".");
  }
  if (element.is_written) {
    if (!HasSums(dtype_)) {
      return Error("tensors of ", DataTypeName(dtype_), " cannot be added up");
    }
    has_sums_ = true;
    element.more.push_back(std::move(value));
    return absl::OkStatus();
  }
  element.shape = value.shape();
  element.value = std::move(value);
  element.is_written = true;
  size_ = std::max(size_, index + 1);
  if (identical_element_shapes_) element_shape_ = *element.shape;
  return absl::OkStatus();
}

StatusOr<std::vector<Tensor>> TensorArray::Read(absl::Span<const int64_t> indices) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(CheckOpen());
  std::vector<Tensor> values;
  values.reserve(indices.size());
  for (const int64_t index : indices) {
    MS_ASSIGN_OR_RETURN(Tensor value, ReadOne(index));
    values.push_back(std::move(value));
  }
  return values;
}

StatusOr<Tensor> TensorArray::ReadOne(int64_t index) {
  if (index < 0 || index >= size_) {
    return Error("Tried to read from index ", index, " but array size is: ", size_);
  }
  Element& element = At(index);
  if (element.is_cleared) {
    return Error("Could not read index ", index,
                 " twice because it was cleared after a previous read (perhaps try setting "
                 "clear_after_read = false?).");
  }
  if (!element.is_written) {
    MS_ASSIGN_OR_RETURN(element.value, Zeros(index, element));
  }
  if (!element.more.empty()) {
    std::vector<Tensor> parts = std::exchange(element.more, {});
    parts.push_back(std::exchange(element.value, Tensor()));
    MS_ASSIGN_OR_RETURN(element.value, SumOf(std::move(parts)));
  }
  element.is_read = true;
  if (!clear_after_read_) return element.value;
  element.is_cleared = true;
  return std::exchange(element.value, Tensor());
}

// What an element that was not written reads as.
StatusOr<Tensor> TensorArray::Zeros(int64_t index, const Element& element) const {
  if (element.value.has_value()) return element.value;  // it was read before
  if (!element.shape.has_value() && !element_shape_.IsFullyKnown()) {
    return Error("Could not read from TensorArray index ", index,
                 ", which was not written. Furthermore, the element shape is not fully defined: ",
                 element_shape_.ToString(),
                 ". If the full element_shape of the array is set, zeros are read instead.");
  }
  MS_ASSIGN_OR_RETURN(Tensor zeros,
                      Tensor::Create(dtype_, element.shape.has_value() ? *element.shape
                                                                       : element_shape_.ToShape()));
  if (IsPlainData(dtype_) && zeros.bytes() > 0) std::memset(zeros.raw(), 0, zeros.bytes());
  return zeros;
}

Status TensorArray::Reserve(int64_t size) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(CheckOpen());
  if (size <= size_) return absl::OkStatus();
  if (!dynamic_size_) {
    return Error("Tried to write to index ", size - 1,
                 " but array is not resizeable and size is: ", size_);
  }
  size_ = size;
  return absl::OkStatus();
}

StatusOr<int64_t> TensorArray::size() const {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(CheckOpen());
  return size_;
}

PartialShape TensorArray::element_shape() const {
  absl::MutexLock lock(&mutex_);
  return element_shape_;
}

Status TensorArray::MergeElementShape(const PartialShape& shape) {
  absl::MutexLock lock(&mutex_);
  const StatusOr<PartialShape> merged = element_shape_.MergeWith(shape);
  if (!merged.ok()) {
    return Error("its elements have the shape ", element_shape_.ToString(), ", expected ",
                 shape.ToString());
  }
  element_shape_ = *merged;
  return absl::OkStatus();
}

StatusOr<ResourceRef<TensorArray>> TensorArray::MakeGradient(std::string name, const Shape& outer) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(CheckOpen());
  if (has_sums_) {
    return Error(
        "Unable to create a gradients TensorArray: several writes to one element were added up, so "
        "that there is no gradient for each of them.");
  }
  dynamic_size_ = false;
  TensorArraySpec spec;
  spec.dtype = dtype_;
  spec.element_shape = Prepended(outer, element_shape_);
  spec.identical_element_shapes = identical_element_shapes_;
  spec.adds_up = true;
  auto gradient = MakeResource<TensorArray>(std::move(name), std::move(spec), size_);
  absl::MutexLock gradient_lock(&gradient->mutex_);
  for (const auto& [number, page] : pages_) {
    for (int64_t i = 0; i < kPageSize; ++i) {
      const std::optional<Shape>& shape = (*page)[i].shape;
      if (!shape.has_value()) continue;
      gradient->At(number * kPageSize + i).shape = Prepended(outer, *shape).ToShape();
    }
  }
  return gradient;
}

void TensorArray::Close() {
  absl::flat_hash_map<int64_t, std::unique_ptr<Page>> dropped;  // goes without the lock
  absl::MutexLock lock(&mutex_);
  is_closed_ = true;
  dropped.swap(pages_);
  last_ = nullptr;
}

}  // namespace millstream
