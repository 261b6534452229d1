// A dense, row-major, typed array.
#ifndef MILLSTREAM_FRAMEWORK_TENSOR_H_
#define MILLSTREAM_FRAMEWORK_TENSOR_H_

#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "framework/buffer.h"
#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/status.h"

namespace millstream {

// A dtype, a shape, and a view into a shared buffer. Copies share the buffer. Not thread-safe.
class Tensor {
 public:
  Tensor() = default;  // kInvalid, no memory
  // Allocates a tensor. Elements are not initialized; strings are empty. INVALID_ARGUMENT for a bad
  // shape; RESOURCE_EXHAUSTED, with the size and shape, if memory is exhausted.
  static StatusOr<Tensor> Create(DataType dtype, const Shape& shape,
                                 Allocator* allocator = HostAllocator());
  // A view of `buffer` from byte `offset` on. REQUIRES: the buffer is large enough.
  Tensor(DataType dtype, Shape shape, BufferRef buffer, size_t offset = 0)
      : dtype_(dtype), shape_(std::move(shape)), buffer_(std::move(buffer)), offset_(offset) {}

  // Small tensors for tests and attributes. These functions crash if memory is exhausted.
  template <typename T>
  static Tensor Scalar(T value) {
    return Of<T>({}, {std::move(value)});
  }
  template <typename T>
  static Tensor Vector(const std::vector<T>& values) {
    return FromValues<T>(Shape({static_cast<int64_t>(values.size())}), values);
  }
  template <typename T>
  static Tensor Of(const Shape& shape, std::initializer_list<T> values) {
    return FromValues<T>(shape, std::vector<T>(values));
  }
  template <typename T>
  static Tensor FromValues(const Shape& shape, const std::vector<T>& values) {
    Tensor tensor = Create(DataTypeOf<T>(), shape).value();
    assert(tensor.num_elements() == static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) tensor.data<T>()[i] = values[i];
    return tensor;
  }

  DataType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t num_elements() const { return shape_.num_elements(); }
  // Bytes of the elements.
  size_t bytes() const { return num_elements() * DataTypeSize(dtype_); }
  bool has_value() const { return dtype_ != DataType::kInvalid; }
  // The address of the elements. REQUIRES: the memory has addresses (Buffer::is_opaque).
  void* raw() const { return buffer_ ? static_cast<char*>(buffer_->data()) + offset_ : nullptr; }
  // REQUIRES: T is the C++ type of dtype().
  template <typename T>
  T* data() const {
    return static_cast<T*>(raw());
  }
  template <typename T>
  absl::Span<T> flat() const {
    return absl::Span<T>(data<T>(), num_elements());
  }
  const BufferRef& buffer() const { return buffer_; }
  // The memory space; kHost for a tensor without a buffer.
  MemorySpace space() const { return buffer_ ? buffer_->space() : MemorySpace::kHost; }
  // True if only a device can access the elements.
  bool is_on_device() const { return space() == MemorySpace::kDevice; }
  size_t offset() const { return offset_; }

  // The same memory under another shape. REQUIRES: the number of elements is equal.
  Tensor Reshaped(Shape shape) const { return Tensor(dtype_, std::move(shape), buffer_, offset_); }
  // A copy with its own memory. RESOURCE_EXHAUSTED if memory is exhausted.
  StatusOr<Tensor> DeepCopy(Allocator* allocator = HostAllocator()) const;
  // dtype, shape and the first elements, for messages: "float32[2,2] 1 2 3 4".
  std::string DebugString(int max_elements = 8) const;

 private:
  DataType dtype_ = DataType::kInvalid;
  Shape shape_;
  BufferRef buffer_;
  size_t offset_ = 0;
};

// True if dtype and shape are equal, and the elements are equal bit for bit.
bool TensorsEqual(const Tensor& a, const Tensor& b);
// The elements of an int32 or int64 tensor; INVALID_ARGUMENT for another dtype.
StatusOr<std::vector<int64_t>> IntegerValues(const Tensor& tensor);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_TENSOR_H_
