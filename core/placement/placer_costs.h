// Placement by costs: which of the devices that requests leave open is the best one.
#ifndef MILLSTREAM_CORE_PLACEMENT_PLACER_COSTS_H_
#define MILLSTREAM_CORE_PLACEMENT_PLACER_COSTS_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/device/device_set.h"
#include "core/graph/prune.h"
#include "core/graph/step_signature.h"
#include "core/placement/cost_model.h"
#include "framework/shape.h"

namespace millstream {

// What the executables of a session share that is placed by costs. Thread-safe.
struct SessionCosts {
  explicit SessionCosts(const DeviceSet& devices);
  CostModel model;
  // Guards the choice as a whole: two steps must not choose different places for the same state.
  absl::Mutex mutex;
  // Where nodes with state, as variables and random numbers have, were first put. They stay there:
  // their state is on that device.
  absl::flat_hash_map<const Node*, int> homes ABSL_GUARDED_BY(mutex);
};

// What Place is to look at besides the graph.
struct PlacementCosts {
  SessionCosts* session = nullptr;
  const Graph* graph = nullptr;
  const StepSignature* signature = nullptr;
  const std::vector<Shape>* feed_shapes = nullptr;  // of the signature's feeds; null: not known
  // Where the nodes are now. They stay there unless the step would gain enough. Null: nowhere.
  const std::vector<int>* present = nullptr;
};

// The nodes of a pruned graph in groups that stay together.
struct PlacementGroups {
  std::vector<int> group_of;                 // by node
  std::vector<std::vector<int>> candidates;  // by group; first the one that it has without costs
};

struct CostedPlacement {
  std::vector<int> devices;  // by node
  // Why the node is there, by node: "it would end at 1.2 ms here, at 3.4 ms on SIM:1". Empty: as
  // without costs, or because another node of its group is.
  std::vector<std::string> reasons;
};

// Simulates the step (core/placement/placement_simulation.h) with the costs that are known now.
// What nobody has placed yet goes away from the first of its candidates, and what is placed away
// from where it is, only when the step becomes a twentieth shorter. A group with a resource gets
// the first of its candidates, or where it was first put: the step that meets it first is the one
// that initializes it, whose costs say nothing of the steps that use it. Other groups with state
// are placed by costs once.
CostedPlacement PlaceByCosts(const PrunedGraph& pruned, const DeviceSet& devices,
                             PlacementGroups groups, const PlacementCosts& costs);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLACEMENT_PLACER_COSTS_H_
