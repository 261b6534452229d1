// Finds the loop of each node of a step from the graph.
#ifndef MILLSTREAM_CORE_GRAPH_FRAMES_H_
#define MILLSTREAM_CORE_GRAPH_FRAMES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/graph/graph.h"
#include "core/graph/prune.h"
#include "framework/status.h"

namespace millstream {

// A loop of the graph. A running step has one instance of it for each iteration of its parent.
struct StaticFrame {
  static constexpr int kRoot = 0;  // the step itself, which is no loop
  std::string name;                // attribute "frame_name" of its Enters
  int parent = -1;                 // -1 for the root
  int parallel_iterations = 1;
};

struct FrameTree {
  std::vector<StaticFrame> frames;  // parents before children
  // For each node of the pruned graph, the frame of its inputs and the frame of its outputs. They
  // differ for Enter (from the parent into the loop) and Exit (from the loop to the parent).
  std::vector<int> input_frame;
  std::vector<int> output_frame;

  // "no loop" or "frame 'inner'", for messages.
  std::string Describe(int frame) const;
};

// Finds the frames. INVALID_ARGUMENT names the nodes and frames if a node has inputs from different
// frames, if an Exit or a NextIteration is in no loop, or if Enters of one frame contradict each
// other.
StatusOr<FrameTree> FindFrames(const PrunedGraph& graph, const absl::flat_hash_set<Output>& fed);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_FRAMES_H_
