// Which nodes of a loop's iteration wait for what cannot come, once nothing happens in it any more.
//
// Not every node runs in every iteration, and rightly so:
//   a variable of the loop whose NextIteration was dead is not there in the next iteration, nor is
//   what depends on it;
//   what depends only on Enters that are not constant is there in the first iteration alone, what
//   depends only on a Merge of nothing but back edges in the later ones.
// A node that got something else besides waits for ever. It is found as the iteration is given
// back, for without a fetch that misses it nobody else would tell.
#ifndef MILLSTREAM_CORE_DYNAMIC_STANDSTILL_H_
#define MILLSTREAM_CORE_DYNAMIC_STANDSTILL_H_

#include <cstdint>
#include <vector>

#include "core/dynamic/program.h"
#include "core/dynamic/state.h"

namespace millstream {

struct Standstill {
  // The step must not go on: a node lacks what nothing keeps back, the loop's condition is not
  // known, a variable of the loop has got lost, or a node that changes state was left out.
  bool is_stuck = false;
  std::vector<uint32_t> waiting;  // nodes of the program, in its order: the cause first
  // NodeProgram::exit of those among them that may still be left through in another iteration.
  std::vector<uint32_t> exits;
};

// REQUIRES: the iteration is one of a loop, and nothing in it is outstanding.
Standstill FindStandstill(const DynamicProgram& program, const Iteration& iteration);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DYNAMIC_STANDSTILL_H_
