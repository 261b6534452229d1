// One step signature of one session, compiled: the pruned graph, cut into parts for the devices,
// and a plan of each part for each set of feed shapes that came.
#ifndef MILLSTREAM_CORE_SESSION_EXECUTABLE_H_
#define MILLSTREAM_CORE_SESSION_EXECUTABLE_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/device/device.h"
#include "core/graph/plan_facts.h"
#include "core/graph/prune.h"
#include "core/numerics/numeric_checks.h"
#include "core/partition/partition.h"
#include "core/passes/plan_features.h"
#include "core/placement/placer_costs.h"
#include "core/plan/node_value.h"
#include "core/resources/resource_manager.h"
#include "core/session/session.h"
#include "core/session/step_plan.h"
#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

// What executables share with their session.
struct ExecutableContext {
  Graph* graph = nullptr;
  const DeviceList* devices = nullptr;
  ResourceManager* resources = nullptr;
  StateBudget* budget = nullptr;    // null: plans keep their states
  RunningSteps* running = nullptr;  // null: nobody asks what steps are at
  SessionOptions options;
  PlanFeatures features;            // by options.disabled_passes
  NumericChecks* checks = nullptr;  // null: nobody asked
  int intra_op_threads = 1;
  int inter_op_threads = 1;
  SessionCosts* costs = nullptr;  // null: costs do not count
};

// What an executable that is placed by costs may know of the step.
struct PlacementHints {
  const std::vector<Shape>* feed_shapes = nullptr;  // as the caller feeds it
  const std::vector<int>* present = nullptr;        // see PlacementCosts
};

// Thread-safe.
class Executable {
 public:
  // Prunes, places and partitions. Errors name the node.
  static StatusOr<std::unique_ptr<Executable>> Create(
      const ExecutableContext* context, const StepSignature& signature,
      const PlacementHints& hints = PlacementHints());

  // One step. After the first step with the same feed shapes it takes no lock and looks no name up.
  Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches, const RunOptions& options);
  int64_t num_instructions() const { return num_instructions_.load(std::memory_order_relaxed); }
  // Frees what plans keep for further steps; these make it again.
  void DropKeptStates() ABSL_LOCKS_EXCLUDED(mutex_);
  // Which tensors cross between devices, by edge number.
  const std::vector<Transfer>& transfers() const { return partitions_.transfers; }
  // Whether the dynamic executor runs a part of the step, and not a plan.
  bool IsDynamic(int part) const { return programs_[part] != nullptr; }
  // Where every node of the step runs and why, a line a node. Places the step again, unless it was
  // placed by costs: the reasons are not kept then.
  std::string placement_text() const;
  // Where the nodes of the step are.
  const std::vector<int>& placed() const { return placement_.devices; }
  // Adds what a traced step of this executable took to the session's costs; the trace ends with the
  // parts of the step. `feed_shapes`: of what it was fed.
  void Measure(const StepTrace& trace, const std::vector<Shape>& feed_shapes) const;

 private:
  // Plans beyond these are not kept apart: feeds of further shapes share one plan that finds shapes
  // as it runs.
  static constexpr int kMaxPlans = 32;

  Executable(const ExecutableContext* context, const StepSignature& signature)
      : context_(*context), signature_(signature) {}
  Status CheckOps() const;
  Status CheckFetches() const;
  Status ReadFeeds(std::vector<Output>* reads);
  StatusOr<Placement> PlaceNodes(bool explain, const PlacementCosts* costs) const;
  Status Place(const PlacementHints& hints);
  StatusOr<PartitionedGraph> CutIntoParts() const;
  std::vector<Shape> ShapesInside(const std::vector<Shape>& given) const;
  Status ReportGraphs(StepReport* report) const;
  Status RunFed(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                const RunOptions& options);
  Status CheckFeeds(absl::Span<const Tensor> feeds) const;
  Status CheckFeedShapes(absl::Span<const Tensor> feeds) const;
  StatusOr<StepPlan*> FindPlan(absl::Span<const Tensor> feeds, const RunOptions& options)
      ABSL_LOCKS_EXCLUDED(mutex_);
  StepPlan* FindCompiled(absl::Span<const Tensor> feeds) const;
  StepPlan* FindMade(absl::Span<const Tensor> feeds, int* entry) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StepPlan* Keep(std::unique_ptr<StepPlan> made, int entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<std::unique_ptr<StepPlan>> Compile(const std::vector<Shape>* shapes,
                                              const RunOptions* run) const;
  Status CompilePrograms();
  StatusOr<std::unique_ptr<Plan>> CompilePart(const Partition& part,
                                              const std::vector<Shape>* shapes,
                                              const PlanFacts* whole, const RunOptions* run) const;

  const ExecutableContext& context_;
  StepSignature signature_;  // constant once created; its feeds are those inside the step
  struct GivenFeed {
    Output output;
    HandleInfo facts;  // what the graph says of its value
  };
  std::vector<GivenFeed> given_;   // as the caller names them
  std::vector<int> feed_sources_;  // feed i has the value of the given feed feed_sources_[i]
  bool feeds_as_given_ = true;     // each is fed where it is given, as it is
  PrunedGraph pruned_;
  Placement placement_;  // of pruned_; with reasons if it is by costs
  PartitionedGraph partitions_;
  StepSettings settings_;
  std::atomic<int64_t> num_instructions_{0};
  // Of all parts.
  mutable FoldedValues folded_;
  // Entries are set once, in order, and read without lock.
  std::atomic<StepPlan*> plans_[kMaxPlans] = {};
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<StepPlan>> owned_ ABSL_GUARDED_BY(mutex_);
  StepPlan* any_shape_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // Of the parts with control flow, by part; they serve feeds of any shape. Set once.
  std::vector<std::unique_ptr<DynamicProgram>> programs_;
  // Of steps whose parts all have control flow: the one for all feeds. Set once.
  std::unique_ptr<StepPlan> dynamic_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_EXECUTABLE_H_
