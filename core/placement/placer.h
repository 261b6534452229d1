// Placement: which device runs which node.
//
// A node may run where a kernel is registered for it, on a device that its request ("/cpu:1", full
// or in part) fits. Nodes that must be together (a resource handle and all that use it; what the
// program colocated) form one group, found by union-find, and the group goes where all of its
// members may. What is left open is decided by preference: accelerators before the CPU, the lowest
// index, and for nodes that only pass a tensor on, where the tensor is; or, when the session asks
// for it, by costs (core/placement/placer_costs.h).
// (TensorFlow: "Large-Scale Machine Learning on Heterogeneous Distributed Systems", 2015, §3.2.1,
// §4.3.)
#ifndef MILLSTREAM_CORE_PLACEMENT_PLACER_H_
#define MILLSTREAM_CORE_PLACEMENT_PLACER_H_

#include <string>
#include <vector>

#include "core/device/device_set.h"
#include "core/graph/frames.h"
#include "core/graph/graph.h"
#include "core/graph/prune.h"
#include "core/placement/placer_costs.h"
#include "framework/status.h"

namespace millstream {

struct PlacementOptions {
  // A request that cannot be met is loosened (any index, then any type) instead of refused.
  bool allow_soft_placement = false;
  // The loops of the pruned graph, each of which stays on one device if it can; null: there are
  // none.
  const FrameTree* frames = nullptr;
  const PlacementCosts* costs = nullptr;  // null: costs do not count
  bool explain = false;                   // Placement::reasons are wanted
};

// Where every node of a pruned graph runs, and why.
struct Placement {
  std::vector<int> devices;          // number in the DeviceSet, one a node
  std::vector<std::string> reasons;  // "it asks for '/cpu:1'", one a node; empty if not wanted
};

// Kernels are those of this process, for devices of other tasks as well.
// INVALID_ARGUMENT names the node and says what it asked for, which kernels and devices there are
// and why each does not do; or names two nodes that must be together and cannot.
StatusOr<Placement> Place(const Graph& graph, const PrunedGraph& pruned, const DeviceSet& devices,
                          const PlacementOptions& options);

// "why is this node here": one line for node `i` of a placement with reasons.
std::string ExplainPlacement(const PrunedGraph& pruned, const DeviceSet& devices,
                             const Placement& placement, int i);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLACEMENT_PLACER_H_
