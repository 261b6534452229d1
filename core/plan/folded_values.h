// Constants that plans compute, kept for further plans.
#ifndef MILLSTREAM_CORE_PLAN_FOLDED_VALUES_H_
#define MILLSTREAM_CORE_PLAN_FOLDED_VALUES_H_

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/graph/graph.h"
#include "framework/tensor.h"

namespace millstream {

// Values that hold for every plan of an executable, so that all share their memory. Thread-safe.
class FoldedValues {
 public:
  // The value of the output; none if there is none.
  std::optional<Tensor> Find(const Output& output) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = values_.find(output);
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }
  // Adds `value`, unless the output has a value. Returns the value of the output.
  Tensor Share(const Output& output, const Tensor& value) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return values_.try_emplace(output, value).first->second;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Output, Tensor> values_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_FOLDED_VALUES_H_
