// compile_elementwise: the kernels of operations that fuse_elementwise makes may have machine code
// made for them, which keeps in registers what one step passes to the next. Which bits a result has
// does not depend on it, but for which of two NaNs passes on.
#include "core/passes/pass.h"

namespace millstream {
namespace {

Status CompileElementwise(StepOps* ops) {
  ops->AllowMachineCode();
  return absl::OkStatus();
}

// Before fuse_elementwise, which says so to the kernels.
MILLSTREAM_PASS("compile_elementwise", 29, CompileElementwise);

}  // namespace
}  // namespace millstream
