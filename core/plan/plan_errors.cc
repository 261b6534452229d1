// PlanRun: the details of errors, warnings and crashes about an instruction.
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/graph/error_details.h"
#include "core/plan/plan_executor.h"
#include "core/resources/memory_report.h"
#include "core/step/float_control.h"
#include "framework/plugin/running_code.h"

namespace millstream {

// Adds the details of the node to an error: name, op, device, inputs, the user's line.
Status PlanRun::Annotate(int position, const Status& status) const {
  const Instruction& instruction = plan_.instructions[position];
  std::vector<std::string> inputs;
  for (const ValueRef& value : instruction.inputs) {
    inputs.push_back(absl::StrCat(DataTypeName(plan_.roots[value.root].dtype),
                                  value.shape_known ? value.shape.ToString() : ""));
  }
  Status described = status;
  if (!inputs.empty()) described = WithErrorDetail(described, "inputs", JoinInputs(inputs));
  described = WithNodeIteration(described, plan_.iterations.get(), instruction.node);
  const Status placed = WithErrorPlace(described, device_name_, plan_.memory);
  const Status named = AnnotateWithNode(placed, *instruction.node);
  if (!absl::IsResourceExhausted(named)) return named;
  return WithLargest(named, state_->LiveTensors(position));
}

Status PlanRun::OutOfMemory(const Root& root, const Status& reason) const {
  // A device that failed is not one that is full.
  if (!absl::IsResourceExhausted(reason)) return AnnotateWithNode(reason, *root.source.node);
  const Status full = errors::ResourceExhausted("out of memory: no ", root.bytes(), " bytes for ",
                                                root.source.name(), " ", DataTypeName(root.dtype),
                                                root.shape.ToString(), ": ", reason.message());
  const Status placed = WithNodeIteration(full, plan_.iterations.get(), root.source.node);
  return WithLargest(AnnotateWithNode(placed, *root.source.node), state_->LiveTensors(0));
}

// Adds the last instruction to the error of a step that exceeded its time limit.
Status PlanRun::CheckInterruption(int last) {
  Status interrupted = step_->CheckInterruption();
  if (!absl::IsDeadlineExceeded(interrupted) || last < 0) return interrupted;
  return Status(interrupted.code(),
                absl::StrCat(interrupted.message(), "; last ran ",
                             plan_.instructions[last].node->Describe(), ", on ", device_name_));
}

void PlanRun::RestoreAfter(int position, uint32_t control) const {
  const Instruction& instruction = plan_.instructions[position];
  CrashLine line;
  millstream::DescribeRunning(instruction.node->call(), instruction.kernel, &line);
  RestoreFloatControl(control, line.text());
}

void PlanRun::RestoreAfterStep(uint32_t control) const {
  float_control_is_watched.store(true, std::memory_order_relaxed);
  std::set<std::string> plugins;
  for (const Instruction& instruction : plan_.instructions) {
    if (instruction.kernel != nullptr) plugins.insert(instruction.kernel->registration().plugin);
  }
  RestoreFloatControl(
      control, absl::StrCat("a kernel of a step, of plugin ", absl::StrJoin(plugins, " or "), ","));
}

// Describes the instruction at `position`. Called in a signal handler.
void PlanRun::DescribeRunning(const void* run, CrashLine* line) {
  const PlanRun& crashed = *static_cast<const PlanRun*>(run);
  const int position = crashed.state_->position;
  if (position >= static_cast<int>(crashed.plan_.instructions.size())) return;
  const Instruction& instruction = crashed.plan_.instructions[position];
  millstream::DescribeRunning(instruction.node->call(), instruction.kernel, line);
}

}  // namespace millstream
