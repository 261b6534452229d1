// Gradients, and which ops have gradient functions.
#include "core/gradients/gradients.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/c_api/c_api.h"
#include "core/c_api/handles.h"
#include "core/gradients/gradient_functions.h"
#include "core/gradients/gradient_registry.h"
#include "framework/status.h"

using millstream::AddGradients;
using millstream::Gradient;
using millstream::GradientContext;
using millstream::GradientFunctions;
using millstream::GradientOptions;
using millstream::Node;
using millstream::Output;
using millstream::Status;
using millstream::StatusOr;
using millstream::c_api::FindOutput;
using millstream::c_api::FindOutputs;
using millstream::c_api::Give;
using millstream::c_api::GiveBytes;
using millstream::c_api::MakeOutput;

namespace errors = millstream::errors;

struct millstream_gradient_region {
  const millstream_graph* graph = nullptr;
  millstream::GraphRegion* region = nullptr;
};

namespace {

constexpr millstream_output kNoOutput = {-1, 0};

// An output of node -1 has no node.
StatusOr<Output> FindOptionalOutput(const millstream_graph* graph, millstream_output given) {
  if (given.node == -1) return Output();
  return FindOutput(graph, given);
}

// Where `given` is null, the outputs have no node.
StatusOr<std::vector<Output>> FindOptionalOutputs(const millstream_graph* graph,
                                                  const millstream_output* given, int32_t n) {
  std::vector<Output> outputs(n);
  for (int32_t i = 0; given != nullptr && i < n; ++i) {
    MS_ASSIGN_OR_RETURN(outputs[i], FindOptionalOutput(graph, given[i]));
  }
  return outputs;
}

millstream_gradient GiveGradient(const Gradient& gradient) {
  return {MakeOutput(gradient.values), MakeOutput(gradient.indices),
          MakeOutput(gradient.dense_shape)};
}

StatusOr<Gradient> FindGradientParts(const millstream_graph* graph,
                                     const millstream_gradient& given) {
  Gradient gradient;
  MS_ASSIGN_OR_RETURN(gradient.values, FindOptionalOutput(graph, given.values));
  MS_ASSIGN_OR_RETURN(gradient.indices, FindOptionalOutput(graph, given.indices));
  MS_ASSIGN_OR_RETURN(gradient.dense_shape, FindOptionalOutput(graph, given.dense_shape));
  if (gradient.is_slices() && (gradient.is_none() || !gradient.dense_shape)) {
    return errors::InvalidArgument("rows of a gradient need values, indices and a dense shape");
  }
  return gradient;
}

millstream_bytes GiveNumbers(const std::vector<const Node*>& nodes) {
  std::string numbers;
  for (const Node* const node : nodes) {
    const int32_t number = node->id();
    numbers.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  return GiveBytes(numbers);
}

// The gradient functions of the front end.
class FrontEndGradients final : public GradientFunctions {
 public:
  FrontEndGradients(const millstream_graph* graph, const millstream_gradient_functions& functions)
      : graph_(graph), functions_(functions) {}

  StatusOr<bool> Differentiate(absl::string_view name, const Node* node,
                               GradientContext* context) override {
    std::vector<millstream_gradient> dy;
    for (int i = 0; i < context->num_outputs(); ++i) {
      dy.push_back(GiveGradient(context->raw_dy(i)));
    }
    std::vector<millstream_gradient> dx(context->num_inputs(), {kNoOutput, kNoOutput, kNoOutput});
    millstream_gradient_region region = {graph_, context->builder()->region()};
    const int32_t outcome = functions_.differentiate(
        functions_.state, std::string(name).c_str(), node->id(),
        context->builder()->scope().c_str(), region.region == nullptr ? nullptr : &region,
        dy.data(), static_cast<int32_t>(dy.size()), dx.data(), static_cast<int32_t>(dx.size()));
    if (outcome < 0) {
      return Status(absl::StatusCode::kUnknown,
                    absl::StrCat("gradient function '", name, "' failed"));
    }
    if (outcome == 0) return false;
    for (int i = 0; i < context->num_inputs(); ++i) {
      MS_ASSIGN_OR_RETURN(Gradient gradient, FindGradientParts(graph_, dx[i]));
      context->SetDx(i, std::move(gradient));
    }
    return true;
  }

 private:
  const millstream_graph* const graph_;
  const millstream_gradient_functions functions_;
};

}  // namespace

millstream_status* millstream_graph_gradients(millstream_graph* graph, const millstream_output* ys,
                                              int32_t n_ys, const millstream_output* xs,
                                              int32_t n_xs, const millstream_output* grad_ys,
                                              const millstream_output* stop_gradients,
                                              int32_t n_stop_gradients, int32_t colocate,
                                              const char* scope, const char* source,
                                              const millstream_gradient_functions* functions,
                                              millstream_gradient* out, millstream_bytes* made) {
  if (made != nullptr) *made = millstream_bytes();
  auto y_outputs = FindOutputs(graph, ys, n_ys);
  if (!y_outputs.ok()) return Give(y_outputs.status());
  auto x_outputs = FindOutputs(graph, xs, n_xs);
  if (!x_outputs.ok()) return Give(x_outputs.status());
  auto grad_outputs = FindOptionalOutputs(graph, grad_ys, n_ys);
  if (!grad_outputs.ok()) return Give(grad_outputs.status());
  auto stop_outputs = FindOutputs(graph, stop_gradients, n_stop_gradients);
  if (!stop_outputs.ok()) return Give(stop_outputs.status());
  FrontEndGradients front_end(graph,
                              functions == nullptr ? millstream_gradient_functions() : *functions);
  GradientOptions options;
  options.scope = scope;
  options.source = source;
  options.colocate_with_forward = colocate != 0;
  options.stop_gradients = *std::move(stop_outputs);
  if (functions != nullptr) options.functions = &front_end;
  std::vector<const Node*> made_nodes;
  options.made = &made_nodes;
  StatusOr<std::vector<Gradient>> gradients =
      AddGradients(&graph->graph, *y_outputs, *x_outputs, *grad_outputs, options);
  if (!gradients.ok()) return Give(gradients.status());
  for (int32_t i = 0; i < n_xs; ++i) out[i] = GiveGradient((*gradients)[i]);
  if (made != nullptr) *made = GiveNumbers(made_nodes);
  return nullptr;
}

millstream_status* millstream_gradient_region_inside(millstream_gradient_region* region,
                                                     millstream_output output,
                                                     millstream_output* out) {
  const StatusOr<Output> given = FindOutput(region->graph, output);
  if (!given.ok()) return Give(given.status());
  const StatusOr<Output> inside = region->region->Inside(*given);
  if (!inside.ok()) return Give(inside.status());
  *out = MakeOutput(*inside);
  return nullptr;
}

int32_t millstream_gradient_region_pivot(const millstream_gradient_region* region) {
  return region->region->pivot()->id();
}

void millstream_gradient_region_note(millstream_gradient_region* region, int32_t node) {
  region->region->NoteMade(region->graph->graph.node(node));
}

void millstream_differentiable_ops(millstream_bytes* out) {
  *out = GiveBytes(absl::StrJoin(millstream::DifferentiableOps(), "\n"));
}

int32_t millstream_has_gradient(const char* op) {
  return millstream::FindGradient(op).ok() ? 1 : 0;
}
