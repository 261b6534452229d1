// What passes that look for attention ask of the operations of a step.
#ifndef MILLSTREAM_CORE_PASSES_BATCH_PRODUCT_H_
#define MILLSTREAM_CORE_PASSES_BATCH_PRODUCT_H_

#include <optional>

#include "core/passes/pass.h"

namespace millstream {

// True if operation i may be replaced: one output of floats by the kernel that we choose.
bool IsReplaceable(const StepOps& ops, int i);

// A product of two matrices, or of two batches of them.
struct BatchProduct {
  Output x;
  Output y;
  bool transpose_x;
  bool transpose_y;
};

// That which operation i makes; nothing if it may not be replaced, or makes none.
std::optional<BatchProduct> BatchProductAt(const StepOps& ops, int i);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_BATCH_PRODUCT_H_
