// Cut loops: loops whose nodes are on several devices, which run the iterations together.
//
// Each device with nodes of a cut loop gets a control loop of its own, which has no data:
//
//   nothing -> Enter -> Merge -> Switch -> (if the loop continues) NextIteration -> back to Merge
//                                  ^
//                                  the loop's LoopCond, received if it is on another device
//
// So all devices run the same iterations. In each iteration, the Merge of the control loop starts
// the Receives on its device. A crossing tensor is sent in every iteration, live or dead. The key
// of a transfer has the edge and the iteration (RendezvousKey). The control loop of an inner loop
// is entered from that of the outer loop, once in each iteration. (Yu et al., "Dynamic Control Flow
// in Large-Scale Machine Learning", EuroSys 2018, section 4.4, describes such control loops.)
//
// Enters and NextIterations are copied to the devices of their readers, so an invariant crosses
// once and not in each iteration. An Exit is on the device of its input.
#ifndef MILLSTREAM_CORE_PARTITION_PARTITION_LOOPS_H_
#define MILLSTREAM_CORE_PARTITION_PARTITION_LOOPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/device/device_set.h"
#include "core/graph/frames.h"
#include "core/graph/graph.h"
#include "core/graph/prune.h"
#include "framework/status.h"

namespace millstream {

// The iterations of its loop in which a node runs, live or dead.
enum class Iterations : uint8_t {
  kNone = 0,
  kFirst = 1,  // only the first: the value of an Enter
  kLater = 2,  // all except the first: the value of a NextIteration
  kAll = 3,
};

// A loop whose nodes are on several devices.
struct CutLoop {
  int frame = 0;  // of the FrameTree
  std::vector<int> devices;
  const Node* condition = nullptr;  // its LoopCond
  // The iterations of the enclosing loop in which it is entered; kAll if there is none.
  Iterations entered = Iterations::kAll;
};

struct LoopLayout {
  FrameTree frames;
  std::vector<std::vector<int>> devices;  // by node: the devices that have a copy of it
  std::vector<Iterations> iterations;     // by node: the iterations in which it has outputs
  std::vector<CutLoop> cut;               // outer loops before inner ones
};

// `placed` has the device of each node from the placer. INVALID_ARGUMENT for frames that are not
// well formed (FindFrames), and for a cut loop that has no LoopCond, several of them, or one that
// does not run in every iteration.
StatusOr<LoopLayout> LayOutLoops(const PrunedGraph& graph, const std::vector<int>& placed,
                                 const DeviceSet& devices, const StepSignature& signature);

// One device's control loop.
struct ControlLoop {
  const Node* enter = nullptr;
  const Node* merge = nullptr;
  // The node that runs in exactly these iterations; null if there is none.
  const Node* StartOf(Iterations iterations) const {
    if (iterations == Iterations::kAll) return merge;
    return iterations == Iterations::kFirst ? enter : nullptr;
  }
};

// Adds the first half of a control loop. `start` is the input of its Enter; the names of its nodes
// begin with `base`.
StatusOr<ControlLoop> OpenControlLoop(Graph* graph, const StaticFrame& frame,
                                      const std::string& base, const Output& start);
// Adds the other half; returns the added nodes.
StatusOr<std::vector<const Node*>> CloseControlLoop(Graph* graph, const ControlLoop& loop,
                                                    const std::string& base, const Output& pred);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PARTITION_PARTITION_LOOPS_H_
