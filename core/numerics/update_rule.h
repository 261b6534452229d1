// Bounds the results of optimizers' updates by interval arithmetic (R. E. Moore, "Interval
// Analysis", 1966). If the bounds prove that an update is finite, its result need not be scanned,
// and the previous values need not be copied.
#ifndef MILLSTREAM_CORE_NUMERICS_UPDATE_RULE_H_
#define MILLSTREAM_CORE_NUMERICS_UPDATE_RULE_H_

#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "core/resources/numeric_bounds.h"
#include "framework/op_call.h"

namespace millstream {

using NumericBoundsList = absl::InlinedVector<NumericBounds, 10>;

// The interval rule of a node that updates variables. The rules hold for our own kernels only.
class UpdateRule {
 public:
  // Nothing for ops and element types of which it is not known, and for nodes that leave a variable
  // among their inputs as it is.
  static std::optional<UpdateRule> Of(const OpCall& call);

  // The bounds of the variables, which are the first inputs, after the node has run on inputs with
  // these bounds. Empty if a result, or an intermediate value, may not be finite.
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
