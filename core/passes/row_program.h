// The bodies of loops over rows, as programs of elementwise operations on floats.
#ifndef MILLSTREAM_CORE_PASSES_ROW_PROGRAM_H_
#define MILLSTREAM_CORE_PASSES_ROW_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

// A value of the body.
struct RowValue {
  enum class Kind {
    kRow,       // what reads[index] gives
    kState,     // states[index]
    kOther,     // others[index]
    kConstant,  // constants[index]
    kStep,      // what steps[index] gives
  };
  Kind kind;
  size_t index;
};

struct RowStep {
  const Node* node;
  std::vector<RowValue> operands;  // one or two
};

struct RowRead {
  size_t array;      // the input of the loop that is its handle
  Progression rows;  // the numbers of the rows; the step is 1 or -1
};

struct RowWrite {
  size_t array;
  Progression rows;
  int variable;  // the flow that goes through it
  RowValue value;
};

// A loop whose number of iterations is known, and whose body does nothing but this: it reads rows
// of arrays, computes floats by elementwise operations, and writes rows of arrays.
struct RowProgram {
  enum class Role { kCounter, kFlow, kState };

  int64_t iterations = 0;
  std::vector<Role> roles;     // of each variable
  std::vector<RowRead> reads;  // each from an array of its own
  std::vector<int> states;     // the variables that are floats
  std::vector<RowValue> next;  // of each of these
  std::vector<size_t> others;  // inputs that all iterations read
  std::vector<Tensor> constants;
  std::vector<RowStep> steps;
  std::vector<RowWrite> writes;  // each to an array of its own
};

// None if operation `op`, which stands for `loop`, is no such loop. Values that do not change in
// the loop are no results of it.
std::optional<RowProgram> FindRowProgram(const StepOps& ops, const StepOp& op,
                                         const LoopBody& loop);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_ROW_PROGRAM_H_
