#include "core/plan/node_value.h"

#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/graph/graph_builder.h"
#include "core/plan/plan_executor.h"

namespace millstream {
namespace {

// The node as the only one that is not a constant.
StatusOr<const Node*> AddWithInputs(const Node& node, const std::vector<Tensor>& inputs,
                                    Graph* graph) {
  GraphBuilder builder(graph, absl::StrCat(node.name(), "/inputs"));
  std::vector<Output> constants;
  for (const Tensor& input : inputs) constants.push_back(builder.Const(input));
  MS_RETURN_IF_ERROR(builder.status());
  return graph->AddCopy(node, std::move(constants), {});
}

Status CheckSize(int64_t bytes, int64_t max_bytes) {
  if (bytes <= max_bytes) return absl::OkStatus();
  return errors::OutOfRange("the value is too large to be kept");
}

// By what is known before the kernel runs.
Status CheckPlannedSize(const Plan& plan, int64_t max_bytes) {
  for (const FetchPlan& fetch : plan.fetches) {
    const int64_t bytes = plan.roots[fetch.value.root].bytes();
    MS_RETURN_IF_ERROR(CheckSize(bytes, max_bytes));
    max_bytes -= bytes;
  }
  return absl::OkStatus();
}

bool OnlyRenames(const Plan& plan) {
  return absl::c_all_of(plan.fetches, [&](const FetchPlan& fetch) {
    return plan.roots[fetch.value.root].kind == RootKind::kConstant;
  });
}

}  // namespace

StatusOr<std::vector<Tensor>> ValueOfNode(const Node& node, const std::vector<Tensor>& inputs,
                                          int64_t max_bytes, const PlanRequest& plan) {
  Graph graph;
  MS_ASSIGN_OR_RETURN(const Node* copy, AddWithInputs(node, inputs, &graph));
  PrunedGraph pruned;
  pruned.nodes = graph.nodes();
  pruned.controls.resize(pruned.nodes.size());
  StepSignature signature;
  for (int i = 0; i < copy->num_outputs(); ++i) signature.fetches.push_back(copy->output(i));
  const std::vector<Shape> no_feeds;
  PlanRequest request = plan;
  request.graph = &pruned;
  request.signature = &signature;
  request.feed_shapes = &no_feeds;
  request.received = nullptr;
  request.folded = nullptr;
  request.as_written = true;
  if (plan.host_kernels != nullptr) request.kernels = plan.host_kernels;
  request.memory = nullptr;
  MS_ASSIGN_OR_RETURN(const std::unique_ptr<Plan> compiled, CompilePlan(request));
  std::vector<Tensor> values(signature.fetches.size());
  if (OnlyRenames(*compiled)) {
    for (size_t i = 0; i < values.size(); ++i) {
      const ValueRef& value = compiled->fetches[i].value;
      values[i] = compiled->roots[value.root].constant.Reshaped(value.shape);
    }
    return values;
  }
  MS_RETURN_IF_ERROR(CheckPlannedSize(*compiled, max_bytes));
  if (compiled->may_wait) return errors::Unimplemented("the node waits");
  RunOptions options = request.run == nullptr ? RunOptions() : *request.run;
  options.report = nullptr;
  MS_RETURN_IF_ERROR(ExecutePlan(compiled.get(), request.kernels->device_name(), {},
                                 absl::MakeSpan(values), options));
  int64_t bytes = 0;
  for (const Tensor& value : values) bytes += static_cast<int64_t>(value.bytes());
  MS_RETURN_IF_ERROR(CheckSize(bytes, max_bytes));
  return values;
}

}  // namespace millstream
