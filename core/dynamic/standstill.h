// Finds the nodes of a loop's iteration that wait for inputs which cannot arrive. The executor
// calls it when an iteration has no more work.
//
// In a correct loop, not every node runs in every iteration:
//   If the NextIteration of a loop variable is dead, the variable has no value in the next
//   iteration. Nodes that depend on it do not run there.
//   Nodes that depend only on Enters that are not constant run only in the first iteration. Nodes
//   that depend only on a Merge whose inputs are all back edges run only in the later iterations.
// If such a node also has an input that did arrive, it waits for ever. The check runs when the
// iteration is released, because the step would otherwise end without an error unless a fetch is
// missing.
#ifndef MILLSTREAM_CORE_DYNAMIC_STANDSTILL_H_
#define MILLSTREAM_CORE_DYNAMIC_STANDSTILL_H_

#include <cstdint>
#include <vector>

#include "core/dynamic/program.h"
#include "core/dynamic/state.h"

namespace millstream {

struct Standstill {
  // The step must end with an error: an input is missing for no legal reason, the loop's condition
  // has no value, a loop variable is lost, or a node that changes state did not run.
  bool is_stuck = false;
  std::vector<uint32_t> waiting;  // node numbers in program order, so that the cause is first
  // NodeProgram::exit of each Exit in `waiting` that another iteration may still take.
  std::vector<uint32_t> exits;
};

// Returns the nodes that wait. REQUIRES: `iteration` belongs to a loop, and none of its nodes is
// ready or running. The caller guards `iteration`.
Standstill FindStandstill(const DynamicProgram& program, const Iteration& iteration);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DYNAMIC_STANDSTILL_H_
