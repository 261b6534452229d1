// Gradients of an op whose gradient function states the op again, as a formula of other ops.
#ifndef MILLSTREAM_CORE_GRADIENTS_FORMULA_H_
#define MILLSTREAM_CORE_GRADIENTS_FORMULA_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/gradients/gradient_registry.h"
#include "core/graph/graph_builder.h"
#include "framework/status.h"

namespace millstream {

// A gradient function makes arguments of the tensors to differentiate by, adds the nodes of the
// formula with the same builder, and asks for the gradients:
//
//   Formula formula(builder);
//   const Output x = formula.Argument(context->input(0));
//   const Output y = builder->Op("Exp", {builder->Op("Neg", {x})});
//   MS_RETURN_IF_ERROR(formula.Differentiate({y}, {context->dy(0)}));
//   context->SetDx(0, formula.GradientOf(x));
//
// The nodes of the formula may be in a region, but they are no loops and no conditionals. Not
// thread-safe.
class Formula {
 public:
  // `builder` must outlive the formula.
  explicit Formula(GraphBuilder* builder) : builder_(builder) {}

  // A tensor with the value of `value` that the formula reads in its place. To be called before the
  // first node of the formula is made.
  Output Argument(const Output& value);

  // Adds the nodes that differentiate the sum of all dys[i] * ys[i]. A dy without node is zero.
  // NOT_FOUND for an op of the formula that has no gradient function. To be called once.
  Status Differentiate(const std::vector<Output>& ys, const std::vector<Output>& dys);
  // The gradient by an argument; without node if no y depends on it.
  Output GradientOf(const Output& argument) const;

 private:
  // The nodes that lead from arguments to ys, the newest first.
  std::vector<const Node*> FindNodesBetween(const std::vector<Output>& ys);
  Status Visit(const Node* node);
  // The sum over all readers of an output, made once.
  Gradient Total(const Output& output);

  GraphBuilder* const builder_;
  std::vector<Output> arguments_;
  absl::flat_hash_set<const Node*> between_;  // the arguments' nodes and those that read them
  absl::flat_hash_map<Output, std::vector<Gradient>> parts_;
  absl::flat_hash_map<Output, Output> gradients_;  // by the arguments
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_FORMULA_H_
