// Lays values of known size and lifetime out in one slab.
#ifndef MILLSTREAM_CORE_PLAN_MEMORY_PLANNER_H_
#define MILLSTREAM_CORE_PLAN_MEMORY_PLANNER_H_

#include <cstdint>
#include <vector>

namespace millstream {

// A piece of memory wanted from instruction `first` to instruction `last`, both inclusive.
struct MemoryRequest {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
  int64_t offset = -1;  // out
};

// Gives every request an offset (a multiple of kTensorAlignment) such that requests whose lifetimes
// meet do not overlap, and returns the size of the slab; -1 when it would exceed 2^62 bytes.
// Greedy: largest first, into the tightest gap between those already placed that live at the same
// time. Adds to `*looks`, if there is one, how many blocks and groups of blocks were looked at, for
// tests of the cost.
int64_t PlanMemory(std::vector<MemoryRequest>* requests, int64_t* looks = nullptr);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_MEMORY_PLANNER_H_
