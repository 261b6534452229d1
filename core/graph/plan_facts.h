// The static facts of every tensor of a pruned graph, for given shapes of the feeds.
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

// The value of an integer output as a tensor; none unless `facts` has all elements.
std::optional<Tensor> KnownValue(const Output& output, const OutputFacts& facts);

class PlanFacts {
 public:
  // The facts of the tensors that this part receives, from other parts of the step.
  using Received = absl::flat_hash_map<const Node*, OutputFacts>;

  // Runs shape inference over the graph. `feed_shapes` null: the shapes of feeds are unknown.
  // `received` null: nothing is received. Errors name the node.
  static StatusOr<PlanFacts> Infer(const PrunedGraph& graph, const StepSignature& signature,
                                   const std::vector<Shape>* feed_shapes,
                                   const Received* received = nullptr);
  // The same, with these facts of the feeds.
  static StatusOr<PlanFacts> InferFrom(const PrunedGraph& graph, const StepSignature& signature,
                                       const std::vector<OutputFacts>& feeds,
                                       const Received* received = nullptr);

  // The facts of an output of the graph, or of a fed output, whose node may be outside of the
  // graph.
  const OutputFacts& of(const Output& output) const {
    auto fed = fed_.find(output);
    return fed != fed_.end() ? fed->second : outputs_.at(output.node)[output.index];
  }
  bool IsFed(const Output& output) const { return fed_.contains(output); }
  // The value if it is the same in every step (constants, and integer arithmetic on known shapes),
  // else null. Null for fed tensors.
  const Tensor* constant(const Output& output) const {
    auto found = constants_.find(output);
    return found == constants_.end() ? nullptr : found->second;
  }

 private:
  Status InferNode(const Node* node, const PrunedGraph& graph, const Received* received);
  bool InferInner(const Node* node, const PrunedGraph& graph);
  void KeepConstants(const Node* node);
  void FollowElements(const Node* node, const PrunedGraph& graph);
  PartialShape WrittenShape(const Output& handle, Output flow, const PrunedGraph& graph) const;

  // The last element of a list, and the list without it.
  struct Pushed {
    Output element;
    Output rest;
  };

  absl::flat_hash_map<const Node*, std::vector<OutputFacts>> outputs_;
  absl::flat_hash_map<Output, Pushed> pushed_;  // by list
  absl::flat_hash_map<Output, const Tensor*> constants_;
  absl::flat_hash_map<Output, OutputFacts> fed_;
  std::deque<Tensor> computed_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_PLAN_FACTS_H_
