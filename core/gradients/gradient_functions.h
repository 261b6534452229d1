// Gradient functions that are not in the registry, such as those of a front end's program.
#ifndef MILLSTREAM_CORE_GRADIENTS_GRADIENT_FUNCTIONS_H_
#define MILLSTREAM_CORE_GRADIENTS_GRADIENT_FUNCTIONS_H_

#include "absl/strings/string_view.h"
#include "core/gradients/gradient_registry.h"

namespace millstream {

class GradientFunctions {
 public:
  virtual ~GradientFunctions() = default;

  // Computes the gradients of `node` as a GradientFunction does, and returns true. `name` is the
  // node's op, or what its attribute "_gradient_op_type" says. If there is no function of this
  // name, returns false and does nothing. AddGradients calls it on its own thread and without the
  // graph's lock. The function may add nodes without the context's builder. Their names are below
  // the builder's scope, and they belong to the builder's region.
  virtual StatusOr<bool> Differentiate(absl::string_view name, const Node* node,
                                       GradientContext* context) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_GRADIENT_FUNCTIONS_H_
