// Symbolic differentiation: adds the nodes that compute dys/dxs to the graph.
#ifndef MILLSTREAM_CORE_GRADIENTS_GRADIENTS_H_
#define MILLSTREAM_CORE_GRADIENTS_GRADIENTS_H_

#include <string>
#include <vector>

#include "core/gradients/gradient_registry.h"

namespace millstream {

struct GradientOptions {
  std::string scope = "gradients";     // nodes are named below it
  std::vector<Output> stop_gradients;  // taken as constants
  bool colocate_with_forward = false;  // gradient nodes ask for their op's device
  std::string source;                  // the user's line
};

// For each x the gradient of sum(dy_i * y_i) with respect to it; a `grad_ys` entry without node is
// ones. White paper, section 4.1: walks back from `ys`, summing over all paths (AddN). A result
// without values: no path, or only through ops that are not differentiable. INVALID_ARGUMENT for
// a y that is neither floating point nor complex; NOT_FOUND names an op on the path without
// gradient function.
StatusOr<std::vector<Gradient>> AddGradients(Graph* graph, const std::vector<Output>& ys,
                                             const std::vector<Output>& xs,
                                             const std::vector<Output>& grad_ys,
                                             const GradientOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_GRADIENTS_H_
