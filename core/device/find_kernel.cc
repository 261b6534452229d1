#include "core/device/find_kernel.h"

#include <vector>

#include "framework/plugin/host_status.h"
#include "framework/plugin/kernel_info.h"

namespace millstream {
namespace {

// Asks the kernel whether it takes the call.
Status Ask(const KernelRegistration& kernel, const OpCall& call, const std::vector<MS_Dims>& inputs,
           const std::vector<MS_Dims>& outputs) {
  const MS_KernelInfo info(call, "", kernel.plugin);
  MS_SupportsQuery query = {};
  query.head.size = sizeof(query);
  query.info = &info;
  query.inputs = inputs.data();
  query.outputs = outputs.data();
  query.n_in = static_cast<uint32_t>(inputs.size());
  query.n_out = static_cast<uint32_t>(outputs.size());
  return TakeAbiStatus(kernel.supports(kernel.user, &query));
}

// Asks about the node with its static shapes in the program's graph.
KernelRegistry::Question QuestionAbout(const Node& node) {
  const Node& program_node = *node.origin();
  return [&program_node](const KernelRegistration& kernel) {
    std::vector<MS_Dims> inputs;
    std::vector<MS_Dims> outputs;
    for (const Output& input : program_node.inputs()) {
      inputs.push_back(DimsToAbi(input.node->facts(input.index).shape));
    }
    for (int i = 0; i < program_node.num_outputs(); ++i) {
      outputs.push_back(DimsToAbi(program_node.facts(i).shape));
    }
    return Ask(kernel, program_node.call(), inputs, outputs);
  };
}

}  // namespace

StatusOr<const KernelRegistration*> FindKernel(const Node& node, absl::string_view device_type) {
  return KernelRegistry::Global()->Find(node.op().name, device_type, node.attrs(),
                                        QuestionAbout(node));
}

std::string KernelRefusals(const Node& node, absl::string_view device_type) {
  return KernelRegistry::Global()->Refusals(node.op().name, device_type, node.attrs(),
                                            QuestionAbout(node));
}

StatusOr<const KernelRegistration*> FindKernel(const OpCall& call, std::vector<MS_Dims> inputs,
                                               absl::string_view device_type) {
  const std::vector<MS_Dims> outputs(call.num_outputs(), MS_Dims{nullptr, MS_UNKNOWN_RANK, 0});
  return KernelRegistry::Global()->Find(
      call.op->name, device_type, *call.attrs,
      [&](const KernelRegistration& kernel) { return Ask(kernel, call, inputs, outputs); });
}

}  // namespace millstream
