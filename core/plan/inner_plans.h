// Runs the loops and conditionals of a step that are nodes (core/graph/inner_graph.h): their graphs
// are plans, and an iteration or a branch is a run of one.
#ifndef MILLSTREAM_CORE_PLAN_INNER_PLANS_H_
#define MILLSTREAM_CORE_PLAN_INNER_PLANS_H_

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "core/device/kernel_instance.h"
#include "core/graph/inner_graph.h"
#include "core/graph/prune.h"
#include "core/plan/plan.h"
#include "core/plan/plans_by_shape.h"
#include "core/step/session_settings.h"
#include "framework/plugin/plugin.h"
#include "framework/shape_context.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// Where the nodes run. REQUIRES: what it names outlives them.
struct InnerSite {
  KernelCache* kernels = nullptr;
  const SessionSettings* settings = nullptr;
};

// A node with graphs of its own. Thread-safe.
class InnerNode {
 public:
  virtual ~InnerNode() = default;
  // Call::compute of the node; `inner_node` is the InnerNode. The step fails with the error that
  // has the details of the node inside.
  static MS_Status* Compute(void* inner_node, MS_Frame* frame);

 private:
  virtual Status Run(MS_Frame* frame) = 0;
};

// By the nodes that stand for them.
using InnerNodes = absl::flat_hash_map<const Node*, std::unique_ptr<InnerNode>>;

// Those of the graph.
InnerNodes MakeInnerNodes(const PrunedGraph& graph, const InnerSite& site);

// The plans of one graph of a node. Each is compiled when the graph first runs with feeds of its
// shapes. Thread-safe.
class InnerPlans {
 public:
  // The feeds [0, num_carried) belong to the run: see Plan::num_carried. REQUIRES: `graph` outlives
  // this object.
  InnerPlans(const InnerGraph* graph, int num_carried, const InnerSite& site);
  InnerPlans(const InnerPlans&) = delete;
  InnerPlans& operator=(const InnerPlans&) = delete;

  // `loop`: the graph is its iteration, so the shapes must hold for all iterations. Else null.
  StatusOr<Plan*> For(absl::Span<const Tensor> feeds, const LoopBody* loop);

 private:
  StatusOr<std::unique_ptr<Plan>> Compile(std::vector<OutputFacts> feeds,
                                          const LoopBody* loop) const;

  const InnerGraph& graph_;
  const int num_carried_;
  const InnerSite site_;
  const InnerNodes inner_;
  PlansByShape<Plan> plans_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_INNER_PLANS_H_
