#include "core/placement/step_work.h"

#include <optional>

#include "core/graph/plan_facts.h"

namespace millstream {

StepWork StepWork::Of(const Graph& graph, const PrunedGraph& pruned, const StepSignature& signature,
                      const std::vector<Shape>* feed_shapes) {
  std::optional<PlanFacts> facts;
  if (feed_shapes != nullptr && !pruned.has_control_flow) {
    // Shapes that do not fit are the error of the step, not of an estimate.
    StatusOr<PlanFacts> inferred = PlanFacts::Infer(pruned, signature, feed_shapes);
    if (inferred.ok()) facts = *std::move(inferred);
  }
  const auto shape_of = [&](const Output& output) {
    return facts.has_value() ? facts->of(output).shape : graph.Facts(output).shape;
  };
  StepWork step;
  for (const Output& feed : signature.feeds) {
    step.bytes_[feed] = EstimateBytes(feed.dtype(), shape_of(feed));
  }
  for (const Node* node : pruned.nodes) {
    std::vector<PartialShape> inputs;
    for (const Output& input : node->inputs()) inputs.push_back(shape_of(input));
    std::vector<PartialShape> outputs;
    for (int k = 0; k < node->num_outputs(); ++k) {
      outputs.push_back(shape_of(node->output(k)));
      step.bytes_[node->output(k)] = EstimateBytes(node->output_type(k), outputs.back());
    }
    step.work_.push_back(EstimateWork(*node, inputs, outputs));
  }
  return step;
}

}  // namespace millstream
