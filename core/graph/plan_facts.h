// What is known of every tensor of a pruned graph once the shapes of the feeds are.
#ifndef MILLSTREAM_CORE_GRAPH_PLAN_FACTS_H_
#define MILLSTREAM_CORE_GRAPH_PLAN_FACTS_H_

#include <deque>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/graph/graph.h"
#include "core/graph/prune.h"
#include "framework/shape_context.h"

namespace millstream {

// The integers that `facts` knows of the output, as a tensor; nothing when one is not known.
std::optional<Tensor> KnownValue(const Output& output, const OutputFacts& facts);

class PlanFacts {
 public:
  // What other parts of the step know of the tensors that this part receives.
  using Received = absl::flat_hash_map<const Node*, OutputFacts>;

  // Runs shape inference over the graph. `feed_shapes` null: nothing is known of the feeds.
  // `received` null: nothing is received.
  static StatusOr<PlanFacts> Infer(const PrunedGraph& graph, const StepSignature& signature,
                                   const std::vector<Shape>* feed_shapes,
                                   const Received* received = nullptr);

  // Of an output of the graph, or one that is fed, whose node need not be in it.
  const OutputFacts& of(const Output& output) const {
    auto fed = fed_.find(output);
    return fed != fed_.end() ? fed->second : outputs_.at(output.node)[output.index];
  }
  bool IsFed(const Output& output) const { return fed_.contains(output); }
  // The value when it is the same in every step (constants, and integer shape arithmetic on known
  // shapes), else null. Fed tensors have none.
  const Tensor* constant(const Output& output) const {
    auto found = constants_.find(output);
    return found == constants_.end() ? nullptr : found->second;
  }

 private:
  Status InferNode(const Node* node, const Received* received);
  void KeepConstants(const Node* node);

  absl::flat_hash_map<const Node*, std::vector<OutputFacts>> outputs_;
  absl::flat_hash_map<Output, const Tensor*> constants_;
  absl::flat_hash_map<Output, OutputFacts> fed_;
  std::deque<Tensor> computed_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_PLAN_FACTS_H_
