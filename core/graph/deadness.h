// Which tensors of a step may be dead: on a branch that was not taken.
//
// For every node the analysis finds a condition under which it is live for certain: a boolean
// function of the predicates of Switches. What is live in every step has the condition that is
// always true: what is in front of every Switch, and a Merge of both branches of one, however many
// Switches lie between. (Conditions over predicates are how the XLA bridge of TensorFlow looks at
// deadness too: tensorflow/compiler/jit.)
//
// Inside a loop a condition speaks of any one iteration, once live tensors entered the loop. What
// leaves a loop is live with what entered it if the loop is of the usual kind: it has one LoopCond,
// and whenever that says so every variable goes to the next iteration, else out. Nothing is
// promised of other loops.
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
  // `frames` are those of `graph`, `fed` the tensors that the step is given.
  static Deadness Of(const PrunedGraph& graph, const FrameTree& frames,
                     const absl::flat_hash_set<Output>& fed);

  // Whether a control edge from the node may be dead; true when that is not known, and inside of
  // loops.
  bool MayBeDead(const Node* node) const { return !live_.contains(node); }
  // The same for a tensor. One of a Switch's always may.
  bool MayBeDead(const Output& output) const {
    return KindOf(*output.node) == ControlFlowKind::kSwitch || MayBeDead(output.node);
  }

 private:
  absl::flat_hash_set<const Node*> live_;  // in every step
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_DEADNESS_H_
