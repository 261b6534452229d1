#include "framework/plugin/host_tensor.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "framework/plugin/dlpack.h"
#include "framework/plugin/host_status.h"

namespace millstream {
namespace {

static_assert(MS_MAX_RANK == kMaxRank, "plugins have arrays of as many dimensions as tensors have");

void Retain(MS_Tensor* tensor) { tensor->references.fetch_add(1, std::memory_order_relaxed); }

void View(MS_Tensor* tensor, MS_TensorView* out) { *out = MakeView(tensor->tensor, tensor); }

MS_Status* Create(uint32_t space, MS_DType dtype, MS_Dims dims, MS_Tensor** out) {
  *out = nullptr;
  if (space != MS_SPACE_HOST) {
    return MakeAbiStatus(MS_UNIMPLEMENTED,
                         absl::StrCat("tensors are created in host memory, space ", MS_SPACE_HOST,
                                      "; asked was space ", space));
  }
  const DataType type = FromAbiDataType(dtype);
  if (type == DataType::kInvalid) {
    return MakeAbiStatus(MS_UNIMPLEMENTED, absl::StrCat("dtype ", dtype, " is unknown"));
  }
  StatusOr<Shape> shape = ShapeFromAbi(dims);
  if (!shape.ok()) return ToAbiStatus(shape.status());
  StatusOr<Tensor> tensor = Tensor::Create(type, *shape);
  if (!tensor.ok()) return ToAbiStatus(tensor.status());
  *out = new MS_Tensor(*std::move(tensor));
  return nullptr;
}

// The cell, or a status that says what is wrong.
MS_Status* FindCell(const MS_TensorView& view, uint64_t index, std::string** cell) {
  if (view.dtype != MS_STRING) {
    return MakeAbiStatus(MS_INVALID_ARGUMENT,
                         absl::StrCat("string cells are of dtype string, this tensor is ",
                                      DataTypeName(FromAbiDataType(view.dtype))));
  }
  const uint64_t count = view.mem.bytes / sizeof(std::string);
  if (index >= count) {
    return MakeAbiStatus(MS_INVALID_ARGUMENT,
                         absl::StrCat("string cell ", index, " of a tensor with ", count));
  }
  char* start = static_cast<char*>(view.mem.base) + view.mem.offset;
  *cell = reinterpret_cast<std::string*>(start) + index;
  return nullptr;
}

MS_Status* StringGet(const MS_TensorView* view, uint64_t index, MS_Str* out) {
  std::string* cell = nullptr;
  if (MS_Status* status = FindCell(*view, index, &cell)) return status;
  *out = ToAbi(*cell);
  return nullptr;
}

MS_Status* StringSet(const MS_TensorView* view, uint64_t index, MS_Str value) {
  std::string* cell = nullptr;
  if (MS_Status* status = FindCell(*view, index, &cell)) return status;
  *cell = std::string(FromAbi(value));
  return nullptr;
}

MS_Status* StringCopy(const MS_TensorView* destination, uint64_t to, const MS_TensorView* source,
                      uint64_t from) {
  std::string* read = nullptr;
  std::string* written = nullptr;
  if (MS_Status* status = FindCell(*source, from, &read)) return status;
  if (MS_Status* status = FindCell(*destination, to, &written)) return status;
  *written = *read;
  return nullptr;
}

// A new tensor in the memory of `tensor`, `offset` bytes into it.
MS_Tensor* Alias(const Tensor& tensor, Shape shape, size_t offset) {
  return new MS_Tensor(
      Tensor(tensor.dtype(), std::move(shape), tensor.buffer(), tensor.offset() + offset));
}

MS_Status* Slice(MS_Tensor* tensor, int64_t begin, int64_t end, MS_Tensor** out) {
  *out = nullptr;
  const Tensor& whole = tensor->tensor;
  Shape shape = whole.shape();
  if (shape.rank() == 0 || begin < 0 || begin > end || end > shape.dim(0)) {
    return ToAbiStatus(errors::InvalidArgument(
        "rows [", begin, ", ", end, ") are no part of a tensor of shape ", shape.ToString()));
  }
  const size_t row = shape.dim(0) == 0 ? 0 : whole.bytes() / static_cast<size_t>(shape.dim(0));
  shape.set_dim(0, end - begin);
  *out = Alias(whole, std::move(shape), row * static_cast<size_t>(begin));
  return nullptr;
}

MS_Status* Reshape(MS_Tensor* tensor, MS_Dims dims, MS_Tensor** out) {
  *out = nullptr;
  StatusOr<Shape> shape = ShapeFromAbi(dims);
  if (!shape.ok()) return ToAbiStatus(shape.status());
  const Tensor& whole = tensor->tensor;
  if (shape->num_elements() != whole.num_elements()) {
    return ToAbiStatus(errors::InvalidArgument("shape ", shape->ToString(), " has not as many ",
                                               "elements as ", whole.shape().ToString()));
  }
  *out = Alias(whole, *std::move(shape), 0);
  return nullptr;
}

MS_Status* DlpackExport(MS_Tensor* tensor, DLManagedTensorVersioned** out) {
  *out = nullptr;
  const StatusOr<DLManagedTensorVersioned*> exported = ExportDLPack(tensor->tensor);
  if (!exported.ok()) return ToAbiStatus(exported.status());
  *out = *exported;
  return nullptr;
}

MS_Status* DlpackImport(DLManagedTensorVersioned* managed, MS_Tensor** out) {
  *out = nullptr;
  StatusOr<Tensor> tensor = ImportDLPack(managed);
  if (!tensor.ok()) return ToAbiStatus(tensor.status());
  *out = new MS_Tensor(*std::move(tensor));
  return nullptr;
}

constexpr MS_TensorApi kTensorApi = {
    {sizeof(MS_TensorApi), 1, MS_ABI_MINOR, MS_TENSOR_API},
    &Retain,
    &ReleaseTensorHandle,
    &View,
    &Create,
    &StringGet,
    &StringSet,
    &StringCopy,
    &Slice,
    &Reshape,
    &DlpackExport,
    &DlpackImport,
};

uint32_t AbiSpaceOf(MemorySpace space) {
  switch (space) {
    case MemorySpace::kHost: return MS_SPACE_HOST;
    case MemorySpace::kPinned: return MS_SPACE_HOST_PINNED;
    case MemorySpace::kDevice: return MS_SPACE_DEVICE;
  }
  return MS_SPACE_HOST;
}

}  // namespace

MS_MemRef PlaceOf(const Tensor& tensor) {
  const Buffer* const buffer = tensor.buffer().get();
  MS_MemRef place = {};
  place.offset = tensor.offset();
  place.bytes = tensor.bytes();
  place.space = AbiSpaceOf(tensor.space());
  if (buffer == nullptr) return place;
  place.base = buffer->data();
  place.offset += buffer->handle_offset();
  place.device_index = buffer->device_ordinal();
  return place;
}

bool IsAt(const Tensor& tensor, const MS_MemRef& place) {
  const MS_MemRef own = PlaceOf(tensor);
  const auto base = reinterpret_cast<uintptr_t>(own.base);
  const auto other = reinterpret_cast<uintptr_t>(place.base);
  if (base == other) return own.offset == place.offset;
  // The same address has many forms, which memory without addresses has not.
  const bool is_opaque = tensor.buffer() && tensor.buffer()->is_opaque();
  return !is_opaque && base + own.offset == other + place.offset;
}

MS_TensorView MakeView(const Tensor& tensor, MS_Tensor* handle) {
  MS_TensorView view = {};
  view.mem = PlaceOf(tensor);
  view.dims = tensor.shape().dims().data();
  view.rank = static_cast<uint32_t>(tensor.shape().rank());
  view.dtype = ToAbiDataType(tensor.dtype());
  view.flags = tensor.is_on_device() ? 0 : MS_VIEW_HOST;
  if (tensor.is_on_device() && tensor.buffer()->is_opaque()) view.flags |= MS_VIEW_OPAQUE;
  if (tensor.dtype() == DataType::kResource) view.flags |= MS_VIEW_RESOURCE;
  view.handle = handle;
  return view;
}

MS_TensorView NullView() {
  MS_TensorView view = {};
  view.rank = MS_UNKNOWN_RANK;
  return view;
}

void ReleaseTensorHandle(MS_Tensor* handle) {
  if (handle != nullptr && handle->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete handle;
  }
}

StatusOr<Shape> ShapeFromAbi(MS_Dims dims) {
  if (dims.rank == MS_UNKNOWN_RANK || dims.rank > MS_MAX_RANK) {
    return errors::InvalidArgument("a tensor's rank is at most ", MS_MAX_RANK,
                                   ", a plugin gave rank ", dims.rank);
  }
  if (dims.rank > 0 && dims.d == nullptr) {
    return errors::InvalidArgument("a plugin gave rank ", dims.rank, " without dimensions");
  }
  Shape shape(absl::MakeConstSpan(dims.d, dims.rank));
  MS_RETURN_IF_ERROR(ValidateShape(shape));
  return shape;
}

StatusOr<Tensor> CopyOfView(const MS_TensorView& view) {
  const DataType type = FromAbiDataType(view.dtype);
  if (type == DataType::kInvalid) return errors::Unimplemented("dtype ", view.dtype, " is unknown");
  if ((view.flags & MS_VIEW_HOST) == 0 || type == DataType::kResource ||
      type == DataType::kVariant) {
    return errors::InvalidArgument("a ", DataTypeName(type),
                                   " cannot be copied from what a plugin's view shows: it must be "
                                   "data, and in host memory");
  }
  MS_ASSIGN_OR_RETURN(const Shape shape, ShapeFromAbi(MS_Dims{view.dims, view.rank, 0}));
  MS_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(type, shape));
  if (view.mem.bytes != tensor.bytes()) {
    return errors::InvalidArgument("a plugin's view shows ", view.mem.bytes, " bytes, a ",
                                   DataTypeName(type), shape.ToString(), " has ", tensor.bytes());
  }
  if (tensor.bytes() == 0) return tensor;
  const char* const from = static_cast<const char*>(view.mem.base) + view.mem.offset;
  if (type == DataType::kString) {
    const auto* const cells = reinterpret_cast<const std::string*>(from);
    std::copy(cells, cells + tensor.num_elements(), tensor.data<std::string>());
  } else {
    std::memcpy(tensor.raw(), from, tensor.bytes());
  }
  return tensor;
}

const MS_Table* TensorInterface() { return &kTensorApi.head; }

}  // namespace millstream
