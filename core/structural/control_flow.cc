// Control flow ops. The dynamic executor runs them itself, because they concern nodes and
// iterations, which kernels do not see.
#include "core/structural/structural.h"

namespace millstream {
namespace {

MILLSTREAM_STRUCTURAL("Switch", StructuralRole::kControlFlow, nullptr);
MILLSTREAM_STRUCTURAL("Merge", StructuralRole::kControlFlow, nullptr);
MILLSTREAM_STRUCTURAL("Enter", StructuralRole::kControlFlow, nullptr);
MILLSTREAM_STRUCTURAL("Exit", StructuralRole::kControlFlow, nullptr);
MILLSTREAM_STRUCTURAL("NextIteration", StructuralRole::kControlFlow, nullptr);
MILLSTREAM_STRUCTURAL("LoopCond", StructuralRole::kControlFlow, nullptr);
MILLSTREAM_STRUCTURAL("_Loop", StructuralRole::kInner, nullptr);
MILLSTREAM_STRUCTURAL("_Branch", StructuralRole::kInner, nullptr);
// Where all nodes run, it only orders them.
MILLSTREAM_STRUCTURAL("ControlTrigger", StructuralRole::kNothing, nullptr);

}  // namespace
}  // namespace millstream
