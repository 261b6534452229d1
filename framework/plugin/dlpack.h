// Exchanges tensors with other frameworks by DLPack 1.x (https://dmlc.github.io/dlpack), without
// copies.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_DLPACK_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_DLPACK_H_

#include <cstdint>

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
// it. Read-only unless `tensor` holds the only reference to its buffer. UNIMPLEMENTED for a dtype
// that DLPack does not have.
StatusOr<DLManagedTensorVersioned*> ExportDLPack(const Tensor& tensor);

// Imports the memory as a tensor that is never written; copies it if the elements are not aligned.
// Takes ownership of the struct unless it fails. UNIMPLEMENTED for another major version, memory
// other than host memory, or an unsupported dtype; INVALID_ARGUMENT if it is not dense and
// row-major.
StatusOr<Tensor> ImportDLPack(DLManagedTensorVersioned* managed);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_DLPACK_H_
