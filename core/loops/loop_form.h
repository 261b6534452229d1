// Recognizes the loops that can become nodes.
#ifndef MILLSTREAM_CORE_LOOPS_LOOP_FORM_H_
#define MILLSTREAM_CORE_LOOPS_LOOP_FORM_H_

#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "core/loops/step_items.h"

namespace millstream {

// The nodes of one frame of a step.
struct FrameItems {
  std::vector<StepItem> enters;
  std::vector<StepItem> exits;
  std::vector<StepItem> inside;  // all others, in the program's order
};

// A variable of a loop: Enter -> Merge <- NextIteration, and Merge -> Switch.
struct CarriedValue {
  Output initial;  // outside of the loop
  const Node* merge = nullptr;
  const Node* next = nullptr;    // its NextIteration
  const Node* branch = nullptr;  // its Switch; null: the variable does not leave the loop
};

// A value from outside that all iterations read.
struct LoopInvariant {
  Output outside;          // of the frame around; of the step, if it is a source or a feed
  Output inside;           // as nodes of the loop read it
  bool is_source = false;  // a constant or a handle, of which the loop has a copy
};

// A loop with one condition, whose variables all go through it, whose nodes run to their end when
// they are called, and without branches.
struct LoopForm {
  const Node* condition = nullptr;  // the LoopCond
  std::vector<CarriedValue> variables;
  std::vector<LoopInvariant> invariants;
  std::vector<int> exits;                // the variable of each Exit of the frame
  std::vector<StepItem> before;          // what decides whether an iteration begins
  std::vector<StepItem> body;            // what runs if it does
  std::vector<const Node*> controls;     // of the Enters: what runs before the loop
  std::vector<const Node*> ends_before;  // runs before the condition of its iteration is done
  std::vector<const Node*> ends_body;    // runs before its iteration is done
};

// None if the frame is no such loop.
std::optional<LoopForm> FindLoopForm(const FrameItems& frame, const InnerLimits& limits);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_LOOPS_LOOP_FORM_H_
