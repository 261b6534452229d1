// Optimization passes: each rewrites what a plan is going to execute, for one set of shapes. The
// one way to add one, a file in core/passes/:
//
//   Status FuseThings(StepOps* ops) { ... }
//   MILLSTREAM_PASS("fuse_things", 20, FuseThings);
//
// Passes run in the order of their numbers. Each can be switched off by name
// (SessionOptions::disabled_passes), and all together (optimize). What a step gives is the same
// with and without, up to the rounding that a pass documents.
#ifndef MILLSTREAM_CORE_PASSES_PASS_H_
#define MILLSTREAM_CORE_PASSES_PASS_H_

#include <string>
#include <vector>

#include "core/passes/step_ops.h"
#include "framework/status.h"

namespace millstream {

using PassFunction = Status (*)(StepOps* ops);

// All but the named ones. Thread-safe.
Status RunPasses(const std::vector<std::string>& disabled, StepOps* ops);
// In the order in which they run.
std::vector<std::string> PassNames();
// All that can be switched off by name: passes, then what plans do besides (plan_features.h).
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
