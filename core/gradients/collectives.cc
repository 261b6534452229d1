// Gradients of collective operations. Each member's gradient is an operation of the same group.
#include <string>
#include <vector>

#include "core/gradients/gradient_registry.h"
#include "core/graph/graph.h"

namespace millstream {
namespace {

// Operations of gradients are apart from all others of the group, and from gradients of gradients:
// programs count their instances from 0.
constexpr int64_t kNextOrder = int64_t{1} << 40;

// Every member's result has every member's input in it: the gradient is the sum, or the mean, of
// the gradients of all results.
Status CollectiveReduceGradient(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const std::string merge, context->Attr<std::string>("merge_op"));
  if (merge != "Add") {
    return errors::Unimplemented("CollectiveReduce has a gradient where merge_op is Add, not ",
                                 merge);
  }
  MS_ASSIGN_OR_RETURN(const DataType dtype, context->Attr<DataType>("T"));
  MS_ASSIGN_OR_RETURN(const int64_t group_size, context->Attr<int64_t>("group_size"));
  MS_ASSIGN_OR_RETURN(const int64_t group_key, context->Attr<int64_t>("group_key"));
  MS_ASSIGN_OR_RETURN(const int64_t instance_key, context->Attr<int64_t>("instance_key"));
  MS_ASSIGN_OR_RETURN(const std::string final_op, context->Attr<std::string>("final_op"));
  const Output dx = context->builder()->Op("CollectiveReduce", {context->dy(0)},
                                           {{"T", dtype},
                                            {"group_size", group_size},
                                            {"group_key", group_key},
                                            {"instance_key", instance_key + kNextOrder},
                                            {"merge_op", merge},
                                            {"final_op", final_op},
                                            {"subdiv_offsets", std::vector<int64_t>{0}}});
  context->SetDx(0, dx);
  if (!dx) return absl::OkStatus();  // the builder has the error
  // A member is a device: elsewhere its gradient would wait for itself for ever.
  Graph* const graph = context->builder()->graph();
  return graph->SetDevice(dx.node, graph->Device(context->output(0).node));
}

MILLSTREAM_GRADIENT("CollectiveReduce", CollectiveReduceGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("CollectiveGather");
MILLSTREAM_NOT_DIFFERENTIABLE("CollectiveReduceScatterV2");
MILLSTREAM_NOT_DIFFERENTIABLE("CollectiveBcastSend");
MILLSTREAM_NOT_DIFFERENTIABLE("CollectiveBcastRecv");

}  // namespace
}  // namespace millstream
