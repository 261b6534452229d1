// What a node has to do, estimated from its op and the shapes of what it reads and gives.
#ifndef MILLSTREAM_CORE_PLACEMENT_NODE_WORK_H_
#define MILLSTREAM_CORE_PLACEMENT_NODE_WORK_H_

#include <vector>

#include "core/graph/graph.h"
#include "framework/shape.h"

namespace millstream {

// Nothing at all: the node costs nothing wherever it runs.
struct NodeWork {
  double operations = 0;  // on numbers; of products and convolutions alone
  double bytes = 0;       // read and written
  bool is_nothing() const { return operations == 0 && bytes == 0; }
};

// `inputs` and `outputs` are shapes as far as they are known. Of a size that is not, a guess is
// made.
NodeWork EstimateWork(const Node& node, const std::vector<PartialShape>& inputs,
                      const std::vector<PartialShape>& outputs);

// How many bytes a tensor takes; 0 for what has no size of its own (a resource handle), a guess
// where sizes are unknown.
double EstimateBytes(DataType dtype, const PartialShape& shape);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLACEMENT_NODE_WORK_H_
