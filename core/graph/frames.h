// Which loop each node of a step is in, found from the graph alone.
#ifndef MILLSTREAM_CORE_GRAPH_FRAMES_H_
#define MILLSTREAM_CORE_GRAPH_FRAMES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/graph/graph.h"
#include "core/graph/prune.h"
#include "framework/status.h"

namespace millstream {

// A loop as the graph writes it. Running, it exists once for each iteration of its parent.
struct StaticFrame {
  static constexpr int kRoot = 0;  // the step itself, which is no loop
  std::string name;                // attribute "frame_name" of its Enters
  int parent = -1;                 // -1: of the root
  int parallel_iterations = 1;
};

struct FrameTree {
  std::vector<StaticFrame> frames;  // parents before children
  // For each node of the pruned graph, in its order: where its inputs are, and where its outputs
  // are. They differ for Enter (from the parent into the loop) and Exit (back).
  std::vector<int> input_frame;
  std::vector<int> output_frame;

  // "no loop" or "frame 'inner'", for messages.
  std::string Describe(int frame) const;
};

// INVALID_ARGUMENT names the nodes and the frames when a node has inputs from different frames,
// when an Exit or a NextIteration is in no loop, or when Enters of one frame disagree.
StatusOr<FrameTree> FindFrames(const PrunedGraph& graph, const absl::flat_hash_set<Output>& fed);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_FRAMES_H_
