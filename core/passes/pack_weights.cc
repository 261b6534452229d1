// pack_weights: kernels see the weights that are constants when a plan is made, and may keep a copy
// that is arranged as they need it in every step: a product's or a convolution's right operand. The
// copy is the plan's and goes with it. Variables are never shown: a step may change them.
#include "core/passes/pass.h"

namespace millstream {
namespace {

Status PackWeights(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (!ops->IsGone(i)) ops->PrepareConstants(i);
  }
  return absl::OkStatus();
}

// After all that make new operations.
MILLSTREAM_PASS("pack_weights", 90, PackWeights);

}  // namespace
}  // namespace millstream
