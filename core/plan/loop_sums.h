// The variables of a loop that add up products of matrices (LoopSum).
#ifndef MILLSTREAM_CORE_PLAN_LOOP_SUMS_H_
#define MILLSTREAM_CORE_PLAN_LOOP_SUMS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/graph/inner_graph.h"
#include "core/plan/inner_plans.h"
#include "core/plan/plan_executor.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// The plans of all sums of a loop.
using LoopSumPlans = std::vector<std::unique_ptr<InnerPlans>>;

// The sums of one run of a loop: keeps the operands of several iterations and multiplies them as
// one. How many depends on their shapes alone. Not thread-safe.
class LoopSums {
 public:
  // REQUIRES: what is given outlives this object.
  LoopSums(const LoopBody& body, const LoopSumPlans& plans, StepContext* step, TracedPart* trace)
      : body_(body), plans_(plans), step_(step), trace_(trace), blocks_(body.sums.size()) {}

  // Adds what an iteration computed. `values` are those of the sums. REQUIRES: its calls succeeded,
  // and its variables were not carried yet. Errors are those of the product.
  Status Add(const PlanRun& iteration, absl::Span<Tensor> values);
  // Makes `values` the sums of all that was added.
  Status Finish(absl::Span<Tensor> values);

 private:
  struct Block {
    Tensor a, b;  // what the first `rows` rows of both hold is to be multiplied
    int64_t rows = 0;
  };

  Status AddTo(size_t i, const Tensor& a, const Tensor& b, Tensor* value);
  Status Flush(size_t i, Tensor* value);
  Status Multiply(size_t i, Tensor a, Tensor b, Tensor* value);

  const LoopBody& body_;
  const LoopSumPlans& plans_;
  StepContext* const step_;
  TracedPart* const trace_;
  std::vector<Block> blocks_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_LOOP_SUMS_H_
