// The work of the nodes of a step, and the sizes of the tensors between them.
#ifndef MILLSTREAM_CORE_PLACEMENT_STEP_WORK_H_
#define MILLSTREAM_CORE_PLACEMENT_STEP_WORK_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/graph/graph.h"
#include "core/graph/prune.h"
#include "core/graph/step_signature.h"
#include "core/placement/node_work.h"
#include "framework/shape.h"

namespace millstream {

class StepWork {
 public:
  // Infers shapes from those of the feeds; `feed_shapes` null: uses the static shapes of the graph.
  // Unknown sizes, and sizes inside branches and loops, are guessed.
  static StepWork Of(const Graph& graph, const PrunedGraph& pruned, const StepSignature& signature,
                     const std::vector<Shape>* feed_shapes);

  // The work of pruned.nodes[i].
  const NodeWork& of(int i) const { return work_[i]; }
  // The size of a tensor. REQUIRES: a node of the step produces it, or it is fed.
  double bytes(const Output& output) const { return bytes_.at(output); }

 private:
  std::vector<NodeWork> work_;
  absl::flat_hash_map<Output, double> bytes_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLACEMENT_STEP_WORK_H_
