#include "core/plan/plan_constants.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "core/device/kernel_instance.h"
#include "core/host/run_op_call.h"
#include "core/plan/folded_values.h"
#include "core/plan/running_steps.h"
#include "core/step/session_settings.h"

namespace millstream {
namespace {

// What may stop the step that waits for the plan may stop the constants too.
RunOptions Untraced(const RunOptions* run) {
  RunOptions options = run == nullptr ? RunOptions() : *run;
  options.report = nullptr;
  return options;
}

}  // namespace

PlanConstants::PlanConstants(const PlanRequest& request)
    : request_(request), run_(Untraced(request.run)), waiting_step_(run_, *request.settings) {}

StatusOr<std::vector<Tensor>> PlanConstants::Evaluate(const StepOp& op,
                                                      const std::vector<Tensor>& inputs,
                                                      int64_t max_bytes) {
  MS_RETURN_IF_ERROR(waiting_step_.CheckInterruption());
  // Other constants may follow from the shapes of the feeds.
  const bool lasts = absl::c_all_of(op.inputs, [this](const Output& input) {
    return lasting_.contains(input) || Graph::ConstantValue(input) != nullptr;
  });
  if (lasts) lasting_.insert(op.outputs.begin(), op.outputs.end());
  if (lasts && request_.folded != nullptr && op.outputs.size() == 1) {
    const std::optional<Tensor> known = request_.folded->Find(op.outputs[0]);
    if (known.has_value()) return std::vector<Tensor>{*known};
  }
  const KernelCache& kernels =
      request_.host_kernels == nullptr ? *request_.kernels : *request_.host_kernels;
  const SessionSettings& settings = *request_.settings;
  if (settings.running != nullptr) settings.running->AddConstant(op.node);
  StatusOr<std::vector<Tensor>> values = RunOpCall(
      op.node->call(), inputs,
      {kernels.device_type(), kernels.device_name(), kernels.device(), settings, run_, max_bytes});
  if (settings.running != nullptr) settings.running->RemoveConstant(op.node);
  if (!absl::IsDeadlineExceeded(values.status())) return values;
  return AnnotateWithNode(values.status(), *op.node);
}

Tensor PlanConstants::Share(const Output& output, const Tensor& value) const {
  const bool is_shared = request_.folded != nullptr && lasting_.contains(output);
  return is_shared ? request_.folded->Share(output, value) : value;
}

}  // namespace millstream
