// The bodies of loops over rows, as programs of elementwise operations on floats.
#ifndef MILLSTREAM_CORE_PASSES_ROW_PROGRAM_H_
#define MILLSTREAM_CORE_PASSES_ROW_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/graph/inner_graph.h"
#include "core/passes/row_counters.h"
#include "core/passes/row_lists.h"
#include "core/passes/step_ops.h"

namespace millstream {

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
  std::string op;
  std::vector<RowValue> operands;  // one or two
};

// A value that all iterations read.
struct RowOther {
  size_t input = 0;            // of the loop; or:
  const Node* read = nullptr;  // reads a variable in the body, which no iteration changes
};

// An array of tensors that is an input of the loop, or one with the gradients of its elements.
struct RowArray {
  size_t input = 0;  // the number of the loop's input that is the handle of the array of tensors
  // The name of the array with the gradients of its elements (GradientArray); "": that array
  // itself.
  std::string gradient;
  friend bool operator==(const RowArray& a, const RowArray& b) {
    return a.input == b.input && a.gradient == b.gradient;
  }
};

// The name of the array that `node`, a TensorArrayGradV3, gives for an array whose name is
// `gradient`: that name, "@" and the attribute `source` of the node, in hexadecimal digits.
std::string GradientArray(const std::string& gradient, const Node& node);

struct RowRead {
  RowArray array;
  Progression rows;  // the numbers of the rows; the step is 1 or -1
  int list = -1;     // the variable, a list, whose elements are taken instead, the last one first
};

struct RowWrite {
  RowArray array;
  Progression rows;
  int variable;  // the flow that goes through it
  RowValue value;
  bool is_list = false;  // the variable is a list to whose end the value is added instead
};

// An integer is added to the end of a list in each iteration.
struct NumberWrite {
  int variable;  // the list
  DataType dtype;
  Progression numbers;
};

// A loop whose number of iterations is known, and whose body does nothing but this: it reads rows
// of arrays, or takes elements from lists, reads variables, computes floats by elementwise
// operations, and writes rows of arrays, or adds elements to lists.
struct RowProgram {
  // Of a variable: an integer; the flow of arrays; a list that becomes longer, or shorter; floats.
  enum class Role { kCounter, kFlow, kLonger, kShorter, kState };

  int64_t iterations = 0;
  std::vector<Role> roles;     // of each variable
  std::vector<RowRead> reads;  // each from an array of its own
  std::vector<int> states;     // the variables that are floats
  std::vector<RowValue> next;  // of each of these
  std::vector<RowOther> others;
  std::vector<Tensor> constants;
  std::vector<RowStep> steps;
  std::vector<RowWrite> writes;  // each to an array of its own
  std::vector<NumberWrite> number_writes;
  absl::flat_hash_map<int, Progression> counters;  // of the variables that are integers
};

// None if operation `op`, which stands for `loop`, is no such loop. What is computed of values that
// do not change in the loop is no result of it.
std::optional<RowProgram> FindRowProgram(const StepOps& ops, const StepOp& op, const LoopBody& loop,
                                         const KeptLists& lists);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_ROW_PROGRAM_H_
