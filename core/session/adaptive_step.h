// One step signature of a session: its executable, and those that take its place while the session
// learns what the step costs where.
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
#include "core/session/session.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// A step of a session that places by costs. The last steps of every period of
// SessionOptions::placement_period are traced; what they took becomes the session's, and the step
// is placed again. When it would stay where it is, or was moved often enough, it has settled: it is
// not traced any more. Steps that run meanwhile keep the executable that they began with.
// Thread-safe.
class AdaptiveStep : public CompiledStep {
 public:
  // As Executable::Create. `context` must outlive it. REQUIRES: context->costs != nullptr.
  static StatusOr<std::unique_ptr<AdaptiveStep>> Create(const ExecutableContext* context,
                                                        const StepSignature& signature);

  Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
             const RunOptions& options) override;
  // Of the executable that is there now.
  int64_t num_instructions() const override { return current_.load()->num_instructions(); }
  std::string placement_text() const override { return current_.load()->placement_text(); }

 private:
  // More moves than this say that measurements contradict each other.
  static constexpr int kMostMoves = 4;

  AdaptiveStep(const ExecutableContext* context, const StepSignature& signature)
      : context_(*context), signature_(signature) {}
  Status RunMeasured(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                     const RunOptions& options);
  void PlaceAgain(const std::vector<Shape>& feed_shapes) ABSL_LOCKS_EXCLUDED(mutex_);

  const ExecutableContext& context_;
  const StepSignature signature_;
  std::atomic<Executable*> current_{nullptr};
  std::atomic<bool> has_settled_{false};
  std::atomic<int64_t> steps_{0};
  absl::Mutex mutex_;
  // The first, and all that took its place: steps may run them, and what these have left on a
  // device may need them, until the session lets go of the step.
  std::vector<std::unique_ptr<Executable>> executables_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_ADAPTIVE_STEP_H_
