// The integers of loops whose numbers of iterations are known: counters, and what is added to them.
#ifndef MILLSTREAM_CORE_PASSES_ROW_COUNTERS_H_
#define MILLSTREAM_CORE_PASSES_ROW_COUNTERS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/graph/inner_graph.h"
#include "core/passes/step_ops.h"

namespace millstream {

// Integers of the iterations 0, 1, 2 ...: first, first + step, first + 2 * step ...
struct Progression {
  int64_t first = 0;
  int64_t step = 0;
  int64_t At(int64_t iteration) const { return first + step * iteration; }
  friend bool operator==(const Progression& a, const Progression& b) {
    return a.first == b.first && a.step == b.step;
  }
};

// Larger numbers are not followed, so that none overflows.
inline constexpr int64_t kLargestCounted = std::numeric_limits<int32_t>::max();

bool IsIndexType(DataType dtype);
// The value of a scalar of such a type, if it is there and not too large.
std::optional<int64_t> IndexScalar(const Tensor* tensor);
// REQUIRES: IsIndexType(dtype), and the number is not too large.
Tensor IndexTensor(DataType dtype, int64_t number);

// An integer: what a counter has at the beginning of the iteration, or 0 without a counter, and a
// known number.
struct Counted {
  int counter = -1;
  int64_t added = 0;
};

// How many times in a row the comparison holds, of a progression on the left and a number. None for
// other ops.
std::optional<int64_t> TimesHeld(const std::string& op, const Progression& x, int64_t end);
// The comparison with its sides exchanged.
std::string Turned(const std::string& comparison);

// Follows the integers of one graph of a loop. Counters are numbered as the variables.
class Integers {
 public:
  // Operation `op` stands for `loop`, which has `graph`.
  Integers(const StepOps& ops, const StepOp& op, const LoopBody& loop, const InnerGraph& graph);

  std::optional<Counted> Find(const Output& value) const;
  void Set(const Output& value, const Counted& known) { values_[value] = known; }
  // True if the result of the node is known now.
  bool Add(const Node& node);

 private:
  absl::flat_hash_map<Output, Counted> values_;
};

// What the integer is in each iteration.
Progression ValuesOf(const Counted& value, const absl::flat_hash_map<int, Progression>& counters);

// How many times in a row the condition of a loop holds; none if it is not known. `integers`: those
// of its graph.
std::optional<int64_t> CountIterations(const InnerGraph& condition, Integers integers,
                                       const absl::flat_hash_map<int, Progression>& counters);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_ROW_COUNTERS_H_
