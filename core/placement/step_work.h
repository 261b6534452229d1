// What the nodes of a step have to do, and how large the tensors between them are.
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
  // By the shapes that follow from those of the feeds, `feed_shapes`, as far as they do; null: by
  // what the graph says. Sizes that stay unknown, and those inside of branches and loops, are
  // guessed.
  static StepWork Of(const Graph& graph, const PrunedGraph& pruned, const StepSignature& signature,
                     const std::vector<Shape>* feed_shapes);

  // Of pruned.nodes[i].
  const NodeWork& of(int i) const { return work_[i]; }
  // REQUIRES: some node of the step gives the tensor, or it is fed.
  double bytes(const Output& output) const { return bytes_.at(output); }

 private:
  std::vector<NodeWork> work_;
  absl::flat_hash_map<Output, double> bytes_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLACEMENT_STEP_WORK_H_
