// A conditional as a node of a step.
#ifndef MILLSTREAM_CORE_PLAN_BRANCH_NODE_H_
#define MILLSTREAM_CORE_PLAN_BRANCH_NODE_H_

#include <memory>

#include "core/graph/inner_graph.h"
#include "core/plan/inner_plans.h"

namespace millstream {

// Runs the plan of one branch. Thread-safe.
class BranchNode final : public InnerNode {
 public:
  BranchNode(std::shared_ptr<const BranchBody> body, const InnerSite& site);

 private:
  Status Run(MS_Frame* frame) override;

  const std::shared_ptr<const BranchBody> body_;
  InnerPlans on_false_;
  InnerPlans on_true_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_BRANCH_NODE_H_
