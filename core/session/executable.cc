#include "core/session/executable.h"

#include <utility>

#include "core/host/step_profiling.h"
#include "core/numerics/numeric_checks.h"
#include "core/partition/rendezvous.h"
#include "framework/plugin/loader.h"

namespace millstream {
namespace {

bool ShapesFit(const StepPlan& plan, absl::Span<const Tensor> feeds) {
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (plan.feed_shapes[i] != feeds[i].shape()) return false;
  }
  return true;
}

}  // namespace

StatusOr<std::unique_ptr<Executable>> Executable::Create(const ExecutableContext* context,
                                                         const StepSignature& signature,
                                                         const PlacementHints& hints) {
  MS_ASSIGN_OR_RETURN(std::unique_ptr<ExecutableBuilder> builder,
                      ExecutableBuilder::Create(context, signature, hints));
  std::unique_ptr<Executable> executable(new Executable(std::move(builder)));
  if (executable->builder_->is_all_dynamic()) {
    MS_ASSIGN_OR_RETURN(executable->dynamic_, executable->builder_->Compile(nullptr, nullptr));
  }
  context->graph->MarkAsRun(executable->builder_->nodes());
  return executable;
}

Status Executable::CheckFeeds(absl::Span<const Tensor> feeds) const {
  if (feeds.size() != builder_->given().size()) {
    return errors::InvalidArgument("the step takes ", builder_->given().size(), " feeds, got ",
                                   feeds.size());
  }
  for (size_t i = 0; i < feeds.size(); ++i) {
    const auto& [feed, facts] = builder_->given()[i];
    if (feeds[i].dtype() == facts.dtype) continue;
    return AnnotateWithNode(
        errors::InvalidArgument("the feed of ", feed.name(), " must be ", DataTypeName(facts.dtype),
                                ", got ", DataTypeName(feeds[i].dtype())),
        *feed.node);
  }
  return absl::OkStatus();
}

Status Executable::CheckFeedShapes(absl::Span<const Tensor> feeds) const {
  for (size_t i = 0; i < feeds.size(); ++i) {
    const auto& [feed, facts] = builder_->given()[builder_->feed_sources()[i]];
    if (facts.shape.IsCompatibleWith(feeds[i].shape())) continue;
    return AnnotateWithNode(
        errors::InvalidArgument("the feed of ", feed.name(), " must have shape ",
                                facts.shape.ToString(), ", got ", feeds[i].shape().ToString()),
        *feed.node);
  }
  return absl::OkStatus();
}

void Executable::DropKeptStates() {
  absl::MutexLock lock(&mutex_);
  for (const std::unique_ptr<StepPlan>& step : owned_) {
    for (const std::unique_ptr<Plan>& part : step->parts) {
      if (part != nullptr) part->DropKeptStates();
    }
  }
}

StepPlan* Executable::FindCompiled(absl::Span<const Tensor> feeds) const {
  for (const std::atomic<StepPlan*>& entry : plans_) {
    StepPlan* plan = entry.load(std::memory_order_acquire);
    if (plan == nullptr) return nullptr;
    if (ShapesFit(*plan, feeds)) return plan;
  }
  return nullptr;
}

// Null: there is none. `entry` is where one for the shapes of these feeds would go, kMaxPlans when
// there is room for one for any shapes alone.
StepPlan* Executable::FindMade(absl::Span<const Tensor> feeds, int* entry) const {
  if (StepPlan* plan = FindCompiled(feeds)) return plan;
  *entry = 0;
  while (*entry < kMaxPlans && plans_[*entry].load(std::memory_order_relaxed) != nullptr) ++*entry;
  return *entry == kMaxPlans ? any_shape_ : nullptr;
}

StepPlan* Executable::Keep(std::unique_ptr<StepPlan> made, int entry) {
  StepPlan* const plan = made.get();
  owned_.push_back(std::move(made));
  if (entry == kMaxPlans) {
    any_shape_ = plan;
  } else {
    plans_[entry].store(plan, std::memory_order_release);
  }
  return plan;
}

// No lock is held over the compilation: that asks the front end whether the step is to stop, which
// may run any code there, a step of this executable as well. Who was slower takes what is there.
StatusOr<StepPlan*> Executable::FindPlan(absl::Span<const Tensor> feeds,
                                         const RunOptions& options) {
  if (dynamic_ != nullptr) {
    MS_RETURN_IF_ERROR(CheckFeedShapes(feeds));
    return dynamic_.get();
  }
  if (StepPlan* plan = FindCompiled(feeds)) return plan;
  MS_RETURN_IF_ERROR(CheckFeedShapes(feeds));
  std::vector<Shape> shapes;
  for (const Tensor& feed : feeds) shapes.push_back(feed.shape());
  std::unique_ptr<StepPlan> made;
  bool is_for_any_shape = false;
  while (true) {
    int entry = 0;
    {
      absl::MutexLock lock(&mutex_);
      if (StepPlan* plan = FindMade(feeds, &entry)) return plan;
      const bool fits = is_for_any_shape == (entry == kMaxPlans);  // others may have taken the room
      if (made != nullptr && fits) return Keep(std::move(made), entry);
    }
    is_for_any_shape = entry == kMaxPlans;
    MS_ASSIGN_OR_RETURN(made, builder_->Compile(is_for_any_shape ? nullptr : &shapes, &options));
  }
}

Status Executable::Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                       const RunOptions& options) {
  const Status status = RunChecked(feeds, fetches, options);
  if (!status.ok() && options.other_tasks != nullptr) options.other_tasks->Abort(status);
  return status;
}

Status Executable::RunChecked(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                              const RunOptions& options) {
  MS_RETURN_IF_ERROR(CheckFeeds(feeds));
  const size_t num_fetches = builder_->signature().fetches.size();
  if (fetches.size() != num_fetches) {
    return errors::InvalidArgument("the step gives ", num_fetches, " fetches, there is room for ",
                                   fetches.size());
  }
  if (builder_->context().settings.checks != nullptr) {
    for (size_t i = 0; i < feeds.size(); ++i) {
      const auto& [feed, facts] = builder_->given()[i];
      MS_RETURN_IF_ERROR(NumericChecks::CheckFeed(feed, feeds[i]));
    }
  }
  if (builder_->feeds_as_given()) return RunFed(feeds, fetches, options);
  std::vector<Tensor> inside;
  const bool borrows = builder_->context().settings.features.borrowed_feeds;
  inside.reserve(builder_->feed_sources().size());
  for (int source : builder_->feed_sources()) {
    inside.push_back(feeds[source]);
    if (borrows) continue;
    MS_ASSIGN_OR_RETURN(inside.back(), feeds[source].DeepCopy());
  }
  return RunFed(inside, fetches, options);
}

Status Executable::RunFed(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                          const RunOptions& options) {
  MS_ASSIGN_OR_RETURN(StepPlan * plan, FindPlan(feeds, options));
  num_instructions_.store(plan->num_instructions, std::memory_order_relaxed);
  if (options.report != nullptr && options.report->want_partition_graphs) {
    MS_RETURN_IF_ERROR(builder_->ReportGraphs(options.report));
  }
  const ExecutableContext& context = builder_->context();
  const StepSite site{context.devices, context.own_devices, builder_->partitions(),
                      context.settings};
  if (options.report == nullptr || !options.report->want_trace) {
    return ExecuteStep(*plan, site, feeds, fetches, options);
  }
  const StepProfiling profiling(PluginLoader::Global()->Plugins(), &options.report->trace);
  return ExecuteStep(*plan, site, feeds, fetches, options);
}

}  // namespace millstream
