// pack_weights: passes constant weights to kernels when a plan is made. A kernel may keep a copy in
// the layout that it needs in every step: the right operand of a product or a convolution. The plan
// owns the copy. Variables are not passed, because steps may change them.
#include "core/passes/pass.h"

namespace millstream {
namespace {

Status PackWeights(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (!ops->IsGone(i)) ops->PrepareConstants(i);
  }
  return absl::OkStatus();
}

// Runs after all passes that make new operations.
MILLSTREAM_PASS("pack_weights", 90, PackWeights);

}  // namespace
}  // namespace millstream
