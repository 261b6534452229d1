// PlanRun: the trace of a run.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/plan/plan_executor.h"

namespace millstream {
namespace {

// The ops of a node that a pass made of several nodes.
std::vector<std::string> FusedOps(const Node& node) {
  for (const char* attr : {"steps", "fused_ops"}) {
    StatusOr<std::vector<std::string>> ops = node.Attr<std::vector<std::string>>(attr);
    if (ops.ok()) return *std::move(ops);
  }
  return {};
}

bool IsCopy(const Instruction& instruction) {
  return instruction.transfer == TransferKind::kToDevice ||
         instruction.transfer == TransferKind::kToHost;
}

// A copy between a device and the host stands for no node of the program.
std::string TracedName(const Instruction& instruction) {
  const std::string& name = instruction.node->name();
  if (!IsCopy(instruction)) return name;
  const bool to_host = instruction.transfer == TransferKind::kToHost;
  return absl::StrCat(name, to_host ? "/_to_host" : "/_to_device");
}

std::string TracedOp(const Instruction& instruction) {
  if (!IsCopy(instruction)) return instruction.node->op().name;
  return instruction.transfer == TransferKind::kToHost ? "_CopyToHost" : "_CopyToDevice";
}

// The Send of this Receive.
std::string SenderOf(const std::string& receive) {
  const size_t suffix = receive.rfind("/_");
  if (suffix == std::string::npos) return receive;
  return absl::StrCat(receive.substr(0, suffix),
                      absl::StrReplaceAll(receive.substr(suffix), {{"Recv", "Send"}}));
}

}  // namespace

void PlanRun::StartTraced(int position) {
  MS_Frame& frame = state_->frames[position];
  frame.flags |= MS_FRAME_TRACING;
  frame.correlation_id = step_->trace()->BeginExecution(TracedName(plan_.instructions[position]));
}

// By the names under which they are traced.
std::vector<std::string> PlanRun::TracedInputs(const Instruction& instruction) const {
  std::vector<std::string> names;
  if (instruction.transfer == TransferKind::kReceive) {
    names.push_back(SenderOf(instruction.node->name()));
    return names;
  }
  const bool by_node = instruction.reads.empty();
  const std::vector<Output>& inputs = by_node ? instruction.node->inputs() : instruction.reads;
  for (size_t k = 0; k < instruction.inputs.size(); ++k) {
    const Root& root = plan_.roots[instruction.inputs[k].root];
    const Instruction* const made = root.first < 0 ? nullptr : &plan_.instructions[root.first];
    const bool is_copy = made != nullptr && IsCopy(*made);
    const bool is_named = !IsCopy(instruction) && k < inputs.size();
    if (is_copy) {
      names.push_back(TracedName(*made));
    } else {
      names.push_back(is_named ? inputs[k].node->name() : root.source.node->name());
    }
  }
  return names;
}

// Records the execution of an instruction that started at `start` and has just ended.
void PlanRun::Trace(int position, int64_t start) {
  const Instruction& instruction = plan_.instructions[position];
  if (instruction.transfer == TransferKind::kAwaitHost) return;
  TracedNode traced;
  traced.name = TracedName(instruction);
  traced.op = TracedOp(instruction);
  if (!instruction.reads.empty()) traced.fused_ops = FusedOps(*instruction.node);
  traced.inputs = TracedInputs(instruction);
  traced.start = start;
  traced.end = StepTrace::Now();
  traced.thread = StepTrace::ThisThread();
  traced.scratch_bytes = instruction.scratch_bytes;
  for (const Tensor& temp : state_->temps) traced.scratch_bytes += temp.bytes();
  for (size_t k = 0; k < instruction.outputs.size(); ++k) {
    const Root& root = plan_.roots[instruction.outputs[k].root];
    const bool in_slab = root.kind == RootKind::kPlanned;
    const Tensor* const slot = in_slab ? nullptr : &state_->slots[root.index];
    if (!in_slab && !slot->has_value()) continue;
    TracedOutput output;
    output.index = static_cast<int>(k);
    output.dtype = root.dtype;
    output.shape = in_slab ? root.shape : slot->shape();
    output.bytes = in_slab ? root.bytes() : slot->bytes();
    output.allocated = !in_slab;
    traced.outputs.push_back(std::move(output));
  }
  trace_->nodes.push_back(std::move(traced));
  if (device_ != nullptr) device_->KeepSpan();
}

}  // namespace millstream
