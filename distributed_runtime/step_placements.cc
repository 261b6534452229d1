#include "distributed_runtime/step_placements.h"

namespace millstream {

StepPlacements::Turn StepPlacements::Begin(const std::shared_ptr<const MasterStep>& prepared) {
  absl::MutexLock lock(&mutex_);
  Turn turn;
  turn.placement = placements_.size() - 1;
  Placement& placement = placements_.back();
  ++placement.running;
  turn.step = placement.step == nullptr ? prepared : placement.step;
  if (has_settled_) return turn;
  const int64_t in_period = begun_++ % period_;
  turn.is_measured = in_period >= period_ - measured_;
  turn.ends_period = in_period == period_ - 1;
  return turn;
}

bool StepPlacements::End(const Turn& turn) {
  absl::MutexLock lock(&mutex_);
  const bool is_last = --placements_[turn.placement].running == 0;
  return is_last && turn.placement + 1 < placements_.size();
}

std::shared_ptr<const MasterStep> StepPlacements::Present(
    const std::shared_ptr<const MasterStep>& prepared) const {
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<const MasterStep>& step = placements_.back().step;
  return step == nullptr ? prepared : step;
}

// The turn's placement has a run as long as it places, so it is the End of a run that finds that
// nobody needs the placement any more.
bool StepPlacements::BeginPlacing(const Turn& turn) {
  absl::MutexLock lock(&mutex_);
  const bool is_present = turn.placement + 1 == placements_.size();
  if (!turn.ends_period || !is_present || is_placing_ || has_settled_) return false;
  is_placing_ = true;
  return true;
}

void StepPlacements::PutOff() {
  absl::MutexLock lock(&mutex_);
  is_placing_ = false;
}

void StepPlacements::EndPlacing(const std::shared_ptr<const MasterStep>& next) {
  absl::MutexLock lock(&mutex_);
  is_placing_ = false;
  if (next != nullptr) placements_.push_back({next, 0});
  has_settled_ = next == nullptr || placements_.size() > kMostMoves;
}

}  // namespace millstream
