// Copies tensors to the memory that kernels need, on a device that has its own memory. The executor
// decides it when a node runs, because tensors that control flow passes on may be in either memory.
#include <utility>

#include "core/dynamic/dynamic_run.h"

namespace millstream {

bool DynamicRun::OutputIsInHost(const MS_Ctx& ctx, uint32_t output) const {
  const auto& execution = static_cast<const Execution&>(ctx);
  return program_.output_in_host[execution.program->first_output + output];
}

// The thread waits for the copy, because the value decides which nodes run next.
StatusOr<Tensor> DynamicRun::InHost(const Tensor& tensor) {
  return program_.memory->ReadOnHost(tensor, [this] { return step->CheckInterruption(); });
}

StatusOr<Value> DynamicRun::MoveTo(bool to_host, const ValueSource& source, const Tensor& tensor) {
  if (to_host) {
    MS_ASSIGN_OR_RETURN(Tensor moved, InHost(tensor));
    return Value(std::move(moved));
  }
  // What is fed may be read in every iteration.
  Value* const kept =
      source.place == ValuePlace::kFeed ? &state_->device_feeds[source.index] : nullptr;
  if (kept != nullptr && kept->tensor.has_value()) return *kept;
  MS_ASSIGN_OR_RETURN(Tensor moved, program_.memory->CopyToDevice(tensor));
  if (kept != nullptr) *kept = Value(moved);
  return Value(std::move(moved));
}

Status DynamicRun::MoveInputs(Execution* execution) {
  execution->moved.clear();
  const NodeProgram& node = *execution->program;
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    const WantedSpace wanted = program_.wanted[node.first_input + i];
    const ValueSource source = program_.inputs[node.first_input + i];
    const Tensor& tensor = ValueAt(source, *execution->iteration).tensor;
    if (!tensor.has_value() || wanted == WantedSpace::kAnywhere) continue;
    const bool to_host = wanted == WantedSpace::kHost;
    if (tensor.is_on_device() != to_host) continue;
    if (execution->moved.empty()) execution->moved.resize(node.num_inputs);
    MS_ASSIGN_OR_RETURN(execution->moved[i], MoveTo(to_host, source, tensor));
    execution->input_views[i] = execution->moved[i].view;
  }
  return absl::OkStatus();
}

// Copies the tensor to memory that does not belong to a device.
StatusOr<Tensor> DynamicRun::CopyForCaller(const Tensor& tensor) {
  if (!tensor.is_on_device()) return tensor.DeepCopy();
  MS_ASSIGN_OR_RETURN(const Tensor copied, InHost(tensor));
  return copied.DeepCopy();
}

// Adds the tensors of slots that are in the memory of the kernels.
std::vector<LiveTensor> DynamicRun::LiveTensors() const {
  std::vector<LiveTensor> live;
  for (const DynamicState::Pool& pool : state_->pools) {
    for (const std::unique_ptr<Iteration>& iteration : pool.iterations) {
      if (iteration->filled_slots > 0) AddLive(*iteration, &live);
    }
  }
  if (program_.resources_of_session != nullptr) {
    AddVariables(*program_.resources_of_session, program_.memory, &live);
  }
  return live;
}

void DynamicRun::AddLive(const Iteration& iteration, std::vector<LiveTensor>* live) const {
  for (const NodeProgram& node : program_.nodes) {
    if (&program_.frames[node.output_frame] != iteration.frame->program) continue;
    for (uint32_t k = 0; k < node.num_outputs; ++k) {
      const uint32_t slot = program_.outputs[node.first_output + k].slot;
      if (slot == kNoIndex) continue;
      const Tensor& tensor = iteration.slots[slot].value.tensor;
      const bool is_here = tensor.is_on_device() == (program_.memory != nullptr);
      if (!tensor.has_value() || !is_here) continue;
      live->push_back(LiveTensor::Of(node.node->output(static_cast<int>(k)), tensor.dtype(),
                                     tensor.shape(), static_cast<int64_t>(tensor.bytes())));
    }
  }
}

}  // namespace millstream
