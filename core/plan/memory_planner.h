// Assigns places in one slab to values of known size and lifetime.
#ifndef MILLSTREAM_CORE_PLAN_MEMORY_PLANNER_H_
#define MILLSTREAM_CORE_PLAN_MEMORY_PLANNER_H_

#include <cstdint>
#include <vector>

namespace millstream {

// A block of memory that is needed from instruction `first` to instruction `last`, both inclusive.
struct MemoryRequest {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
  int64_t offset = -1;  // out
};

// Sets the offset of every request, a multiple of kTensorAlignment, such that requests with common
// instructions do not overlap. Returns the size of the slab; -1 if it would exceed 2^62 bytes. The
// algorithm is greedy: it places the largest request first, in the smallest gap between placed
// requests that live at the same time. If `looks` is not null, adds the number of examined blocks
// and groups of blocks, for tests of the cost. Thread-safe.
int64_t PlanMemory(std::vector<MemoryRequest>* requests, int64_t* looks = nullptr);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_MEMORY_PLANNER_H_
