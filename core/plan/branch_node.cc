#include "core/plan/branch_node.h"

#include <utility>
#include <vector>

#include "core/host/kernel_host.h"
#include "core/plan/inner_values.h"
#include "core/plan/plan_executor.h"

namespace millstream {
namespace {

StatusOr<bool> Predicate(const MS_TensorView& view) {
  if (view.rank != 0 || view.dtype != MS_BOOL) {
    return errors::InvalidArgument("the predicate of a conditional must be a scalar bool");
  }
  return *reinterpret_cast<const bool*>(static_cast<const char*>(view.mem.base) + view.mem.offset);
}

int NumFeeds(const InnerGraph& graph) { return static_cast<int>(graph.signature.feeds.size()); }

}  // namespace

BranchNode::BranchNode(std::shared_ptr<const BranchBody> body, const InnerSite& site)
    : body_(std::move(body)),
      on_false_(&body_->on_false, NumFeeds(body_->on_false), site),
      on_true_(&body_->on_true, NumFeeds(body_->on_true), site) {}

Status BranchNode::Run(MS_Frame* frame) {
  KernelHost& host = *frame->ctx->host;
  MS_ASSIGN_OR_RETURN(const bool predicate, Predicate(frame->inputs[0]));
  MS_ASSIGN_OR_RETURN(std::vector<Tensor> values, TakeInputs(frame, 1));
  InnerPlans& plans = predicate ? on_true_ : on_false_;
  MS_ASSIGN_OR_RETURN(Plan* const plan, plans.For(values, nullptr));
  PlanRun run(plan, plan->device_name);
  MS_RETURN_IF_ERROR(run.BeginInside(host.step, host.trace, values));
  MS_RETURN_IF_ERROR(run.RunCalls());
  for (uint32_t j = 0; j < frame->n_out; ++j) {
    MS_ASSIGN_OR_RETURN(Tensor value, run.Take(j));
    MS_RETURN_IF_ERROR(GiveOutput(frame, j, std::move(value)));
  }
  run.EndInside();
  return absl::OkStatus();
}

}  // namespace millstream
