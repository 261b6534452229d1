// Tensors.
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "core/c_api/c_api.h"
#include "core/c_api/handles.h"
#include "framework/buffer.h"
#include "framework/dtype.h"
#include "framework/status.h"
#include "framework/tensor.h"

using millstream::BorrowBuffer;
using millstream::BufferRef;
using millstream::DataType;
using millstream::DataTypeSize;
using millstream::IsComplex;
using millstream::IsPlainData;
using millstream::IsValidDataType;
using millstream::Shape;
using millstream::Status;
using millstream::StatusOr;
using millstream::Tensor;
using millstream::ValidateShape;
using millstream::c_api::Give;

namespace errors = millstream::errors;

namespace {

StatusOr<DataType> MakeDataType(int32_t number) {
  if (IsValidDataType(number)) return static_cast<DataType>(number);
  return errors::InvalidArgument("expected the number of a DataType, got ", number);
}

StatusOr<Shape> MakeShape(const int64_t* dims, int32_t rank) {
  if (rank < 0) return errors::InvalidArgument("expected a rank of 0 or more, got ", rank);
  Shape shape(absl::MakeConstSpan(dims, rank));
  MS_RETURN_IF_ERROR(ValidateShape(shape));
  return shape;
}

Status CheckSize(DataType dtype, const Shape& shape, size_t size) {
  const size_t element = DataTypeSize(dtype);
  if (size % element == 0 && size / element == static_cast<uint64_t>(shape.num_elements())) {
    return absl::OkStatus();
  }
  return errors::InvalidArgument("a tensor ", DataTypeName(dtype), shape.ToString(), " has ",
                                 shape.num_elements(), " elements of ", element, " bytes, got ",
                                 size, " bytes");
}

// Kernels read elements through pointers of their type, so each must stand where the compiler
// expects it.
bool IsAligned(DataType dtype, const void* data) {
  const size_t alignment = IsComplex(dtype) ? DataTypeSize(dtype) / 2 : DataTypeSize(dtype);
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

StatusOr<Tensor> Borrow(DataType dtype, const Shape& shape, const void* data, size_t size,
                        void (*release)(void* argument), void* argument) {
  if (!IsPlainData(dtype)) {
    return errors::InvalidArgument("memory of ", DataTypeName(dtype), " cannot be borrowed");
  }
  MS_RETURN_IF_ERROR(CheckSize(dtype, shape, size));
  if (data == nullptr && size > 0) {
    return errors::InvalidArgument("expected the address of ", size, " bytes, got NULL");
  }
  if (!IsAligned(dtype, data)) {
    MS_ASSIGN_OR_RETURN(Tensor copy, Tensor::Create(dtype, shape));
    std::memcpy(copy.raw(), data, size);
    if (release != nullptr) release(argument);
    return copy;
  }
  auto on_release = [release, argument] {
    if (release != nullptr) release(argument);
  };
  // The buffer is not writable, so the runtime never writes through the pointer.
  BufferRef buffer =
      BorrowBuffer(const_cast<void*>(data), size, /*writable=*/false, std::move(on_release));
  return Tensor(dtype, shape, std::move(buffer));
}

StatusOr<Tensor> New(int32_t number, const int64_t* dims, int32_t rank) {
  MS_ASSIGN_OR_RETURN(const DataType dtype, MakeDataType(number));
  MS_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims, rank));
  return Tensor::Create(dtype, shape);
}

millstream_status* GiveTensor(StatusOr<Tensor> tensor, millstream_tensor** out) {
  if (!tensor.ok()) return Give(tensor.status());
  *out = new millstream_tensor{*std::move(tensor)};
  return nullptr;
}

// The cell, or null when there is none.
std::string* StringCell(const millstream_tensor* tensor, int64_t i) {
  const Tensor& value = tensor->tensor;
  if (value.dtype() != DataType::kString || i < 0 || i >= value.num_elements()) return nullptr;
  return value.data<std::string>() + i;
}

}  // namespace

millstream_status* millstream_tensor_new(int32_t dtype, const int64_t* dims, int32_t rank,
                                         millstream_tensor** out) {
  *out = nullptr;
  return GiveTensor(New(dtype, dims, rank), out);
}

millstream_status* millstream_tensor_borrow(int32_t dtype, const int64_t* dims, int32_t rank,
                                            const void* data, size_t size,
                                            void (*release)(void* argument), void* argument,
                                            millstream_tensor** out) {
  *out = nullptr;
  StatusOr<DataType> type = MakeDataType(dtype);
  if (!type.ok()) return Give(type.status());
  StatusOr<Shape> shape = MakeShape(dims, rank);
  if (!shape.ok()) return Give(shape.status());
  return GiveTensor(Borrow(*type, *shape, data, size, release, argument), out);
}

void millstream_tensor_free(millstream_tensor* tensor) { delete tensor; }

int32_t millstream_tensor_dtype(const millstream_tensor* tensor) {
  return static_cast<int32_t>(tensor->tensor.dtype());
}

int32_t millstream_tensor_rank(const millstream_tensor* tensor) {
  return tensor->tensor.shape().rank();
}

const int64_t* millstream_tensor_dims(const millstream_tensor* tensor) {
  return tensor->tensor.shape().dims().data();
}

int64_t millstream_tensor_num_elements(const millstream_tensor* tensor) {
  return tensor->tensor.num_elements();
}

void* millstream_tensor_data(const millstream_tensor* tensor) { return tensor->tensor.raw(); }

size_t millstream_tensor_size(const millstream_tensor* tensor) { return tensor->tensor.bytes(); }

const char* millstream_tensor_string(const millstream_tensor* tensor, int64_t i, size_t* size) {
  const std::string* cell = StringCell(tensor, i);
  *size = cell == nullptr ? 0 : cell->size();
  return cell == nullptr ? "" : cell->c_str();
}

void millstream_tensor_set_string(millstream_tensor* tensor, int64_t i, const char* data,
                                  size_t size) {
  std::string* cell = StringCell(tensor, i);
  if (cell != nullptr) cell->assign(data, size);
}
