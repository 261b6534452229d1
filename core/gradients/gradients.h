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
  // Gradient nodes ask for the device of their op and join its colocation groups. A sum of
  // gradients goes to the op whose output it is the gradient of.
  bool colocate_with_forward = false;
  std::string source;  // the user's line
};

// For each x the gradient of sum(dy_i * y_i) with respect to it; a `grad_ys` entry without node is
// ones. White paper, section 4.1: walks back from `ys`, summing over all paths (AddN). A result
// without values: no path, or only through ops that are not differentiable. The shape of a
// `grad_ys` entry is not checked: what matters is that the gradients that follow from it fit.
// INVALID_ARGUMENT for a y that is neither floating point nor complex, an entry of `grad_ys` of
// another type than its y, and a gradient whose shape contradicts its input's; NOT_FOUND names an
// op on the path without gradient function. A node with the attribute "_gradient_op_type" has the
// gradient function of the op that the attribute names.
StatusOr<std::vector<Gradient>> AddGradients(Graph* graph, const std::vector<Output>& ys,
                                             const std::vector<Output>& xs,
                                             const std::vector<Output>& grad_ys,
                                             const GradientOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_GRADIENTS_H_
