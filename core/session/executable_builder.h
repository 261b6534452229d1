// Prunes, places and partitions the graph for a step signature, and compiles the plans of an
// Executable.
#ifndef MILLSTREAM_CORE_SESSION_EXECUTABLE_BUILDER_H_
#define MILLSTREAM_CORE_SESSION_EXECUTABLE_BUILDER_H_

#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/graph/plan_facts.h"
#include "core/graph/prune.h"
#include "core/graph/step_signature.h"
#include "core/loops/raise_loops.h"
#include "core/partition/partition.h"
#include "core/placement/placer_costs.h"
#include "core/plan/folded_values.h"
#include "core/plan/inner_plans.h"
#include "core/session/step_plan.h"
#include "core/step/session_settings.h"
#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

// The data that the executables of a session share. Constant after the session is created.
struct ExecutableContext {
  // `own`: the devices of this task, which must outlive the context. `all`: those of every task
  // that steps may use, `own` among them.
  void SetDevices(const DeviceList& own, DeviceSet all);
  // The same for a session without other tasks.
  void SetDevices(const DeviceList& own) { SetDevices(own, Describe(own)); }
  // Sets the options of the session, and the settings that follow from them. Outputs are checked by
  // `checks` if the options ask for it.
  void SetOptions(const SessionOptions& options, NumericChecks* checks);

  Graph* graph = nullptr;
  DeviceSet devices;
  std::vector<Device*> own_devices;  // by number in `devices`; null: another task's
  SessionSettings settings;
  SessionCosts* costs = nullptr;  // null: placement ignores costs
};

// Facts about the step for placement by costs, or its result.
struct PlacementHints {
  const std::vector<Shape>* feed_shapes = nullptr;  // of the caller's feeds
  const std::vector<int>* present = nullptr;        // see PlacementCosts
  const std::vector<int>* decided = nullptr;        // see PlacementOptions
};

// A step signature, cut into parts for the devices. The whole step is placed and cut, but only the
// parts on devices of this task are compiled. For equal graphs, signatures and device sets, all
// tasks get equal edges between their parts. Constant after Create except for the cache of folded
// constants. Thread-safe.
class ExecutableBuilder {
 public:
  struct GivenFeed {
    Output output;
    HandleInfo facts;  // the static dtype and shape of its value
  };

  // Prunes, places and partitions. Compiles the parts of this task that the dynamic executor runs.
  // Errors name the node. REQUIRES: `context` outlives the builder.
  static StatusOr<std::unique_ptr<ExecutableBuilder>> Create(const ExecutableContext* context,
                                                             const StepSignature& signature,
                                                             const PlacementHints& hints);

  // Compiles the other parts of this task. `shapes` are those of the feeds inside the step; null:
  // the plan serves any shapes. `run` belongs to the step that waits for the plan; null if there is
  // none. CANCELLED and DEADLINE_EXCEEDED if that step must stop. The plan must not outlive the
  // builder.
  StatusOr<std::unique_ptr<StepPlan>> Compile(const std::vector<Shape>* shapes,
                                              const RunOptions* run) const;

  const ExecutableContext& context() const { return context_; }
  // The signature inside the step. Its feeds are outputs that nodes read; see given().
  const StepSignature& signature() const { return signature_; }
  // The feeds as the caller names them. Feed i inside the step has the value of the given feed
  // feed_sources()[i].
  const std::vector<GivenFeed>& given() const { return given_; }
  const std::vector<int>& feed_sources() const { return feed_sources_; }
  // True if the feeds inside the step are the given ones, and kernels may read them in the caller's
  // memory.
  bool feeds_as_given() const { return feeds_as_given_; }
  // The nodes of the step in topological order, which ignores the back edges of loops.
  const std::vector<const Node*>& nodes() const { return pruned_.nodes; }
  const PartitionedGraph& partitions() const { return partitions_; }
  // Device of nodes()[i].
  const std::vector<int>& placed() const { return placement_.devices; }
  // True if costs chose the device of some node, so that other costs may give another placement.
  bool is_placed_by_costs() const { return placement_.had_choice; }
  // True if a device of this task runs the part.
  bool IsOwn(int part) const {
    return context_.own_devices[partitions_.parts[part].device] != nullptr;
  }
  // True if the dynamic executor runs the part.
  bool IsDynamic(int part) const { return programs_[part] != nullptr; }
  // True if the dynamic executor runs all parts of this task, so that one plan serves any shapes.
  bool is_all_dynamic() const { return is_all_dynamic_; }

  // See CompiledStep. Places the step again to find the reasons, unless it has them.
  std::string placement_text() const;
  // Adds the times of a traced step to the session's costs. `feed_shapes` are those of its feeds. A
  // device whose part is not in the trace gets no costs.
  // REQUIRES: context().costs != nullptr.
  void Measure(const StepTrace& trace, const std::vector<Shape>& feed_shapes) const;
  // Adds the partition of each device of this task to the report, as one GraphDef a device.
  Status ReportGraphs(StepReport* report) const;

 private:
  ExecutableBuilder(const ExecutableContext* context, const StepSignature& signature)
      : context_(*context), signature_(signature) {}
  Status CheckOps() const;
  Status CheckFetches() const;
  Status ReadFeeds(std::vector<Output>* reads);
  StatusOr<Placement> PlaceNodes(bool explain, const PlacementCosts* costs,
                                 const std::vector<int>* decided) const;
  Status Place(const PlacementHints& hints);
  StatusOr<PartitionedGraph> CutIntoParts() const;
  std::vector<Shape> ShapesInside(const std::vector<Shape>& given) const;
  StatusOr<std::unique_ptr<Plan>> CompilePart(const Partition& part,
                                              const std::vector<Shape>* shapes,
                                              const PlanFacts* whole, const RunOptions* run) const;
  Status RaiseLoops();
  const PrunedGraph& GraphOf(const Partition& part) const {
    return raised_ == nullptr ? part.pruned : raised_->pruned;
  }
  const StepSignature& SignatureOf(const Partition& part) const {
    return raised_ == nullptr ? part.signature : raised_->signature;
  }
  Status CompilePrograms();

  const ExecutableContext& context_;
  StepSignature signature_;
  std::vector<GivenFeed> given_;
  std::vector<int> feed_sources_;
  bool feeds_as_given_ = true;
  PrunedGraph pruned_;
  Placement placement_;  // of pruned_; has reasons if costs may decide, here or in another task
  bool may_be_measured_ = false;  // costs may decide, so that the trace must show every node
  PartitionedGraph partitions_;
  // The only part, with nodes for its loops and conditionals; null if there are none.
  std::unique_ptr<RaisedGraph> raised_;
  InnerNodes inner_;
  // By part. Null for parts that have plans, and for parts of other tasks. They serve any shapes.
  std::vector<std::unique_ptr<DynamicProgram>> programs_;
  bool is_all_dynamic_ = true;
  mutable FoldedValues folded_;  // of all parts; thread-safe
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_EXECUTABLE_BUILDER_H_
