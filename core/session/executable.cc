#include "core/session/executable.h"

#include <optional>
#include <utility>

#include "core/host/step_profiling.h"
#include "core/numerics/numeric_checks.h"
#include "core/partition/rendezvous.h"
#include "core/step/step_context.h"
#include "framework/plugin/loader.h"

namespace millstream {
namespace {

// The options of a step that waits while its plan is compiled. The compilation asks the front end
// whether the step is to stop, which may run any code there, a step of this executable as well.
// Meanwhile the thread's turn is lent, so that nothing that this code waits for waits for the turn.
class AskingRun {
 public:
  AskingRun(const RunOptions& given, PlanTurn* turn) : given_(given), turn_(*turn), run_(given) {
    if (given.should_stop == nullptr) return;
    run_.should_stop = &ShouldStop;
    run_.should_stop_argument = this;
  }
  AskingRun(const AskingRun&) = delete;
  AskingRun& operator=(const AskingRun&) = delete;
  const RunOptions& options() const { return run_; }

 private:
  static bool ShouldStop(void* argument) {
    const auto* self = static_cast<AskingRun*>(argument);
    return self->turn_.Lend(
        [self] { return self->given_.should_stop(self->given_.should_stop_argument); });
  }

  const RunOptions& given_;
  PlanTurn& turn_;
  RunOptions run_;
};

}  // namespace

StatusOr<std::unique_ptr<Executable>> Executable::Compile(const ExecutableContext* context,
                                                          const StepSignature& signature,
                                                          const PlacementHints& hints) {
  MS_ASSIGN_OR_RETURN(std::unique_ptr<ExecutableBuilder> builder,
                      ExecutableBuilder::Create(context, signature, hints));
  std::unique_ptr<Executable> executable(new Executable(std::move(builder)));
  if (executable->builder_->is_all_dynamic()) {
    MS_ASSIGN_OR_RETURN(executable->dynamic_, executable->builder_->Compile(nullptr, nullptr));
  }
  return executable;
}

// Nodes are marked only when the step is compiled, so that one that cannot be, for the device that
// it asks for, say, can be mended. A change that came meanwhile was allowed: it counts.
StatusOr<std::unique_ptr<Executable>> Executable::Create(const ExecutableContext* context,
                                                         const StepSignature& signature,
                                                         const PlacementHints& hints) {
  while (true) {
    const int64_t changes = context->graph->num_changes();
    MS_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable, Compile(context, signature, hints));
    if (context->graph->MarkAsRunUnlessChanged(executable->builder_->nodes(), changes)) {
      return executable;
    }
  }
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
  plans_.ForEach([](StepPlan* step) {
    for (const std::unique_ptr<Plan>& part : step->parts) {
      if (part != nullptr) part->DropKeptStates();
    }
  });
}

StatusOr<StepPlan*> Executable::FindPlan(absl::Span<const Tensor> feeds,
                                         const RunOptions& options) {
  if (dynamic_ != nullptr) {
    MS_RETURN_IF_ERROR(CheckFeedShapes(feeds));
    return dynamic_.get();
  }
  if (StepPlan* plan = plans_.Find(feeds)) return plan;
  MS_RETURN_IF_ERROR(CheckFeedShapes(feeds));
  const auto compile = [&](const std::vector<Shape>* shapes, PlanTurn* turn) {
    const AskingRun run(options, turn);
    return builder_->Compile(shapes, &run.options());
  };
  // While another thread compiles, what may stop the step may stop its wait.
  std::optional<StepContext> waiting_step;
  return plans_.FindOrBuild(feeds, compile, [&] {
    if (!waiting_step.has_value()) waiting_step.emplace(options, builder_->context().settings);
    return waiting_step->CheckInterruption();
  });
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
