// Loops that are cut: what it takes for several devices to run the iterations of one loop together.
//
// A device that runs some nodes of a loop, but perhaps not those that make its iterations, gets a
// control loop of its own, which carries no data:
//
//   nothing -> Enter -> Merge -> Switch -> (when it goes on) NextIteration -> back to Merge
//                                  ^
//                                  the loop's LoopCond, received where that is elsewhere
//
// So all devices run the same iterations. In each of them the control loop's Merge starts the
// Receives of the loop there; whatever crosses is sent in every iteration, live or dead, and the
// two ends meet by edge and iteration (RendezvousKey). The control loop of an inner loop is entered
// from that of the outer loop: once in each of its iterations. (Yu et al., "Dynamic Control Flow in
// Large-Scale Machine Learning", EuroSys 2018, section 4.4, describes such control loops.)
//
// What only moves a tensor into a loop or to the next iteration does not cross itself: Enters and
// NextIterations stand, perhaps several times, where they are read, so that an invariant crosses
// once and not in each iteration. An Exit stands where its input is.
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

// In which iterations of its loop a node runs, live or dead.
enum class Iterations : uint8_t {
  kNone = 0,
  kFirst = 1,  // what an Enter brings is there in the first one alone
  kLater = 2,  // what a NextIteration brings, in all but the first one
  kAll = 3,
};

// A loop of which several devices run nodes.
struct CutLoop {
  int frame = 0;  // of the FrameTree
  std::vector<int> devices;
  const Node* condition = nullptr;  // its LoopCond
  // The iterations of the loop around it in which it is entered; kAll where there is none.
  Iterations entered = Iterations::kAll;
};

struct LoopLayout {
  FrameTree frames;
  std::vector<std::vector<int>> devices;  // where each node stands
  std::vector<Iterations> iterations;     // when each node's outputs are there
  std::vector<CutLoop> cut;               // outer loops before inner ones
};

// `placed`: the device of each node as the placer says. INVALID_ARGUMENT for frames that are not
// well formed (FindFrames), and for a cut loop without LoopCond, with several of them, or with one
// that does not run in every iteration.
StatusOr<LoopLayout> LayOutLoops(const PrunedGraph& graph, const std::vector<int>& placed,
                                 const DeviceSet& devices, const StepSignature& signature);

// One device's control loop.
struct ControlLoop {
  const Node* enter = nullptr;
  const Node* merge = nullptr;
  // What runs in just those iterations; null when there is nothing.
  const Node* StartOf(Iterations iterations) const {
    if (iterations == Iterations::kAll) return merge;
    return iterations == Iterations::kFirst ? enter : nullptr;
  }
};

// The first half of a control loop, which needs nothing but something to enter with; `base` begins
// the names of its nodes.
StatusOr<ControlLoop> OpenControlLoop(Graph* graph, const StaticFrame& frame,
                                      const std::string& base, const Output& start);
// The other half; gives the nodes that it adds.
StatusOr<std::vector<const Node*>> CloseControlLoop(Graph* graph, const ControlLoop& loop,
                                                    const std::string& base, const Output& pred);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PARTITION_PARTITION_LOOPS_H_
