#include "core/session/step_plan.h"

#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "core/dynamic/dynamic_run.h"
#include "core/host/thread_team.h"
#include "core/partition/local_rendezvous.h"
#include "core/plan/plan_executor.h"
#include "core/plan/running_steps.h"
#include "core/step/step_context.h"
#include "core/step/step_scheduler.h"
#include "core/step/task_rendezvous.h"

namespace millstream {
namespace {

// One partition's share of a step.
struct RunningPart {
  const Partition* partition = nullptr;
  std::vector<Tensor> feeds;
  std::unique_ptr<StepPart> run;
};

std::unique_ptr<StepPart> MakeRun(const StepPlan& plan, size_t part,
                                  absl::string_view device_name) {
  Plan* const compiled = plan.parts[part].get();
  if (compiled != nullptr) return std::make_unique<PlanRun>(compiled, device_name);
  return std::make_unique<DynamicRun>(plan.programs[part], device_name);
}

std::vector<Tensor> Select(absl::Span<const Tensor> tensors, const std::vector<int>& indices) {
  std::vector<Tensor> selected;
  for (int index : indices) selected.push_back(tensors[index]);
  return selected;
}

Status FetchFrom(RunningPart* part, absl::Span<Tensor> fetches) {
  std::vector<Tensor> fetched(part->partition->fetches.size());
  MS_RETURN_IF_ERROR(part->run->Fetch(absl::MakeSpan(fetched)));
  for (size_t i = 0; i < fetched.size(); ++i) {
    fetches[part->partition->fetches[i]] = std::move(fetched[i]);
  }
  return absl::OkStatus();
}

// By the number of the edge: whether it leads to another task, or comes from one.
std::vector<bool> SharedEdges(const StepSite& site) {
  std::vector<bool> shared;
  for (const Transfer& transfer : site.partitions.transfers) {
    shared.push_back(site.own_devices[transfer.from] == nullptr ||
                     site.own_devices[transfer.to] == nullptr);
  }
  return shared;
}

// Begins the parts that this task runs.
Status BeginParts(const StepPlan& plan, const StepSite& site, absl::Span<const Tensor> feeds,
                  StepContext* step, std::vector<RunningPart>* running) {
  running->reserve(plan.parts.size());  // parts borrow their feeds
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    const Partition& partition = site.partitions.parts[p];
    const std::string& device = site.devices[partition.device].name;
    if (!plan.HasPart(p)) {
      if (step->options().other_tasks != nullptr) continue;
      return errors::FailedPrecondition("the step has a part on ", device,
                                        ", a device of another task, but the run has no "
                                        "rendezvous with other tasks");
    }
    RunningPart& part = running->emplace_back();
    part.partition = &partition;
    part.feeds = Select(feeds, partition.feeds);
    part.run = MakeRun(plan, p, device);
    MS_RETURN_IF_ERROR(part.run->Begin(step, part.feeds));
  }
  return absl::OkStatus();
}

// A step of several parts, or of one that may wait.
Status ExecuteParts(const StepPlan& plan, const StepSite& site, absl::Span<const Tensor> feeds,
                    absl::Span<Tensor> fetches, const RunOptions& options) {
  const SessionSettings& settings = site.settings;
  StepContext step(options, settings);
  StepScheduler scheduler(&step, settings.inter_op_threads,
                          absl::Milliseconds(settings.options.late_kernel_warning_ms));
  LocalRendezvous local;
  std::optional<TaskRendezvous> shared;
  step.rendezvous = &local;
  if (options.other_tasks != nullptr) {
    step.rendezvous = &shared.emplace(options.other_tasks, SharedEdges(site), &scheduler);
  }
  step.scheduler = &scheduler;
  std::vector<RunningPart> running;
  MS_RETURN_IF_ERROR(BeginParts(plan, site, feeds, &step, &running));
  std::vector<StepPart*> parts;
  for (const RunningPart& part : running) parts.push_back(part.run.get());
  // Parts that run at the same time would fight over one team of threads.
  step.holds_permit = step.needs_permit && step.max_threads > 1 && settings.inter_op_threads == 1 &&
                      ParallelPermit::TryAcquire();
  if (settings.running != nullptr) settings.running->Add(&scheduler);
  Status status = scheduler.Drive(parts);
  if (settings.running != nullptr) settings.running->Remove(&scheduler);
  if (step.holds_permit) ParallelPermit::Release();
  MS_RETURN_IF_ERROR(status);
  for (RunningPart& part : running) MS_RETURN_IF_ERROR(FetchFrom(&part, fetches));
  return absl::OkStatus();
}

}  // namespace

Status ExecuteStep(const StepPlan& plan, const StepSite& site, absl::Span<const Tensor> feeds,
                   absl::Span<Tensor> fetches, const RunOptions& options) {
  if (plan.direct != nullptr) {
    const int device = site.partitions.parts[0].device;
    return ExecutePlan(plan.direct, site.devices[device].name, feeds, fetches, options);
  }
  return ExecuteParts(plan, site, feeds, fetches, options);
}

}  // namespace millstream
