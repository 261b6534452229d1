// Finds the tensors of a step that may be dead, because they are on a branch that is not taken.
//
// For every node, the analysis finds a condition under which the node is certainly live: a boolean
// function of the predicates of Switches. A node that is live in every step has the condition
// "true": nodes before all Switches, and Merges of both branches of a Switch, also with other
// Switches in between. (TensorFlow's XLA bridge also uses conditions over predicates:
// tensorflow/compiler/jit.)
//
// Inside a loop, a condition holds for one iteration, provided that live tensors entered the loop.
// An Exit is live if the inputs of the loop are, for loops of the usual form: the loop has one
// LoopCond, and every loop variable goes to the next iteration if it is true, else out of the loop.
// Nodes after other loops may be dead.
#ifndef MILLSTREAM_CORE_GRAPH_DEADNESS_H_
#define MILLSTREAM_CORE_GRAPH_DEADNESS_H_

#include "absl/container/flat_hash_set.h"
#include "core/graph/control_flow.h"
#include "core/graph/frames.h"
#include "core/graph/graph.h"
#include "core/graph/prune.h"

namespace millstream {

class Deadness {
 public:
  // `frames` are those of `graph`, `fed` are the fed tensors of the step.
  static Deadness Of(const PrunedGraph& graph, const FrameTree& frames,
                     const absl::flat_hash_set<Output>& fed);

  // True if a control edge from the node may be dead. Also true if it is not known, and inside
  // loops.
  bool MayBeDead(const Node* node) const { return !live_.contains(node); }
  // The same for a tensor. Outputs of a Switch may always be dead.
  bool MayBeDead(const Output& output) const {
    return KindOf(*output.node) == ControlFlowKind::kSwitch || MayBeDead(output.node);
  }

 private:
  absl::flat_hash_set<const Node*> live_;  // in every step
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_DEADNESS_H_
