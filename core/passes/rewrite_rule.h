// The rules of simplify_arithmetic. To add one, write in core/passes/simplify_<what>.cc:
//
//   StatusOr<bool> TimesOne(StepOps* ops, int i) { ... }
//   MILLSTREAM_REWRITE("Mul", TimesOne);
#ifndef MILLSTREAM_CORE_PASSES_REWRITE_RULE_H_
#define MILLSTREAM_CORE_PASSES_REWRITE_RULE_H_

#include "core/passes/step_ops.h"
#include "framework/status.h"

namespace millstream {

// Simplifies or removes operation i. Returns false if it changed nothing. REQUIRES:
// !ops->op(i).must_run. The outputs keep every bit, with one exception: a signaling NaN may stay
// signaling, where arithmetic would make it quiet. No operation makes signaling NaNs.
using RewriteFunction = StatusOr<bool> (*)(StepOps* ops, int i);

// Calls Forward and returns true, for the last line of a rule.
inline StatusOr<bool> BecomesName(StepOps* ops, int i, const Output& value) {
  MS_RETURN_IF_ERROR(ops->Forward(i, value));
  return true;
}

// Registers at start-up.
class RewriteRegistration {
 public:
  RewriteRegistration(const char* op, RewriteFunction function);
};

}  // namespace millstream

#define MS_REWRITE_CONCAT_INNER(a, b) a##b
#define MS_REWRITE_CONCAT(a, b) MS_REWRITE_CONCAT_INNER(a, b)
#define MILLSTREAM_REWRITE(op, function)                                                   \
  static const ::millstream::RewriteRegistration MS_REWRITE_CONCAT(rewrite_, __COUNTER__)( \
      op, function)

#endif  // MILLSTREAM_CORE_PASSES_REWRITE_RULE_H_
