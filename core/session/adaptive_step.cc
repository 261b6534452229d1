#include "core/session/adaptive_step.h"

#include <algorithm>
#include <utility>

namespace millstream {

AdaptiveStep::AdaptiveStep(const ExecutableContext* context, const StepSignature& signature,
                           std::unique_ptr<Executable> first)
    : context_(*context), signature_(signature), current_(first.get()) {
  executables_.push_back(std::move(first));
}

Status AdaptiveStep::Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                         const RunOptions& options) {
  if (!has_settled_.load(std::memory_order_relaxed)) return RunMeasured(feeds, fetches, options);
  return current_.load(std::memory_order_acquire)->Run(feeds, fetches, options);
}

Status AdaptiveStep::RunMeasured(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                                 const RunOptions& options) {
  Executable* const executable = current_.load(std::memory_order_acquire);
  const int64_t period = context_.settings.options.placement_period;
  const int64_t measured =
      std::clamp<int64_t>(context_.settings.options.build_cost_model, 1, period);
  const int64_t in_period = steps_.fetch_add(1) % period;
  if (in_period < period - measured) return executable->Run(feeds, fetches, options);
  StepReport own;
  RunOptions traced = options;
  if (traced.report == nullptr) traced.report = &own;
  const bool is_wanted = traced.report->want_trace;
  traced.report->want_trace = true;
  const Status status = executable->Run(feeds, fetches, traced);
  traced.report->want_trace = is_wanted;
  MS_RETURN_IF_ERROR(status);
  std::vector<Shape> shapes;
  for (const Tensor& feed : feeds) shapes.push_back(feed.shape());
  executable->builder().Measure(traced.report->trace, shapes);
  if (in_period == period - 1) PlaceAgain(shapes);
  return absl::OkStatus();
}

// Of several threads that come at the same time, one places and the others go on.
void AdaptiveStep::PlaceAgain(const std::vector<Shape>& feed_shapes) {
  if (!mutex_.TryLock()) return;
  const Executable& present = *executables_.back();
  PlacementHints hints;
  hints.feed_shapes = &feed_shapes;
  hints.present = &present.builder().placed();
  StatusOr<std::unique_ptr<Executable>> next = Executable::Create(&context_, signature_, hints);
  // What cannot be made is no better than what there is.
  const bool moves = next.ok() && (*next)->builder().placed() != present.builder().placed();
  if (moves) {
    executables_.back()->DropKeptStates();
    current_.store(next->get(), std::memory_order_release);
    executables_.push_back(*std::move(next));
  }
  if (!moves || executables_.size() > kMostMoves) has_settled_.store(true);
  mutex_.Unlock();
}

}  // namespace millstream
