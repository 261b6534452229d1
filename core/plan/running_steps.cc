#include "core/plan/running_steps.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/plan/step_state.h"
#include "core/step/step_scheduler.h"

namespace millstream {

void RunningSteps::Add(const StepState* state) {
  absl::MutexLock lock(&mutex_);
  states_.insert(state);
}

void RunningSteps::Remove(const StepState* state) {
  absl::MutexLock lock(&mutex_);
  states_.erase(state);
}

void RunningSteps::Add(StepScheduler* scheduler) {
  absl::MutexLock lock(&mutex_);
  schedulers_.insert(scheduler);
}

void RunningSteps::Remove(StepScheduler* scheduler) {
  absl::MutexLock lock(&mutex_);
  schedulers_.erase(scheduler);
}

void RunningSteps::AddConstant(const Node* node) {
  absl::MutexLock lock(&mutex_);
  constants_.push_back(node);
}

void RunningSteps::RemoveConstant(const Node* node) {
  absl::MutexLock lock(&mutex_);
  constants_.erase(std::find(constants_.begin(), constants_.end(), node));
}

std::vector<std::string> RunningSteps::LateWarnings(const std::string& cause) {
  std::vector<std::string> warnings;
  absl::MutexLock lock(&mutex_);
  for (const StepState* state : states_) {
    const std::string node = state->RunsAlone();
    if (node.empty()) continue;
    warnings.push_back(LateStepWarning(cause, {absl::StrCat(node, ", is running")}));
  }
  for (const Node* node : constants_) {
    warnings.push_back(LateStepWarning(cause, {absl::StrCat(node->Describe(), ", is running")}));
  }
  for (StepScheduler* scheduler : schedulers_) {
    std::string warning = scheduler->TakeWarning();
    if (!warning.empty()) warnings.push_back(std::move(warning));
  }
  if (warnings.empty() && schedulers_.empty()) warnings.push_back(LateStepWarning(cause, {}));
  return warnings;
}

}  // namespace millstream
