// Exchanges tensors with other frameworks by DLPack 1.x (https://dmlc.github.io/dlpack), without
// copies.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_DLPACK_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_DLPACK_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

// The structs of dlpack.h. They have its names and are outside of our namespace.
struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};
struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements
  uint64_t byte_offset;
};
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

namespace millstream {

inline constexpr uint32_t kDLPackMajor = 1;
inline constexpr int32_t kDLPackCpu = 1;
inline constexpr int32_t kDLPackPinned = 3;  // host memory that a device can read
inline constexpr uint64_t kDLPackReadOnly = 1;

// Exports the tensor's memory. The caller must call the struct's deleter, on any thread, to release
// it. Read-only unless `tensor` holds the only reference to its buffer. Memory of a device is that
// of the DLDevice {Buffer::dlpack_device_type, ordinal}; waits until it is written. UNIMPLEMENTED
// for a dtype or a device that DLPack does not have.
StatusOr<DLManagedTensorVersioned*> ExportDLPack(const Tensor& tensor);

// The device whose memory ImportDLPack takes besides the host's.
struct DLPackDevice {
  int32_t type = 0;  // 0: none
  int32_t id = 0;
  // Makes the tensor. `release` must be called once, when nothing uses the memory any more.
  std::function<Tensor(DataType dtype, const Shape& shape, void* data, size_t bytes,
                       std::function<void()> release)>
      wrap;
};

// Imports the memory as a tensor that is never written; copies host memory if the elements are not
// aligned. Takes ownership of the struct unless it fails. UNIMPLEMENTED for another major version,
// memory of another device, or an unsupported dtype; INVALID_ARGUMENT if it is not dense and
// row-major, and for elements of a device that are not aligned.
StatusOr<Tensor> ImportDLPack(DLManagedTensorVersioned* managed, const DLPackDevice& device = {});

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_DLPACK_H_
