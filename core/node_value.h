// What a node gives for inputs that are known before any step runs.
#ifndef MILLSTREAM_CORE_NODE_VALUE_H_
#define MILLSTREAM_CORE_NODE_VALUE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/graph.h"
#include "core/plan_compiler.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// Runs the node's kernel as a step of `plan` would, in a plan of its own that is not optimized; a
// node that only renames gives the memory of its input. Errors: the kernel's own, OUT_OF_RANGE when
// the outputs take more than `max_bytes`, UNIMPLEMENTED when the node would wait, CANCELLED and
// DEADLINE_EXCEEDED when the step that waits for `plan` is to stop.
StatusOr<std::vector<Tensor>> ValueOfNode(const Node& node, const std::vector<Tensor>& inputs,
                                          int64_t max_bytes, const PlanRequest& plan);

// Values that hold for every plan of an executable, so that all share their memory. Used by one
// compilation at a time.
class FoldedValues {
 public:
  // Null when there is none.
  const Tensor* Find(const Output& output) const {
    auto found = values_.find(output);
    return found == values_.end() ? nullptr : &found->second;
  }
  // The value that is there already, or this one.
  const Tensor& Share(const Output& output, const Tensor& value) {
    return values_.try_emplace(output, value).first->second;
  }

 private:
  absl::flat_hash_map<Output, Tensor> values_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_NODE_VALUE_H_
