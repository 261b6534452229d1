// A step signature of a session that places by costs. New executables replace the first one while
// the session measures the costs of nodes on devices.
#ifndef MILLSTREAM_CORE_SESSION_ADAPTIVE_STEP_H_
#define MILLSTREAM_CORE_SESSION_ADAPTIVE_STEP_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/session/executable.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// The last steps of every SessionOptions::placement_period steps are traced. Their times are added
// to the session's costs, and the step is placed again. If the placement does not change, or
// changed kMostMoves times, it is settled and no further steps are traced. A running step keeps the
// executable with which it began. Thread-safe.
class AdaptiveStep : public CompiledStep {
 public:
  // `first`: the executable of the signature before anything is measured. `context` must outlive
  // it. REQUIRES: first->builder().is_placed_by_costs().
  AdaptiveStep(const ExecutableContext* context, const StepSignature& signature,
               std::unique_ptr<Executable> first);

  Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
             const RunOptions& options) override;
  // Those of the current executable.
  int64_t num_instructions() const override { return current_.load()->num_instructions(); }
  std::string placement_text() const override { return current_.load()->placement_text(); }

 private:
  // After more changes than this, the measurements are taken to contradict each other.
  static constexpr int kMostMoves = 4;

  Status RunMeasured(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                     const RunOptions& options);
  void PlaceAgain(const std::vector<Shape>& feed_shapes) ABSL_LOCKS_EXCLUDED(mutex_);

  const ExecutableContext& context_;
  const StepSignature signature_;
  std::atomic<Executable*> current_;
  std::atomic<bool> has_settled_{false};
  std::atomic<int64_t> steps_{0};
  absl::Mutex mutex_;
  // The first executable and all its successors. Steps may still run them, and pending work on a
  // device may need them, so they live as long as this object.
  std::vector<std::unique_ptr<Executable>> executables_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_ADAPTIVE_STEP_H_
