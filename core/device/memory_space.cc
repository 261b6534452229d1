#include "core/device/memory_space.h"

#include <algorithm>
#include <string>

#include "core/device/find_kernel.h"
#include "core/graph/structural_role.h"
#include "framework/op_def.h"

namespace millstream {
namespace {

bool IsAlwaysInHost(DataType dtype) {
  return dtype == DataType::kString || dtype == DataType::kResource || dtype == DataType::kVariant;
}

bool IsOfShapes(DataType dtype) {
  return dtype == DataType::kInt32 || dtype == DataType::kInt64 || dtype == DataType::kBool;
}

// Calls that give on what they get, of any dtype; an input that says what they do comes second.
bool PassesOn(const OpCall& call) {
  switch (RoleOf(call.op->name)) {
    case StructuralRole::kIdentity:
    case StructuralRole::kReshape: return true;
    case StructuralRole::kControlFlow: return call.op->name != "LoopCond";
    default: return false;
  }
}

bool IsOfVariable(const OpCall& call) {
  return call.op->name == "ReadVariableOp" || call.op->name == "AssignVariableOp" ||
         call.op->name == "_TakeVariable";
}

// Core's kernels that look at a tensor's elements make text of them, or shapes.
void MarkWhatCoreComputes(const OpCall& call, MemorySpaces* spaces) {
  const bool makes_text = call.num_outputs() == 1 && call.output_type(0) == DataType::kString;
  const bool passes_on = PassesOn(call);
  const bool has_index = call.op->name == "Merge" || call.op->name == "RefMerge";
  for (int k = 0; k < call.num_inputs(); ++k) {
    const bool passes_all = has_index || RoleOf(call.op->name) == StructuralRole::kIdentity;
    const bool is_passed = passes_on && (k == 0 || passes_all);
    const bool is_host = makes_text || (!is_passed && IsOfShapes(call.input_type(k)));
    if (is_host) spaces->input_in_host[k] = true;
  }
  for (int k = 0; k < call.num_outputs(); ++k) {
    const bool is_passed = passes_on && !(has_index && k == 1);
    if (!is_passed && IsOfShapes(call.output_type(k))) spaces->output_in_host[k] = true;
  }
}

// The plugin's kernel that runs the node; null when it is core that does.
const KernelRegistration* PluginKernel(const Node& node, const std::string& device_type) {
  if (RoleOf(node.op().name) != StructuralRole::kKernel) return nullptr;
  const auto kernel = FindKernel(node, device_type);
  return kernel.ok() && (*kernel)->device_type != kAnyDevice ? *kernel : nullptr;
}

// Whether core's kernel of the node has all its tensors in host memory.
bool HasAllInHost(const Node& node, const std::string& device_type) {
  if (RoleOf(node.op().name) != StructuralRole::kKernel) return false;
  const auto kernel = FindKernel(node, device_type);
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

MemorySpaces HostMemorySpaces(const OpCall& call) {
  MemorySpaces spaces;
  spaces.input_in_host.assign(call.num_inputs(), true);
  spaces.output_in_host.assign(call.num_outputs(), true);
  return spaces;
}

MemorySpaces MemorySpacesOf(const Node& node, const std::string& device_type) {
  const OpCall call = node.call();
  MemorySpaces spaces;
  for (int k = 0; k < call.num_inputs(); ++k) {
    spaces.input_in_host.push_back(IsAlwaysInHost(call.input_type(k)));
  }
  for (int k = 0; k < call.num_outputs(); ++k) {
    spaces.output_in_host.push_back(IsAlwaysInHost(call.output_type(k)));
  }
  if (HasAllInHost(node, device_type)) {
    std::fill(spaces.input_in_host.begin(), spaces.input_in_host.end(), true);
    std::fill(spaces.output_in_host.begin(), spaces.output_in_host.end(), true);
    return spaces;
  }
  const KernelRegistration* const kernel = PluginKernel(node, device_type);
  spaces.reads_on_device = kernel != nullptr || IsOfVariable(call);
  if (spaces.reads_on_device && kernel == nullptr) return spaces;
  if (kernel == nullptr) {
    MarkWhatCoreComputes(call, &spaces);
    spaces.passes_on = PassesOn(call);
    return spaces;
  }
  if (kernel->host_args.empty()) return spaces;
  const NodeSignature& signature = *call.signature;
  MarkHostArguments(*kernel, call.op->inputs, signature.input_starts, &spaces.input_in_host);
  MarkHostArguments(*kernel, call.op->outputs, signature.output_starts, &spaces.output_in_host);
  return spaces;
}

}  // namespace millstream
