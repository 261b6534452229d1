#include "core/plan/inner_plans.h"

#include <utility>

#include "core/graph/inner_facts.h"
#include "core/host/kernel_host.h"
#include "core/plan/branch_node.h"
#include "core/plan/loop_node.h"
#include "core/plan/plan_compiler.h"
#include "framework/plugin/host_status.h"

namespace millstream {

MS_Status* InnerNode::Compute(void* inner_node, MS_Frame* frame) {
  const Status status = static_cast<InnerNode*>(inner_node)->Run(frame);
  if (status.ok()) return nullptr;
  frame->ctx->host->step->Fail(status);
  return ToAbiStatus(status);
}

InnerNodes MakeInnerNodes(const PrunedGraph& graph, const InnerSite& site) {
  InnerNodes nodes;
  for (const auto& [node, loop] : graph.loops) nodes[node] = std::make_unique<LoopNode>(loop, site);
  for (const auto& [node, branch] : graph.branches) {
    nodes[node] = std::make_unique<BranchNode>(branch, site);
  }
  return nodes;
}

InnerPlans::InnerPlans(const InnerGraph* graph, int num_carried, const InnerSite& site)
    : graph_(*graph),
      num_carried_(num_carried),
      site_(site),
      inner_(MakeInnerNodes(graph->pruned, site)) {}

StatusOr<Plan*> InnerPlans::For(absl::Span<const Tensor> feeds, const LoopBody* loop) {
  using Made = StatusOr<std::unique_ptr<Plan>>;
  return plans_.FindOrBuild(feeds, [&](const std::vector<Shape>* shapes, PlanTurn*) -> Made {
    std::vector<OutputFacts> facts(feeds.size());
    for (size_t i = 0; shapes != nullptr && i < facts.size(); ++i) {
      facts[i].shape = PartialShape((*shapes)[i]);
    }
    MS_ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan, Compile(std::move(facts), loop));
    if (shapes != nullptr) plan->feed_shapes = *shapes;
    return plan;
  });
}

StatusOr<std::unique_ptr<Plan>> InnerPlans::Compile(std::vector<OutputFacts> feeds,
                                                    const LoopBody* loop) const {
  if (loop != nullptr) {
    std::vector<PartialShape> variables = LoopShapes(*loop, feeds);
    for (size_t k = 0; k < variables.size(); ++k) feeds[k].shape = std::move(variables[k]);
  }
  PlanRequest request;
  request.graph = &graph_.pruned;
  request.signature = &graph_.signature;
  request.feed_facts = &feeds;
  request.num_carried = num_carried_;
  request.inner = &inner_;
  request.kernels = site_.kernels;
  request.settings = site_.settings;
  MS_ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan, CompilePlan(request));
  plan->device_name = site_.kernels->device_name();
  if (site_.settings->budget != nullptr) plan->SetBudget(site_.settings->budget);
  return plan;
}

}  // namespace millstream
