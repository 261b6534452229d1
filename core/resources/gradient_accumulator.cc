#include "core/resources/gradient_accumulator.h"

#include "core/resources/find_waiting.h"

namespace millstream {
namespace {

Status TakeCancelled() { return errors::Cancelled("TakeGrad operation was cancelled"); }

}  // namespace

Status GradientAccumulator::Apply(int64_t local_step, const Gradient& gradient) {
  if (gradient.values.dtype() != spec_.dtype) {
    return errors::InvalidArgument("accumulator '", name_, "' has gradients of type ",
                                   DataTypeName(spec_.dtype), ", got ",
                                   DataTypeName(gradient.values.dtype()));
  }
  AllEnded ended;
  {
    absl::MutexLock lock(&mutex_);
    if (local_step < global_step_) {
      ++counts_.dropped;
      return absl::OkStatus();
    }
    MS_RETURN_IF_ERROR(sum_->Add(gradient));
    ++count_;
    ++counts_.applied;
    Advance(&ended);
  }
  Tell(std::move(ended));
  return absl::OkStatus();
}

void GradientAccumulator::Take(Ticket ticket, int64_t num_required, Callback done) {
  AllEnded ended;
  {
    absl::MutexLock lock(&mutex_);
    takers_.push_back({ticket, num_required, std::move(done)});
    Advance(&ended);
  }
  Tell(std::move(ended));
}

void GradientAccumulator::Cancel(Ticket ticket) {
  AllEnded ended;
  {
    absl::MutexLock lock(&mutex_);
    const auto taker = FindWaiting(&takers_, ticket);
    if (taker == takers_.end()) return;
    ended.push_back({std::move(taker->done), TakeCancelled(), {}});
    takers_.erase(taker);
    Advance(&ended);
  }
  Tell(std::move(ended));
}

void GradientAccumulator::SetGlobalStep(int64_t step) {
  absl::MutexLock lock(&mutex_);
  global_step_ = step;
}

int64_t GradientAccumulator::num_accumulated() const {
  absl::MutexLock lock(&mutex_);
  return count_;
}

GradientCounts GradientAccumulator::counts() const {
  absl::MutexLock lock(&mutex_);
  return counts_;
}

void GradientAccumulator::Drop() {
  AllEnded ended;
  {
    absl::MutexLock lock(&mutex_);
    for (Taker& taker : takers_) ended.push_back({std::move(taker.done), TakeCancelled(), {}});
    takers_.clear();
    sum_ = MakeGradientSum(spec_);
    count_ = 0;
    counts_ = {};
    global_step_ = 0;
  }
  Tell(std::move(ended));
}

void GradientAccumulator::Advance(AllEnded* ended) {
  while (!takers_.empty() && count_ >= takers_.front().num_required) {
    StatusOr<Gradient> taken = sum_->Take(count_);
    Ended end{std::move(takers_.front().done), taken.status(), {}};
    if (taken.ok()) end.gradient = *std::move(taken);
    ended->push_back(std::move(end));
    takers_.pop_front();
    count_ = 0;
    ++global_step_;
  }
}

void GradientAccumulator::Tell(AllEnded ended) {
  for (Ended& each : ended) each.done(each.status, std::move(each.gradient));
}

}  // namespace millstream
