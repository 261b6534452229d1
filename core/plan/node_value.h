// What a node gives for inputs that are known before any step runs.
#ifndef MILLSTREAM_CORE_PLAN_NODE_VALUE_H_
#define MILLSTREAM_CORE_PLAN_NODE_VALUE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/graph/graph.h"
#include "core/plan/plan_compiler.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// Runs the node's kernel as a step of `plan` would, in a plan of its own that is not optimized; a
// node that only renames gives the memory of its input. Errors: the kernel's own, OUT_OF_RANGE when
// the outputs take more than `max_bytes`, UNIMPLEMENTED when the node would wait, CANCELLED and
// DEADLINE_EXCEEDED when the step that waits for `plan` is to stop.
StatusOr<std::vector<Tensor>> ValueOfNode(const Node& node, const std::vector<Tensor>& inputs,
                                          int64_t max_bytes, const PlanRequest& plan);

// Values that hold for every plan of an executable, so that all share their memory. Thread-safe.
class FoldedValues {
 public:
  // Nothing when there is none.
  std::optional<Tensor> Find(const Output& output) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = values_.find(output);
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }
  // The value that is there already, or this one.
  Tensor Share(const Output& output, const Tensor& value) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return values_.try_emplace(output, value).first->second;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Output, Tensor> values_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_NODE_VALUE_H_
