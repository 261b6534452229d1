#include "core/device/memory_space.h"

#include <algorithm>
#include <string>

#include "core/graph/structural_role.h"
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

// Nodes that give on what they get, of any dtype; an input that says what they do comes second.
bool PassesOn(const Node& node) {
  switch (RoleOf(node.op().name)) {
    case StructuralRole::kIdentity:
    case StructuralRole::kReshape: return true;
    case StructuralRole::kControlFlow: return node.op().name != "LoopCond";
    default: return false;
  }
}

bool IsOfVariable(const Node& node) {
  return node.op().name == "ReadVariableOp" || node.op().name == "AssignVariableOp";
}

// Core's kernels that look at a tensor's elements make text of them, or shapes.
void MarkWhatCoreComputes(const Node& node, MemorySpaces* spaces) {
  const bool makes_text = node.num_outputs() == 1 && node.output_type(0) == DataType::kString;
  const bool passes_on = PassesOn(node);
  const bool has_index = node.op().name == "Merge" || node.op().name == "RefMerge";
  for (int k = 0; k < node.num_inputs(); ++k) {
    const bool passes_all = has_index || RoleOf(node.op().name) == StructuralRole::kIdentity;
    const bool is_passed = passes_on && (k == 0 || passes_all);
    const bool is_host = makes_text || (!is_passed && IsOfShapes(node.input(k).dtype()));
    if (is_host) spaces->input_in_host[k] = true;
  }
  for (int k = 0; k < node.num_outputs(); ++k) {
    const bool is_passed = passes_on && !(has_index && k == 1);
    if (!is_passed && IsOfShapes(node.output_type(k))) spaces->output_in_host[k] = true;
  }
}

// The plugin's kernel that runs the node; null when it is core that does.
const KernelRegistration* PluginKernel(const Node& node, const std::string& device_type) {
  if (RoleOf(node.op().name) != StructuralRole::kKernel) return nullptr;
  const auto kernel = KernelRegistry::Global()->Find(node.op().name, device_type, node.attrs());
  return kernel.ok() && (*kernel)->device_type != kAnyDevice ? *kernel : nullptr;
}

// Whether core's kernel of the node has all its tensors in host memory.
bool HasAllInHost(const Node& node, const std::string& device_type) {
  if (RoleOf(node.op().name) != StructuralRole::kKernel) return false;
  const auto kernel = KernelRegistry::Global()->Find(node.op().name, device_type, node.attrs());
  return kernel.ok() && (*kernel)->has_all_in_host;
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

MemorySpaces HostMemorySpaces(const Node& node) {
  MemorySpaces spaces;
  spaces.input_in_host.assign(node.num_inputs(), true);
  spaces.output_in_host.assign(node.num_outputs(), true);
  return spaces;
}

MemorySpaces MemorySpacesOf(const Node& node, const std::string& device_type) {
  MemorySpaces spaces;
  for (int k = 0; k < node.num_inputs(); ++k) {
    spaces.input_in_host.push_back(IsAlwaysInHost(node.input(k).dtype()));
  }
  for (int k = 0; k < node.num_outputs(); ++k) {
    spaces.output_in_host.push_back(IsAlwaysInHost(node.output_type(k)));
  }
  if (HasAllInHost(node, device_type)) {
    std::fill(spaces.input_in_host.begin(), spaces.input_in_host.end(), true);
    std::fill(spaces.output_in_host.begin(), spaces.output_in_host.end(), true);
    return spaces;
  }
  const KernelRegistration* const kernel = PluginKernel(node, device_type);
  spaces.reads_on_device = kernel != nullptr || IsOfVariable(node);
  if (spaces.reads_on_device && kernel == nullptr) return spaces;
  if (kernel == nullptr) {
    MarkWhatCoreComputes(node, &spaces);
    spaces.passes_on = PassesOn(node);
    return spaces;
  }
  if (kernel->host_args.empty()) return spaces;
  const StatusOr<NodeSignature> signature = ExpandSignature(node.op(), node.attrs());
  if (!signature.ok()) return spaces;  // no such node was added to a graph
  MarkHostArguments(*kernel, node.op().inputs, signature->input_starts, &spaces.input_in_host);
  MarkHostArguments(*kernel, node.op().outputs, signature->output_starts, &spaces.output_in_host);
  return spaces;
}

}  // namespace millstream
