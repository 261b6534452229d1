#include "core/plan/loop_node.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/graph/error_details.h"
#include "core/host/kernel_host.h"
#include "core/plan/inner_values.h"
#include "core/plan/plan_executor.h"

namespace millstream {
namespace {

// Instructions between two looks at the clock.
constexpr size_t kInstructionsBetweenChecks = 64;
constexpr char kLoopDetail[] = "\n  loop: iteration ";

// One run of a loop.
class LoopRun {
 public:
  LoopRun(const LoopBody& body, InnerPlans* condition, InnerPlans* iteration,
          const LoopSumPlans& sums, MS_Frame* frame)
      : body_(body),
        condition_(*condition),
        iteration_(*iteration),
        frame_(frame),
        host_(*frame->ctx->host),
        sums_(body, sums, host_.step, host_.trace) {}
  Status Run();

 private:
  // What the plans are fed, and the values of the sums.
  absl::Span<Tensor> Feeds() { return absl::MakeSpan(values_).first(values_.size() - num_sums()); }
  absl::Span<Tensor> Sums() { return absl::MakeSpan(values_).last(num_sums()); }
  size_t num_sums() const { return body_.sums.size(); }
  StatusOr<bool> HasFirst();
  StatusOr<bool> GoesOn(const PlanRun& run, size_t fetch) const;
  Status Iterate();
  Status WithIteration(const Status& status) const;

  const LoopBody& body_;
  InnerPlans& condition_;
  InnerPlans& iteration_;
  MS_Frame* const frame_;
  KernelHost& host_;
  int64_t number_ = 0;  // of the iteration
  // Of the variables in this iteration, then of the invariants, then of the sums.
  std::vector<Tensor> values_;
  LoopSums sums_;
};

StatusOr<bool> LoopRun::GoesOn(const PlanRun& run, size_t fetch) const {
  StatusOr<bool> goes_on = run.FetchedBool(fetch);
  if (goes_on.ok()) return goes_on;
  return WithErrorText(goes_on.status(),
                       absl::StrCat("the condition of loop '", body_.frame,
                                    "': 'input' of LoopCond ", goes_on.status().message()));
}

StatusOr<bool> LoopRun::HasFirst() {
  MS_ASSIGN_OR_RETURN(Plan* const plan, condition_.For(Feeds(), nullptr));
  PlanRun run(plan, plan->device_name);
  MS_RETURN_IF_ERROR(run.BeginInside(host_.step, host_.trace, Feeds()));
  MS_RETURN_IF_ERROR(run.RunCalls());
  MS_ASSIGN_OR_RETURN(const bool has_first, GoesOn(run, 0));
  run.EndInside();
  return has_first;
}

Status LoopRun::Iterate() {
  MS_ASSIGN_OR_RETURN(Plan* const plan, iteration_.For(Feeds(), &body_));
  PlanRun run(plan, plan->device_name);
  MS_RETURN_IF_ERROR(run.BeginInside(host_.step, host_.trace, Feeds()));
  const auto variables = absl::MakeSpan(values_).first(body_.num_variables);
  size_t unchecked = 0;
  while (true) {
    MS_RETURN_IF_ERROR(run.RunCalls());
    MS_ASSIGN_OR_RETURN(const bool goes_on, GoesOn(run, body_.num_variables));
    if (num_sums() > 0) MS_RETURN_IF_ERROR(sums_.Add(run, Sums()));
    MS_RETURN_IF_ERROR(run.Carry(variables));
    if (!goes_on) break;
    ++number_;
    unchecked += plan->instructions.size() + 1;
    if (unchecked > kInstructionsBetweenChecks) {
      unchecked = 0;
      MS_RETURN_IF_ERROR(host_.step->CheckInterruption());
    }
    MS_RETURN_IF_ERROR(run.Repeat());
  }
  run.EndInside();
  return sums_.Finish(Sums());
}

// The innermost loop tells its iteration.
Status LoopRun::WithIteration(const Status& status) const {
  const bool is_told =
      status.ok() || StatusNode(status).empty() || absl::StrContains(status.message(), kLoopDetail);
  if (is_told) return status;
  return WithErrorText(status, absl::StrCat(status.message(), kLoopDetail, number_, " of frame '",
                                            body_.frame, "'"));
}

Status LoopRun::Run() {
  MS_ASSIGN_OR_RETURN(values_, TakeInputs(frame_, 0));
  const StatusOr<bool> has_first = HasFirst();
  if (!has_first.ok()) return WithIteration(has_first.status());
  if (*has_first) MS_RETURN_IF_ERROR(WithIteration(Iterate()));
  for (uint32_t j = 0; j < frame_->n_out; ++j) {
    MS_RETURN_IF_ERROR(GiveOutput(frame_, j, values_[body_.exits[j]]));
  }
  return absl::OkStatus();
}

}  // namespace

LoopNode::LoopNode(std::shared_ptr<const LoopBody> body, const InnerSite& site)
    : body_(std::move(body)),
      condition_(&body_->condition, 0, site),
      iteration_(&body_->iteration, body_->num_variables, site) {
  for (const LoopSum& sum : body_->sums) {
    sums_.push_back(std::make_unique<InnerPlans>(&sum.graph, 1, site));
  }
}

Status LoopNode::Run(MS_Frame* frame) {
  return LoopRun(*body_, &condition_, &iteration_, sums_, frame).Run();
}

}  // namespace millstream
