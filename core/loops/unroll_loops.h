// Replaces loops by their iterations, one after the other, where that pays: a loop of few
// iterations, whose number is known, with products of matrices in its body. What the steps of a
// recurrent network have in common is then computed at once, as where a program unrolls them
// (core/passes/join_products.cc, core/passes/sum_products.cc).
//
// A loop over sequences ends with the longest one, which no graph tells, but the number of steps
// that its arrays have room for is known. What makes such a loop says by kIdleBeyondAttr that steps
// behind the longest sequence change nothing; then all of them run.
#ifndef MILLSTREAM_CORE_LOOPS_UNROLL_LOOPS_H_
#define MILLSTREAM_CORE_LOOPS_UNROLL_LOOPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/loops/graph_copy.h"
#include "core/loops/loop_form.h"
#include "core/loops/step_items.h"
#include "framework/status.h"

namespace millstream {

// On a Minimum of two counts: a loop that counts to the result may count on to the first of the
// two. It changes nothing there, but what it computes and does not use could fail
// (idle_iterations.h).
inline constexpr char kIdleBeyondAttr[] = "_idle_beyond";

// Scalars, integers or truth values, that are the same in every step.
class KnownScalars {
 public:
  // `outer`: further ones; may be null. REQUIRES: it outlives this object.
  explicit KnownScalars(const KnownScalars* outer = nullptr) : outer_(outer) {}
  std::optional<int64_t> Find(const Output& value) const;
  // How far a loop may count that counts to the value, if that is not known by Find.
  std::optional<int64_t> FindIdleBound(const Output& value) const;
  // No longer knows a value that was set before, if there is none.
  void Set(const Output& value, std::optional<int64_t> known);
  // Adds what follows from the operation's inputs.
  void AddResults(const StepItem& item);

 private:
  const KnownScalars* const outer_;
  absl::flat_hash_map<Output, std::optional<int64_t>> values_;
  absl::flat_hash_map<Output, int64_t> idle_bounds_;
};

// Adds the items of a step to a graph. Not thread-safe.
class LoopUnroller {
 public:
  // `fed`: of the step. `sums`: the products that a loop adds up are added by one operation.
  // REQUIRES: `copy` outlives this object.
  LoopUnroller(GraphCopy* copy, const std::vector<Output>& fed, bool sums);
  // REQUIRES: those that it reads were added.
  Status Add(const StepItem& item);

 private:
  // How a loop ends.
  struct Course {
    int iterations = 0;
    bool may_idle = false;                     // some of them may run in vain
    std::vector<std::optional<int64_t>> last;  // of each variable
    std::vector<const Node*> waits;            // of the program: what runs before the first one
  };

  std::optional<Course> CourseOf(const LoopForm& form) const;
  // What all iterations read, as far as it is known. Sets `may_idle` if it is known how far the
  // loop may count, and not how far it counts.
  KnownScalars Invariants(const LoopForm& form, bool* may_idle) const;
  // Adds whether the item's output is a number that waits for other nodes than its inputs.
  void AddWaiting(const StepItem& item);
  // The nodes outside of the loop whose numbers say whether its iterations begin, and wait.
  // Iterations that are known to begin read none of them.
  std::vector<const Node*> WaitsOf(const LoopForm& form) const;
  // Adds what the shapes of the program say of an item that was added, as the first dimension of a
  // placeholder.
  void AddStaticValues(const StepItem& item);

  GraphCopy& copy_;
  const bool sums_;
  // Nothing is fed in place of a computed value, of which the program's shapes may know the
  // elements.
  const bool static_values_hold_;
  KnownScalars known_;
  absl::flat_hash_set<Output> waiting_;  // numbers with control inputs, also those behind others
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_LOOPS_UNROLL_LOOPS_H_
