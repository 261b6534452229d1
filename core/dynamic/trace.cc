// The trace of the nodes that the dynamic executor ran.
#include <utility>

#include "core/dynamic/dynamic_run.h"
#include "core/step/step_trace.h"

namespace millstream {

// Records the execution of a node that started at `start` and has just ended. Outputs that left the
// iteration, or that have no readers, are not recorded.
void DynamicRun::Trace(const NodeProgram& node, const Iteration& iteration, int64_t start) {
  TracedNode traced;
  traced.name = node.node->name();
  traced.op = node.node->op().name;
  for (const Output& input : node.node->inputs()) traced.inputs.push_back(input.node->name());
  traced.start = start;
  traced.end = StepTrace::Now();
  traced.thread = StepTrace::ThisThread();
  for (uint32_t k = 0; k < node.num_outputs && node.frame == node.output_frame; ++k) {
    const uint32_t slot = program_.outputs[node.first_output + k].slot;
    if (slot == kNoIndex) continue;
    const Tensor& tensor = iteration.slots[slot].value.tensor;
    if (!tensor.has_value()) continue;
    TracedOutput output;
    output.index = static_cast<int>(k);
    output.dtype = tensor.dtype();
    output.shape = tensor.shape();
    output.bytes = static_cast<int64_t>(tensor.bytes());
    output.allocated = node.action == NodeAction::kKernel || node.action == NodeAction::kAsync ||
                       node.action == NodeAction::kBlocking;
    traced.outputs.push_back(std::move(output));
  }
  trace_->nodes.push_back(std::move(traced));
  if (device_ != nullptr && node.action == NodeAction::kKernel) device_->KeepSpan();
}

}  // namespace millstream
