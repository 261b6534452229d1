// The kernel that runs a node.
#ifndef MILLSTREAM_CORE_DEVICE_FIND_KERNEL_H_
#define MILLSTREAM_CORE_DEVICE_FIND_KERNEL_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/graph/graph.h"
#include "framework/op_call.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

// The best kernel for the node on devices of the type, see KernelRegistry::Find. A kernel that
// takes some shapes or attributes only (MS_KernelDef.supports) is asked; it is told the static
// shapes in the program's graph, so that a node and its copies in the parts of a step have the same
// kernel. INVALID_ARGUMENT lists the kernels and why each does not fit.
StatusOr<const KernelRegistration*> FindKernel(const Node& node, absl::string_view device_type);
// The same for a call with inputs of these shapes.
StatusOr<const KernelRegistration*> FindKernel(const OpCall& call, std::vector<MS_Dims> inputs,
                                               absl::string_view device_type);

// Which kernels on devices of the type do not take the node's attributes or shapes, and why; empty
// if there is none.
std::string KernelRefusals(const Node& node, absl::string_view device_type);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_FIND_KERNEL_H_
