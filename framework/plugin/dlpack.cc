#include "framework/plugin/dlpack.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.h"

static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, byte_offset) == 40);
static_assert(sizeof(DLManagedTensorVersioned) == 80 &&
              offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

namespace millstream {
namespace {

// The minor version whose rules are followed: strides are always given.
constexpr uint32_t kMinor = 2;
// Codes from here on are ours, and stay here.
constexpr uint32_t kFirstOwnCode = MS_CODE_QINT;

// What an exported struct points to.
struct Export {
  DLManagedTensorVersioned managed = {};
  Tensor tensor;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

void DeleteExport(DLManagedTensorVersioned* managed) {
  delete static_cast<Export*>(managed->manager_ctx);
}

std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

// Strides of dimensions that hold at most one element mean nothing.
bool IsRowMajor(const DLTensor& tensor, const Shape& shape) {
  if (tensor.strides == nullptr || shape.num_elements() == 0) return true;
  const std::vector<int64_t> wanted = RowMajorStrides(shape.dims());
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) != 1 && tensor.strides[i] != wanted[i]) return false;
  }
  return true;
}

bool IsHostMemory(const DLDevice& device) {
  return device.device_type == kDLPackCpu || device.device_type == kDLPackPinned;
}

Status CheckMemory(const DLManagedTensorVersioned& managed, const DLPackDevice& own) {
  if (managed.version.major != kDLPackMajor) {
    return errors::Unimplemented("DLPack of version ", managed.version.major, ".",
                                 managed.version.minor, ", this host knows ", kDLPackMajor, ".x");
  }
  const DLDevice& device = managed.dl_tensor.device;
  if (IsHostMemory(device)) return absl::OkStatus();
  if (own.type == 0) {
    return errors::Unimplemented("DLPack memory of device type ", device.device_type,
                                 "; only that of the host can be imported");
  }
  if (device.device_type == own.type && device.device_id == own.id) return absl::OkStatus();
  return errors::Unimplemented("DLPack memory of device ", device.device_id, " of type ",
                               device.device_type, "; only that of the host and of device ", own.id,
                               " of type ", own.type, " can be imported");
}

// Where DLPack has the tensor; waits until a device has written it.
StatusOr<DLDevice> DeviceOf(const Tensor& tensor) {
  if (!tensor.is_on_device()) return DLDevice{kDLPackCpu, 0};
  const Buffer& buffer = *tensor.buffer().get();
  const int32_t type = buffer.dlpack_device_type();
  if (type == 0) {
    return errors::Unimplemented("the device's memory has no DLPack device type, or no addresses");
  }
  MS_RETURN_IF_ERROR(buffer.AwaitWritten());
  return DLDevice{type, static_cast<int32_t>(buffer.device_ordinal())};
}

StatusOr<DataType> ReadDataType(DLDataType dtype) {
  DataType type = DataType::kInvalid;
  if (dtype.lanes == 1 && dtype.code < kFirstOwnCode) {
    type = FromAbiDataType(MS_DTYPE(dtype.code, dtype.bits));
  }
  if (type != DataType::kInvalid) return type;
  return errors::Unimplemented("no dtype for DLPack's code ", int{dtype.code}, " of ",
                               int{dtype.bits}, " bits and ", dtype.lanes, " lanes");
}

StatusOr<Shape> ReadShape(const DLTensor& tensor) {
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    return errors::InvalidArgument("a DLPack tensor of ", tensor.ndim, " dimensions",
                                   tensor.shape == nullptr ? " without shape" : "");
  }
  MS_RETURN_IF_ERROR(CheckRank(tensor.ndim));  // before so many sizes are read
  Shape shape(absl::MakeConstSpan(tensor.shape, static_cast<size_t>(tensor.ndim)));
  MS_RETURN_IF_ERROR(ValidateShape(shape));
  if (IsRowMajor(tensor, shape)) return shape;
  return errors::InvalidArgument("a DLPack tensor of shape ", shape.ToString(),
                                 " is not dense and row-major");
}

}  // namespace

StatusOr<DLManagedTensorVersioned*> ExportDLPack(const Tensor& tensor) {
  const uint32_t dtype = ToAbiDataType(tensor.dtype());
  if ((dtype & 0xff) >= kFirstOwnCode || dtype == 0) {
    return errors::Unimplemented("DLPack has no ", DataTypeName(tensor.dtype()));
  }
  MS_ASSIGN_OR_RETURN(const DLDevice device, DeviceOf(tensor));
  auto exported = std::make_unique<Export>();
  // Before the export holds the buffer too.
  const bool is_shared =
      tensor.buffer() && (!tensor.buffer()->IsUnique() || !tensor.buffer()->writable());
  exported->tensor = tensor;
  exported->shape.assign(tensor.shape().dims().begin(), tensor.shape().dims().end());
  exported->strides = RowMajorStrides(tensor.shape().dims());
  DLManagedTensorVersioned& managed = exported->managed;
  managed.version = {kDLPackMajor, kMinor};
  managed.manager_ctx = exported.get();
  managed.deleter = &DeleteExport;
  managed.flags = is_shared ? kDLPackReadOnly : 0;
  managed.dl_tensor.data = tensor.raw();
  managed.dl_tensor.device = device;
  managed.dl_tensor.ndim = tensor.shape().rank();
  managed.dl_tensor.dtype = {static_cast<uint8_t>(dtype & 0xff),
                             static_cast<uint8_t>((dtype >> 8) & 0xff), 1};
  managed.dl_tensor.shape = exported->shape.data();
  managed.dl_tensor.strides = exported->strides.data();
  return &exported.release()->managed;
}

StatusOr<Tensor> ImportDLPack(DLManagedTensorVersioned* managed, const DLPackDevice& device) {
  if (managed == nullptr) return errors::InvalidArgument("DLPack: the tensor is NULL");
  MS_RETURN_IF_ERROR(CheckMemory(*managed, device));
  const DLTensor& lent = managed->dl_tensor;
  MS_ASSIGN_OR_RETURN(const DataType type, ReadDataType(lent.dtype));
  MS_ASSIGN_OR_RETURN(const Shape shape, ReadShape(lent));
  char* const data = static_cast<char*>(lent.data) + lent.byte_offset;
  size_t size = 0;
  if (__builtin_mul_overflow(static_cast<size_t>(shape.num_elements()), DataTypeSize(type),
                             &size)) {
    return errors::InvalidArgument("a DLPack tensor of ", DataTypeName(type), shape.ToString(),
                                   " has more than 2^64 bytes");
  }
  if (size > 0 && lent.data == nullptr) {
    return errors::InvalidArgument("a DLPack tensor of ", size, " bytes has no memory");
  }
  const auto release = [managed] {
    if (managed->deleter != nullptr) managed->deleter(managed);
  };
  const bool is_aligned = reinterpret_cast<uintptr_t>(data) % DataTypeSize(type) == 0;
  if (!IsHostMemory(lent.device)) {
    if (is_aligned || size == 0) return device.wrap(type, shape, data, size, release);
    return errors::InvalidArgument("a DLPack tensor of a device, whose elements are not aligned");
  }
  if (is_aligned || size == 0) {
    return Tensor(type, shape, BorrowBuffer(size > 0 ? data : nullptr, size, false, release));
  }
  MS_ASSIGN_OR_RETURN(Tensor copy, Tensor::Create(type, shape));
  std::memcpy(copy.raw(), data, size);
  release();
  return copy;
}

}  // namespace millstream
