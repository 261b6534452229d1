#include "core/gradients/gradients.h"

#include "core/gradients/backward_walk.h"

namespace millstream {

StatusOr<std::vector<Gradient>> AddGradients(Graph* graph, const std::vector<Output>& ys,
                                             const std::vector<Output>& xs,
                                             const std::vector<Output>& grad_ys,
                                             const GradientOptions& options) {
  if (!grad_ys.empty() && grad_ys.size() != ys.size()) {
    return errors::InvalidArgument("expected one grad_ys for each of ", ys.size(), " ys, got ",
                                   grad_ys.size());
  }
  std::vector<Output> sources;
  for (const Output& x : xs) sources.push_back(HandleOfImported(x));
  BackwardWalk walk(graph, sources, options);
  MS_RETURN_IF_ERROR(walk.Start(ys, grad_ys));
  MS_RETURN_IF_ERROR(walk.Walk());
  return walk.Results(sources);
}

}  // namespace millstream
