// How optimizers' steps change variables, as far as bounds of their inputs tell: a step that is
// known to give finite numbers need not be looked at, and nobody needs what was there before
// (interval arithmetic, R. E. Moore, "Interval Analysis", 1966).
#ifndef MILLSTREAM_CORE_NUMERICS_UPDATE_RULE_H_
#define MILLSTREAM_CORE_NUMERICS_UPDATE_RULE_H_

#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "core/resources/numeric_bounds.h"
#include "framework/op_call.h"

namespace millstream {

using NumericBoundsList = absl::InlinedVector<NumericBounds, 10>;

// How a node changes the variables among its inputs, as far as bounds tell.
class UpdateRule {
 public:
  // Nothing for ops and element types of which it is not known, and for nodes that leave a variable
  // among their inputs as it is.
  static std::optional<UpdateRule> Of(const OpCall& call);

  // The bounds after the node has run, of its inputs before: of the variables, which are the first
  // of them. Empty when a number that it computes on the way may not be finite.
  NumericBoundsList After(absl::Span<const NumericBounds> inputs) const;

 private:
  using Function = NumericBoundsList (*)(absl::Span<const NumericBounds> inputs, bool use_nesterov);
  UpdateRule(Function function, bool use_nesterov)
      : function_(function), use_nesterov_(use_nesterov) {}

  Function function_;
  bool use_nesterov_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_NUMERICS_UPDATE_RULE_H_
