// Symbolic differentiation: adds the nodes that compute dys/dxs to the graph.
#ifndef MILLSTREAM_CORE_GRADIENTS_GRADIENTS_H_
#define MILLSTREAM_CORE_GRADIENTS_GRADIENTS_H_

#include <string>
#include <vector>

#include "core/gradients/gradient_functions.h"
#include "core/gradients/gradient_registry.h"

namespace millstream {

struct GradientOptions {
  std::string scope = "gradients";     // nodes are named below it
  std::vector<Output> stop_gradients;  // taken as constants
  // Gradient nodes request the device of their op and join its colocation groups. Gradients of an
  // output that are on one device are summed beside the first of them, and the sums of several
  // devices beside the op of the output.
  bool colocate_with_forward = false;
  std::string source;  // the user's line
  // Functions for ops that the registry has none for; may be null.
  GradientFunctions* functions = nullptr;
  // Gets the nodes that are made for the gradients, in their order; may be null. Not among them is
  // what keeps values in the loops of the forward graph, which may not wait for anything new, and
  // what `functions` make.
  std::vector<const Node*>* made = nullptr;
};

// Returns for each x the gradient of sum(dy_i * y_i) with respect to it. `grad_ys` has the dy_i; an
// entry without node stands for ones. The function walks back from `ys` and sums over all paths
// with AddN (white paper, section 4.1). If there is no path, or only paths through ops that are not
// differentiable, the gradient is none. A node with the attribute "_gradient_op_type" uses the
// gradient function of the op that the attribute names. The shape of a `grad_ys` entry is not
// checked, only the shapes of the gradients that follow from it. INVALID_ARGUMENT for a y that is
// neither floating point nor complex, an entry of `grad_ys` whose type differs from its y, and a
// gradient whose shape contradicts that of its input. NOT_FOUND names an op on a path that has no
// gradient function, neither in the registry nor among `options.functions`. Thread-safe.
StatusOr<std::vector<Gradient>> AddGradients(Graph* graph, const std::vector<Output>& ys,
                                             const std::vector<Output>& xs,
                                             const std::vector<Output>& grad_ys,
                                             const GradientOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_GRADIENTS_H_
