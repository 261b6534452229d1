#include "core/graph/inner_facts.h"

#include "core/graph/plan_facts.h"

namespace millstream {

std::vector<PartialShape> LoopShapes(const LoopBody& loop, const std::vector<OutputFacts>& inputs) {
  const size_t num_variables = loop.num_variables;
  std::vector<OutputFacts> feeds = inputs;
  feeds.resize(loop.iteration.signature.feeds.size());  // without the sums
  std::vector<PartialShape> shapes;
  for (size_t k = 0; k < num_variables; ++k) {
    feeds[k].value.reset();  // of the first iteration alone
    shapes.push_back(feeds[k].shape);
  }
  // Each round makes a dimension or a rank unknown, or is the last.
  while (true) {
    const StatusOr<PlanFacts> facts =
        PlanFacts::InferFrom(loop.iteration.pruned, loop.iteration.signature, feeds);
    if (!facts.ok()) return std::vector<PartialShape>(num_variables);
    bool changed = false;
    for (size_t k = 0; k < num_variables; ++k) {
      PartialShape next = facts->of(loop.iteration.signature.fetches[k]).shape;
      PartialShape common = shapes[k].CommonWith(next);
      changed |= common != shapes[k];
      shapes[k] = std::move(common);
      feeds[k].shape = shapes[k];
    }
    if (!changed) return shapes;
  }
}

namespace {

// Unknown if inference fails.
std::vector<PartialShape> FetchedShapes(const InnerGraph& graph,
                                        const std::vector<OutputFacts>& feeds) {
  const StatusOr<PlanFacts> facts = PlanFacts::InferFrom(graph.pruned, graph.signature, feeds);
  std::vector<PartialShape> shapes;
  for (const Output& fetch : graph.signature.fetches) {
    shapes.push_back(facts.ok() ? facts->of(fetch).shape : PartialShape());
  }
  return shapes;
}

}  // namespace

std::vector<PartialShape> BranchShapes(const BranchBody& branch,
                                       const std::vector<OutputFacts>& inputs) {
  const std::vector<OutputFacts> feeds(inputs.begin() + 1, inputs.end());
  std::vector<PartialShape> shapes = FetchedShapes(branch.on_false, feeds);
  const std::vector<PartialShape> others = FetchedShapes(branch.on_true, feeds);
  for (size_t i = 0; i < shapes.size(); ++i) shapes[i] = shapes[i].CommonWith(others[i]);
  return shapes;
}

}  // namespace millstream
