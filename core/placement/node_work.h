// Estimates the work of a node from its op and the shapes of its inputs and outputs.
#ifndef MILLSTREAM_CORE_PLACEMENT_NODE_WORK_H_
#define MILLSTREAM_CORE_PLACEMENT_NODE_WORK_H_

#include <vector>

#include "core/graph/graph.h"
#include "framework/shape.h"

namespace millstream {

// The work of one execution of a node. If both are 0, the node costs nothing on any device.
struct NodeWork {
  double operations = 0;  // floating-point operations; only of ops with a cost function
  double bytes = 0;       // read and written
  bool is_nothing() const { return operations == 0 && bytes == 0; }
};

// `inputs` and `outputs` are shapes that may be partly unknown. Unknown sizes are guessed.
NodeWork EstimateWork(const Node& node, const std::vector<PartialShape>& inputs,
                      const std::vector<PartialShape>& outputs);

// The bytes of a tensor; 0 for resource handles. Unknown sizes are guessed.
double EstimateBytes(DataType dtype, const PartialShape& shape);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLACEMENT_NODE_WORK_H_
