// Optimization passes. Each rewrites the list of operations of a plan, for one set of shapes. To
// add one, write a file in core/passes/:
//
//   Status FuseThings(StepOps* ops) { ... }
//   MILLSTREAM_PASS("fuse_things", 20, FuseThings);
//
// Passes run in the order of their numbers. A session can switch off one by name
// (SessionOptions::disabled_passes), or all (SessionOptions::optimize). A pass does not change the
// results of a step, except for the rounding that it documents.
#ifndef MILLSTREAM_CORE_PASSES_PASS_H_
#define MILLSTREAM_CORE_PASSES_PASS_H_

#include <string>
#include <vector>

#include "core/passes/step_ops.h"
#include "framework/status.h"

namespace millstream {

using PassFunction = Status (*)(StepOps* ops);

// Runs all passes except the named ones. Returns the first error of a pass. Thread-safe.
Status RunPasses(const std::vector<std::string>& disabled, StepOps* ops);
// The names of all passes, in the order in which they run.
std::vector<std::string> PassNames();
// All names that can be switched off: the passes, then the plan features (plan_features.h).
std::vector<std::string> OptimizationNames();

// Registers at start-up.
class PassRegistration {
 public:
  PassRegistration(const char* name, int order, PassFunction function);
};

}  // namespace millstream

#define MS_PASS_CONCAT_INNER(a, b) a##b
#define MS_PASS_CONCAT(a, b) MS_PASS_CONCAT_INNER(a, b)
#define MILLSTREAM_PASS(name, order, function)                                                \
  static const ::millstream::PassRegistration MS_PASS_CONCAT(pass_, __COUNTER__)(name, order, \
                                                                                 function)

#endif  // MILLSTREAM_CORE_PASSES_PASS_H_
