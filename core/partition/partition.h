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

// The part of a step that one device runs.
struct Partition {
  int device = 0;  // number in the DeviceSet
  // Copies of the program's nodes, with the Sends and Receives. Null if there is only one
  // partition: it uses the program's nodes.
  std::unique_ptr<Graph> graph;
  PrunedGraph pruned;
  StepSignature signature;   // in nodes of `pruned`
  std::vector<int> feeds;    // signature.feeds[i] is the step's feed feeds[i]
  std::vector<int> fetches;  // likewise
  // The tensor of the program that each Receive receives. Receives of control edges are missing.
  absl::flat_hash_map<const Node*, Output> received;
};

// A tensor that crosses between devices.
struct Transfer {
  std::string tensor;  // "a:0", or "^a" for a control edge
  int from = 0;        // device
  int to = 0;
  bool from_host = true;  // the sender has it in host memory; false: in device memory
  bool to_host = true;    // the receiver needs it in host memory; false: in device memory
};

struct PartitionedGraph {
  std::vector<Partition> parts;     // in the order of their devices
  std::vector<Transfer> transfers;  // by edge number
};

// Cuts the graph. Each pair of a crossing tensor (or control edge) and a device with readers gets
// one Send and one Receive. If a device needs the tensor in its own memory and in host memory, it
// gets one pair for each. Constants, and values that are the same in each step (lasting_values.h),
// are copied instead. On a device with memory of its own, the end of a transfer in host memory is a
// _HostSend or _HostRecv.
//
// All partitions follow one order of the whole graph. A Send stands directly after the node whose
// output it sends, a Receive directly before its first reader. So parts that run their instructions
// in order never wait for each other in a cycle. Errors are those of building the partitions'
// graphs.
StatusOr<PartitionedGraph> PartitionGraph(const PrunedGraph& pruned, const Placement& placement,
                                          const DeviceSet& devices, const StepSignature& signature);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PARTITION_PARTITION_H_
