// Cuts a placed graph into one part a device, with a Send and a Receive where a tensor crosses.
#ifndef MILLSTREAM_CORE_PARTITION_PARTITION_H_
#define MILLSTREAM_CORE_PARTITION_PARTITION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/device/device_set.h"
#include "core/graph/graph.h"
#include "core/graph/prune.h"
#include "core/graph/step_signature.h"
#include "core/placement/placer.h"
#include "framework/status.h"

namespace millstream {

// What one device does of a step.
struct Partition {
  int device = 0;  // number in the DeviceSet
  // Copies of the program's nodes, with the Sends and Receives; null when there is one partition,
  // which then uses the program's own nodes.
  std::unique_ptr<Graph> graph;
  PrunedGraph pruned;
  StepSignature signature;   // in nodes of `pruned`
  std::vector<int> feeds;    // signature.feeds[i] is the step's feed feeds[i]
  std::vector<int> fetches;  // likewise
  // The tensor of the program that each Receive brings; those of control edges bring none.
  absl::flat_hash_map<const Node*, Output> received;
};

// A tensor that crosses between devices.
struct Transfer {
  std::string tensor;  // "a:0", or "^a" for a control edge
  int from = 0;        // device
  int to = 0;
  bool from_host = true;  // it is in host memory where it comes from,
  bool to_host = true;    // and where it is wanted; false: in the device's own
};

struct PartitionedGraph {
  std::vector<Partition> parts;     // in the order of their devices
  std::vector<Transfer> transfers;  // by edge number
};

// One Send and one Receive for each tensor (or control edge) and device that wants it, whoever
// wants it there; constants are copied instead. A device that wants it in its own memory and in the
// host's, for different kernels, has one of each; an end in host memory on a device that has its
// own is a _HostSend or _HostRecv. Within the partitions the order is that of one
// order of the whole graph, Sends right after what they send and Receives right before the first
// that reads them: parts that are run in order, one instruction at a time, never wait for each
// other in a circle.
StatusOr<PartitionedGraph> PartitionGraph(const PrunedGraph& pruned, const Placement& placement,
                                          const DeviceSet& devices, const StepSignature& signature);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PARTITION_PARTITION_H_
