#include "core/memory_space.h"

#include <algorithm>
#include <string>

#include "core/structural/structural.h"
#include "framework/op_def.h"
#include "framework/plugin/kernel_registry.h"

namespace millstream {
namespace {

bool IsAlwaysInHost(DataType dtype) {
  return dtype == DataType::kString || dtype == DataType::kResource;
}

bool IsOfShapes(DataType dtype) {
  return dtype == DataType::kInt32 || dtype == DataType::kInt64 || dtype == DataType::kBool;
}

// The plugin's kernel that runs the node; null when it is core that does.
const KernelRegistration* PluginKernel(const Node& node, const std::string& device_type) {
  if (RoleOf(node.op().name) != StructuralRole::kKernel) return nullptr;
  const auto kernel = KernelRegistry::Global()->Find(node.op().name, device_type, node.attrs());
  return kernel.ok() && (*kernel)->device_type != kAnyDevice ? *kernel : nullptr;
}

// Marks the tensors of the arguments that `kernel` has in host memory.
void MarkHostArguments(const KernelRegistration& kernel, const std::vector<ArgDef>& arguments,
                       const std::vector<int>& starts, std::vector<bool>* in_host) {
  for (size_t a = 0; a < arguments.size(); ++a) {
    const auto& names = kernel.host_args;
    if (std::find(names.begin(), names.end(), arguments[a].name) == names.end()) continue;
    std::fill(in_host->begin() + starts[a], in_host->begin() + starts[a + 1], true);
  }
}

}  // namespace

MemorySpaces MemorySpacesOf(const Node& node, const std::string& device_type) {
  MemorySpaces spaces;
  const bool is_cpu = device_type == "CPU";
  const KernelRegistration* const kernel = is_cpu ? nullptr : PluginKernel(node, device_type);
  const auto in_host = [&](DataType dtype) {
    return is_cpu || IsAlwaysInHost(dtype) || (kernel == nullptr && IsOfShapes(dtype));
  };
  for (int k = 0; k < node.num_inputs(); ++k) {
    spaces.input_in_host.push_back(in_host(node.input(k).dtype()));
  }
  for (int k = 0; k < node.num_outputs(); ++k) {
    spaces.output_in_host.push_back(in_host(node.output_type(k)));
  }
  if (kernel == nullptr || kernel->host_args.empty()) return spaces;
  const StatusOr<NodeSignature> signature = ExpandSignature(node.op(), node.attrs());
  if (!signature.ok()) return spaces;  // no such node was added to a graph
  MarkHostArguments(*kernel, node.op().inputs, signature->input_starts, &spaces.input_in_host);
  MarkHostArguments(*kernel, node.op().outputs, signature->output_starts, &spaces.output_in_host);
  return spaces;
}

}  // namespace millstream
