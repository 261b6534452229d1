// Placement by costs: chooses among the devices that requests allow.
#ifndef MILLSTREAM_CORE_PLACEMENT_PLACER_COSTS_H_
#define MILLSTREAM_CORE_PLACEMENT_PLACER_COSTS_H_

#include <cstddef>
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
#include "framework/status.h"

namespace millstream {

// The costs that the executables of a session share, if it places by costs. Thread-safe.
struct SessionCosts {
  explicit SessionCosts(const DeviceSet& devices);
  CostModel model;
  // Held during a whole placement, so that two steps do not choose different devices for one state.
  absl::Mutex mutex;
  // The first device of each node with state (variables, random numbers). The node stays there,
  // because its state is on that device.
  absl::flat_hash_map<const Node*, int> homes ABSL_GUARDED_BY(mutex);
};

// The arguments of Place for placement by costs.
struct PlacementCosts {
  SessionCosts* session = nullptr;
  const Graph* graph = nullptr;
  const StepSignature* signature = nullptr;
  const std::vector<Shape>* feed_shapes = nullptr;  // of the signature's feeds; null: not known
  // The present devices of the nodes. They stay unless the gain is large enough. Null: not placed
  // yet.
  const std::vector<int>* present = nullptr;
};

// The nodes of a pruned graph in groups. The nodes of a group are on one device.
struct PlacementGroups {
  std::vector<int> group_of;                 // by node
  std::vector<std::vector<int>> candidates;  // by group; first the device without costs
};

// True if pruned.nodes[i] is a constant that waits for nothing: it stands on every device that
// reads it.
bool IsCopied(const PrunedGraph& pruned, size_t i);

struct CostedPlacement {
  std::vector<int> devices;  // by node
  // The reason, by node: "it would end at 1.2 ms here, at 3.4 ms on SIM:1". Empty: costs had no
  // influence, or the reason is that of another node of its group.
  std::vector<std::string> reasons;
};

// Simulates the step (core/placement/placement_simulation.h) with the present costs. A group leaves
// its present device, or if it has none its first candidate, only if the step becomes a twentieth
// shorter. A group with a resource keeps the device on which it was first placed, or gets its first
// candidate: its first step initializes the resource, and the costs of that step say nothing about
// later steps. Other groups with state are placed by costs once.
//
// Where the devices are those of several tasks, a step that has no present devices gets the first
// candidates, because estimates say little about other machines. What has state (files, say, are
// those of a machine), or gives or reads variants, which no message carries, stays in the task of
// its first candidate. Thread-safe.
CostedPlacement PlaceByCosts(const PrunedGraph& pruned, const DeviceSet& devices,
                             PlacementGroups groups, const PlacementCosts& costs);

// INVALID_ARGUMENT, with the node, unless every node of a group is decided to be on one device, one
// of its candidates. Constants that are copied may be on any device.
Status CheckDecided(const PrunedGraph& pruned, const DeviceSet& devices,
                    const PlacementGroups& groups, const std::vector<int>& decided);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLACEMENT_PLACER_COSTS_H_
