// Finds the variables of a loop that only add up products of matrices: the gradients of weights in
// backward loops.
#ifndef MILLSTREAM_CORE_LOOPS_LOOP_SUMS_H_
#define MILLSTREAM_CORE_LOOPS_LOOP_SUMS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "core/graph/inner_graph.h"
#include "core/loops/loop_form.h"
#include "core/loops/step_items.h"
#include "framework/status.h"

namespace millstream {

// A variable whose next value is AddN(variable, MatMul(a, b)) with transpose_a, where nothing else
// reads the variable, the product or the sum.
struct SummingVariable {
  size_t variable;                   // of the form
  std::optional<StepItem> identity;  // passes the variable on to the sum
  StepItem product;
  StepItem sum;
};

std::vector<SummingVariable> FindSums(const LoopForm& form);

// The graph that adds a product. `variable` is the one of the form.
StatusOr<InnerGraph> MakeSumGraph(const SummingVariable& summing, const CarriedValue& variable);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_LOOPS_LOOP_SUMS_H_
