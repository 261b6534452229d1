// Placement chooses a device for every node.
//
// A node may run on a device that has a kernel for it and matches its request ("/cpu:1", full or in
// part). Nodes that must be on one device (a resource handle and its users; nodes that the program
// colocated; in a cluster, a list or other variant and its users) form a group, found by
// union-find. A group may run on the devices on which all of its members may run. Of these devices,
// those of the first device's task come first, accelerators before the CPU, and lower indices
// before higher ones. A node that only passes a tensor on is placed on the device of the tensor. If
// the session asks for it, costs decide instead (core/placement/placer_costs.h). (TensorFlow:
// "Large-Scale Machine Learning on Heterogeneous Distributed Systems", 2015, §3.2.1, §4.3.)
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
  // A request that cannot be met is relaxed to any index, then to any type, then to any task.
  // False: it is an error.
  bool allow_soft_placement = false;
  // The loops of the pruned graph. A loop is placed on one device if possible. Null: no loops.
  const FrameTree* frames = nullptr;
  const PlacementCosts* costs = nullptr;  // null: costs are ignored
  // The device of every node, as another task has chosen it (CheckDecided). Null: this one chooses.
  const std::vector<int>* decided = nullptr;
  bool explain = false;  // fill Placement::reasons
};

// The device of every node of a pruned graph, and the reason.
struct Placement {
  std::vector<int> devices;          // number in the DeviceSet, one a node
  std::vector<std::string> reasons;  // "it asks for '/cpu:1'", one a node; empty unless `explain`
  bool had_choice = false;           // costs decided, and requests left some node several devices
};

// Places all nodes of `pruned`. The registered kernels of this process count, also for devices of
// other tasks. INVALID_ARGUMENT names the node, its request, the kernels and devices, and why each
// device is unsuitable; or it names two nodes that must be on one device but cannot, or in one
// task; or a node for which another task has decided what it must not. Thread-safe.
StatusOr<Placement> Place(const Graph& graph, const PrunedGraph& pruned, const DeviceSet& devices,
                          const PlacementOptions& options);

// One line with the device of node `i` and the reason. REQUIRES: the placement has reasons.
std::string ExplainPlacement(const PrunedGraph& pruned, const DeviceSet& devices,
                             const Placement& placement, int i);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLACEMENT_PLACER_H_
