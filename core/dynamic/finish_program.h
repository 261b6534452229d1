// What of a dynamic program follows from its nodes and edges.
#ifndef MILLSTREAM_CORE_DYNAMIC_FINISH_PROGRAM_H_
#define MILLSTREAM_CORE_DYNAMIC_FINISH_PROGRAM_H_

#include "core/dynamic/program.h"

namespace millstream {

// Sets which outputs are used, which nodes are ready at the start, and which may run beside others.
// REQUIRES: the program has its nodes, outputs, edges and fetches, and `request` is the one that it
// is compiled for.
void FinishProgram(const DynamicRequest& request, DynamicProgram* program);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DYNAMIC_FINISH_PROGRAM_H_
