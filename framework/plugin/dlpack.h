// Tensors through DLPack 1.x (https://dmlc.github.io/dlpack), the form in which frameworks lend
// each other memory.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_DLPACK_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_DLPACK_H_

#include <cstdint>

#include "framework/status.h"
#include "framework/tensor.h"

// The layout that dlpack.h gives these names; they are its, and so outside our namespace.
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

// Lends the tensor's memory; the struct's deleter, which may be called on any thread, gives it
// back. Read-only unless the tensor's buffer is `tensor`'s alone. UNIMPLEMENTED for a dtype that
// DLPack does not have.
StatusOr<DLManagedTensorVersioned*> ExportDLPack(const Tensor& tensor);

// The same memory as a tensor that is never written; a copy when its elements are not aligned.
// Takes the struct over unless it fails: UNIMPLEMENTED for another major version, other memory than
// the host's, a dtype without counterpart; INVALID_ARGUMENT for what is not dense and row-major.
StatusOr<Tensor> ImportDLPack(DLManagedTensorVersioned* managed);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_DLPACK_H_
