// compile_elementwise: allows machine code for the kernels of operations that fuse_elementwise
// makes. It keeps intermediate values in registers. Results have the same bits, except that an
// operation on two NaNs may return the other one.
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
