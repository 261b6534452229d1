// From a step signature to what an Executable runs: prunes, places, partitions, and compiles plans.
#ifndef MILLSTREAM_CORE_SESSION_EXECUTABLE_BUILDER_H_
#define MILLSTREAM_CORE_SESSION_EXECUTABLE_BUILDER_H_

#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/graph/plan_facts.h"
#include "core/graph/prune.h"
#include "core/graph/step_signature.h"
#include "core/partition/partition.h"
#include "core/placement/placer_costs.h"
#include "core/plan/folded_values.h"
#include "core/session/step_plan.h"
#include "core/step/session_settings.h"
#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

// What the executables of a session share. Constant once the session is made.
struct ExecutableContext {
  // `own`: the devices of this task, which must outlive the context. `all`: those of every task
  // that steps may use, `own` among them.
  void SetDevices(const DeviceList& own, DeviceSet all);
  // There is no other task.
  void SetDevices(const DeviceList& own) { SetDevices(own, Describe(own)); }

  Graph* graph = nullptr;
  DeviceSet devices;
  std::vector<Device*> own_devices;  // by number in `devices`; null: another task's
  SessionSettings settings;
  SessionCosts* costs = nullptr;  // null: placement does not look at costs
};

// What is known of the step when it is placed by costs.
struct PlacementHints {
  const std::vector<Shape>* feed_shapes = nullptr;  // as the caller feeds it
  const std::vector<int>* present = nullptr;        // see PlacementCosts
};

// One step signature, cut into parts for the devices. The whole step is placed and cut; what is
// compiled are the parts on the task's own devices. Tasks that do so for equal graphs, signatures
// and sets of devices get equal edges between their parts. Constant after Create, but for the cache
// of folded constants. Thread-safe.
class ExecutableBuilder {
 public:
  struct GivenFeed {
    Output output;
    HandleInfo facts;  // what the graph says of its value
  };

  // Prunes, places and partitions, and compiles the own parts that the dynamic executor runs.
  // `context` must outlive the builder. Errors name the node.
  static StatusOr<std::unique_ptr<ExecutableBuilder>> Create(const ExecutableContext* context,
                                                             const StepSignature& signature,
                                                             const PlacementHints& hints);

  // Compiles the other own parts for these shapes of the feeds inside the step; null: for any
  // shapes. `run`: of the step that waits for the plan, null if none does; CANCELLED and
  // DEADLINE_EXCEEDED when that is to stop. The plan must not outlive the builder.
  StatusOr<std::unique_ptr<StepPlan>> Compile(const std::vector<Shape>* shapes,
                                              const RunOptions* run) const;

  const ExecutableContext& context() const { return context_; }
  // The signature inside the step: its feeds are those that nodes read, not those that are given.
  const StepSignature& signature() const { return signature_; }
  // The feeds as the caller names them. Feed i inside the step has the value of the given feed
  // feed_sources()[i].
  const std::vector<GivenFeed>& given() const { return given_; }
  const std::vector<int>& feed_sources() const { return feed_sources_; }
  // Each feed inside the step is the given one, and kernels may read it where the caller has it.
  bool feeds_as_given() const { return feeds_as_given_; }
  // Of the step, in an order in which every edge but the back edges of loops points forward.
  const std::vector<const Node*>& nodes() const { return pruned_.nodes; }
  const PartitionedGraph& partitions() const { return partitions_; }
  // Device of nodes()[i].
  const std::vector<int>& placed() const { return placement_.devices; }
  // A device of this task runs the part; else another task does.
  bool IsOwn(int part) const {
    return context_.own_devices[partitions_.parts[part].device] != nullptr;
  }
  // The dynamic executor runs this part.
  bool IsDynamic(int part) const { return programs_[part] != nullptr; }
  // It runs every own part, so that one plan serves feeds of any shape.
  bool is_all_dynamic() const { return is_all_dynamic_; }

  // See CompiledStep. Places the step again, unless it was placed by costs: the reasons are not
  // kept then.
  std::string placement_text() const;
  // Adds what a traced step took to the session's costs; the trace ends with the parts of the step.
  // `feed_shapes`: of what it was fed. REQUIRES: context().costs != nullptr.
  void Measure(const StepTrace& trace, const std::vector<Shape>& feed_shapes) const;
  // Adds what each own device runs, as the graph was cut, one GraphDef a device.
  Status ReportGraphs(StepReport* report) const;

 private:
  ExecutableBuilder(const ExecutableContext* context, const StepSignature& signature)
      : context_(*context), signature_(signature) {}
  Status CheckOps() const;
  Status CheckFetches() const;
  Status ReadFeeds(std::vector<Output>* reads);
  StatusOr<Placement> PlaceNodes(bool explain, const PlacementCosts* costs) const;
  Status Place(const PlacementHints& hints);
  StatusOr<PartitionedGraph> CutIntoParts() const;
  std::vector<Shape> ShapesInside(const std::vector<Shape>& given) const;
  StatusOr<std::unique_ptr<Plan>> CompilePart(const Partition& part,
                                              const std::vector<Shape>* shapes,
                                              const PlanFacts* whole, const RunOptions* run) const;
  Status CompilePrograms();

  const ExecutableContext& context_;
  StepSignature signature_;
  std::vector<GivenFeed> given_;
  std::vector<int> feed_sources_;
  bool feeds_as_given_ = true;
  PrunedGraph pruned_;
  Placement placement_;  // of pruned_; with reasons if it is by costs
  PartitionedGraph partitions_;
  // By part; null for parts that have plans, and for those of other tasks. They serve feeds of any
  // shape.
  std::vector<std::unique_ptr<DynamicProgram>> programs_;
  bool is_all_dynamic_ = true;
  mutable FoldedValues folded_;  // of all parts; thread-safe
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_EXECUTABLE_BUILDER_H_
