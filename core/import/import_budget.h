// Limits the memory of an import, so that a small file cannot allocate gigabytes.
#ifndef MILLSTREAM_CORE_IMPORT_IMPORT_BUDGET_H_
#define MILLSTREAM_CORE_IMPORT_IMPORT_BUDGET_H_

#include <cstdint>
#include <vector>

#include "framework/op_def.h"
#include "framework/shape_context.h"
#include "framework/status.h"
#include "millstream/framework/protos/node_def.pb.h"

namespace millstream {

// Counts the bytes of data that a GraphDef encodes in far fewer bytes: constants of one repeated
// value, large numbers of inputs and outputs, and facts about outputs. For one import. Not
// thread-safe. The Take functions return RESOURCE_EXHAUSTED if the limit is exceeded.
class ImportBudget {
 public:
  // `encoded_bytes` is the size of the GraphDef. `max_expansion`: see ImportOptions.
  ImportBudget(size_t encoded_bytes, int64_t max_expansion);

  // Counts the constants of a node. Call it before they are parsed.
  Status TakeConstants(const proto::NodeDef& node);
  // Counts a node of a function's body, for one call of the function.
  Status TakeNode(const proto::NodeDef& node);
  // Counts `count` inputs of such a node. One name in its definition may stand for many inputs.
  Status TakeInputs(size_t count);
  // Counts the outputs of a node. Call it before they are created.
  Status TakeOutputs(const OpDef& op, const AttrMap& attrs);
  // Counts the facts of a node's outputs, if they are larger than a usual shape.
  Status TakeFacts(const std::vector<OutputFacts>& facts);

 private:
  Status Take(int64_t bytes);

  const int64_t limit_;
  const bool is_given_;  // the caller gave the limit; false: it is derived from the GraphDef's size
  int64_t taken_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_IMPORT_BUDGET_H_
