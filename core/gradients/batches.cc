// Gradients of batches: a step of a batch gets the rows of the gradient that are its own.
#include <string>

#include "absl/strings/str_cat.h"
#include "core/gradients/gradient_registry.h"

namespace millstream {
namespace {

Status BatchGradient(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const int64_t timeout, context->Attr<int64_t>("grad_timeout_micros"));
  const int count = context->num_inputs();
  for (int i = 0; i < count; ++i) {
    if (!context->has_dy(i)) continue;
    const std::string name = absl::StrCat("batch_gradient_", context->call().name, "_", i);
    context->SetDx(
        i, context->builder()->Op(
               "Unbatch", {context->dy(i), context->output(count), context->output(count + 1)},
               {{"timeout_micros", timeout}, {"shared_name", name}}));
  }
  return absl::OkStatus();
}

Status UnbatchGradient(GradientContext* context) {
  const std::string name = absl::StrCat("unbatch_gradient_", context->call().name);
  context->SetDx(0, context->builder()->Op(
                        "UnbatchGrad",
                        {context->input(0), context->input(1), context->dy(0), context->input(2)},
                        {{"shared_name", name}}));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("Batch", BatchGradient);
MILLSTREAM_GRADIENT("Unbatch", UnbatchGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("MutexV2");
MILLSTREAM_NOT_DIFFERENTIABLE("MutexLock");
MILLSTREAM_NOT_DIFFERENTIABLE("ConsumeMutexLock");

}  // namespace
}  // namespace millstream
