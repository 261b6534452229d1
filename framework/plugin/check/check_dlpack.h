// Tensors that kernels lend to the host through DLPack.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_DLPACK_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_DLPACK_H_

#include "framework/plugin/check/memory_block.h"
#include "framework/plugin/dlpack.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream::plugin_check {

// As ImportDLPack, for memory of the host and of the place. Until the tensor is gone, whoever calls
// the struct's deleter breaks a rule.
StatusOr<Tensor> ImportLent(DLManagedTensorVersioned* managed, const Place& place);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_DLPACK_H_
