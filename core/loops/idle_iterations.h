// Iterations of an unrolled loop that run although nobody asked for them, because the step does not
// know when the loop ends (kIdleBeyondAttr in unroll_loops.h). They change nothing: each variable
// that matters is kept by a Select. But a gradient of theirs is 0 times what they computed, and 0
// times an infinity is no zero. So they compute with zeros, in place of what they read from arrays
// and of the variables that they keep.
#ifndef MILLSTREAM_CORE_LOOPS_IDLE_ITERATIONS_H_
#define MILLSTREAM_CORE_LOOPS_IDLE_ITERATIONS_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/graph/graph.h"
#include "core/loops/graph_copy.h"
#include "core/loops/loop_form.h"
#include "core/loops/step_items.h"
#include "framework/status.h"

namespace millstream {

// True if no operation of the loop fails or has a pole because of the numbers that it reads.
bool MayIdle(const LoopForm& form);

// Adds the parts of iterations that may be idle. Not thread-safe.
class IdleIterations {
 public:
  // REQUIRES: MayIdle(form). Both outlive this object.
  IdleIterations(const LoopForm& form, GraphCopy* copy);

  // Before the first part of an iteration, in which the variables have these values. REQUIRES: they
  // are bound, as are the loop's invariants.
  Status Begin(const std::vector<Output>& values);
  // Adds a part of the body.
  Status Add(const StepItem& part);

 private:
  // The value if the iteration is asked for, else zeros.
  StatusOr<Output> OrZeros(const Node& like, const Output& value);

  const LoopForm& form_;
  GraphCopy& copy_;
  std::vector<const Node*> keepers_;  // of each variable: the Select that keeps it, or null
  std::vector<Output> values_;        // of each variable in this iteration
  Output asked_for_;                  // whether somebody asked for this iteration
  absl::flat_hash_map<DataType, Output> zeros_;  // scalars
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_LOOPS_IDLE_ITERATIONS_H_
