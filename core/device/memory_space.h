// Which tensors of a call are in host memory, on a device that has memory of its own.
#ifndef MILLSTREAM_CORE_DEVICE_MEMORY_SPACE_H_
#define MILLSTREAM_CORE_DEVICE_MEMORY_SPACE_H_

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "framework/op_call.h"

namespace millstream {

// By input and by output.
struct MemorySpaces {
  std::vector<bool> input_in_host;
  std::vector<bool> output_in_host;
  // Inputs that are not in host memory must be in device memory. False: they may be in either.
  bool reads_on_device = false;
  // Output i is input i, in the same memory. With one output: input 0.
  bool passes_on = false;
};

// On a device that works in host memory (DeviceTraits::host_memory) everything is there.
MemorySpaces HostMemorySpaces(const OpCall& call);

// What the kernel for the node wants and gives on a device of `device_type`, which has memory of
// its own. Strings, variants and resource handles are in host memory. A plugin's kernel has its
// host arguments there (MS_KernelDef.host_args) and the rest in the device's memory, as the values
// of variables are. Of core's own kernels, those that pass tensors on or read their shapes alone
// take them where they are; what they compute, and compute with, is in host memory.
MemorySpaces MemorySpacesOf(const Node& node, const std::string& device_type);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_MEMORY_SPACE_H_
