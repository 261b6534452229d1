// A call of an op as its kernel sees it during create, or a plugin's shape or gradient function,
// and the table "ms.kernel/1".
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_KERNEL_INFO_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_KERNEL_INFO_H_

#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "framework/attr_value.h"
#include "framework/op_call.h"
#include "framework/plugin/plugin.h"

// Borrows its arguments. Lives for one call of create, or of another function of a plugin, on its
// thread.
struct MS_KernelInfo {
  MS_KernelInfo(const millstream::OpCall& op_call, absl::string_view device,
                absl::string_view kernel_plugin = "")
      : call(op_call), device_name(device), plugin(kernel_plugin) {}
  MS_KernelInfo(const MS_KernelInfo&) = delete;
  MS_KernelInfo& operator=(const MS_KernelInfo&) = delete;

  const millstream::OpCall call;
  const absl::string_view device_name;  // empty for functions of an op
  const absl::string_view plugin;       // whose kernel it is; empty for functions of an op
  const MS_DeviceContext* device =
      nullptr;  // where the kernel is made; null for functions of an op

  // Lists in the form that the getters return, kept until create returns.
  mutable std::deque<std::vector<MS_Str>> texts;
  mutable std::deque<std::vector<MS_DType>> dtypes;
  mutable std::deque<std::vector<MS_Dims>> shapes;
  mutable std::deque<std::vector<uint8_t>> truths;
  mutable std::deque<std::vector<MS_TensorView>> tensors;
};

namespace millstream {

const MS_Table* KernelInterface();

// The dims of a shape, borrowed.
MS_Dims DimsToAbi(const Shape& shape);
MS_Dims DimsToAbi(const PartialShape& shape);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_KERNEL_INFO_H_
