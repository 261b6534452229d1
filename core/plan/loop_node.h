// A loop as a node of a step.
#ifndef MILLSTREAM_CORE_PLAN_LOOP_NODE_H_
#define MILLSTREAM_CORE_PLAN_LOOP_NODE_H_

#include <memory>

#include "core/graph/inner_graph.h"
#include "core/plan/inner_plans.h"
#include "core/plan/loop_sums.h"

namespace millstream {

// Runs the plan of the iteration until its condition is false. Thread-safe.
class LoopNode final : public InnerNode {
 public:
  LoopNode(std::shared_ptr<const LoopBody> body, const InnerSite& site);

 private:
  Status Run(MS_Frame* frame) override;

  const std::shared_ptr<const LoopBody> body_;
  InnerPlans condition_;
  InnerPlans iteration_;
  LoopSumPlans sums_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_LOOP_NODE_H_
