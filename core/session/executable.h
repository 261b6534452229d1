// A compiled step signature of a session, with a plan for each set of feed shapes.
#ifndef MILLSTREAM_CORE_SESSION_EXECUTABLE_H_
#define MILLSTREAM_CORE_SESSION_EXECUTABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "core/plan/plans_by_shape.h"
#include "core/session/compiled_step.h"
#include "core/session/executable_builder.h"
#include "core/session/step_plan.h"
#include "framework/status.h"

namespace millstream {

// Thread-safe.
class Executable : public CompiledStep {
 public:
  // See ExecutableBuilder::Create. Marks the nodes of the step as run (Graph::MarkAsRun). The step
  // is that of the nodes as they are then: it is compiled again if one was changed meanwhile.
  static StatusOr<std::unique_ptr<Executable>> Create(
      const ExecutableContext* context, const StepSignature& signature,
      const PlacementHints& hints = PlacementHints());

  // After the first step with the same feed shapes, it takes no lock and looks up no name. If other
  // tasks run parts of the step, it runs only the parts of this task, and sets their fetches.
  Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
             const RunOptions& options) override;
  int64_t num_instructions() const override {
    return num_instructions_.load(std::memory_order_relaxed);
  }
  std::string placement_text() const override { return builder_->placement_text(); }

  // Frees the step states that plans keep. Their next steps allocate new ones.
  void DropKeptStates();
  const ExecutableBuilder& builder() const { return *builder_; }

 private:
  explicit Executable(std::unique_ptr<ExecutableBuilder> builder) : builder_(std::move(builder)) {}
  // As Create, without marking nodes.
  static StatusOr<std::unique_ptr<Executable>> Compile(const ExecutableContext* context,
                                                       const StepSignature& signature,
                                                       const PlacementHints& hints);
  Status RunChecked(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                    const RunOptions& options);
  Status RunFed(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                const RunOptions& options);
  Status CheckFeeds(absl::Span<const Tensor> feeds) const;
  Status CheckFeedShapes(absl::Span<const Tensor> feeds) const;
  StatusOr<StepPlan*> FindPlan(absl::Span<const Tensor> feeds, const RunOptions& options);

  const std::unique_ptr<ExecutableBuilder> builder_;
  std::atomic<int64_t> num_instructions_{0};
  PlansByShape<StepPlan> plans_;
  // The plan for all feeds, if all parts of the step are dynamic. Set once.
  std::unique_ptr<StepPlan> dynamic_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_EXECUTABLE_H_
