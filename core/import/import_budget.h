// What an import may take in memory, so that a small file cannot ask for gigabytes.
#ifndef MILLSTREAM_CORE_IMPORT_IMPORT_BUDGET_H_
#define MILLSTREAM_CORE_IMPORT_IMPORT_BUDGET_H_

#include <cstdint>
#include <vector>

#include "framework/op_def.h"
#include "framework/shape_context.h"
#include "framework/status.h"
#include "millstream/framework/protos/node_def.pb.h"

namespace millstream {

// Counts what nodes encode in few bytes and take many of: constants of one repeated value, outputs
// by the number, what is known of them. For one import; one thread.
class ImportBudget {
 public:
  // `encoded_bytes`: of the GraphDef; `max_expansion`: see ImportOptions.
  ImportBudget(size_t encoded_bytes, int64_t max_expansion);

  // The constants of a node, before they are read. RESOURCE_EXHAUSTED.
  Status TakeConstants(const proto::NodeDef& node);
  // A node of a function's body, for one call of it. RESOURCE_EXHAUSTED.
  Status TakeNode(const proto::NodeDef& node);
  // Inputs of such a node: one word of its text may stand for many. RESOURCE_EXHAUSTED.
  Status TakeInputs(size_t count);
  // The outputs of a node, before there are any. RESOURCE_EXHAUSTED.
  Status TakeOutputs(const OpDef& op, const AttrMap& attrs);
  // What is known of a node's outputs, where that is more than a usual shape. RESOURCE_EXHAUSTED.
  Status TakeFacts(const std::vector<OutputFacts>& facts);

 private:
  Status Take(int64_t bytes);

  const int64_t limit_;
  const bool is_given_;  // by the caller; else it goes by the GraphDef's size
  int64_t taken_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_IMPORT_BUDGET_H_
