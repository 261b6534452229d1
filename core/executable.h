// One step signature of one session, compiled: the pruned graph, and a plan for each set of feed
// shapes that came.
#ifndef MILLSTREAM_CORE_EXECUTABLE_H_
#define MILLSTREAM_CORE_EXECUTABLE_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/kernel_instance.h"
#include "core/plan.h"
#include "core/prune.h"
#include "core/resource_manager.h"
#include "core/session.h"
#include "framework/status.h"

namespace millstream {

// What executables share with their session.
struct ExecutableContext {
  Graph* graph = nullptr;
  KernelCache* kernels = nullptr;
  ResourceManager* resources = nullptr;
  SessionOptions options;
  int threads = 1;
  std::string device_name;
};

// Thread-safe.
class Executable {
 public:
  // Prunes and places. Errors name the node.
  static StatusOr<std::unique_ptr<Executable>> Create(const ExecutableContext* context,
                                                      const StepSignature& signature);

  // One step. After the first step with the same feed shapes it takes no lock and looks no name up.
  Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches, const RunOptions& options);
  int64_t num_instructions() const { return num_instructions_.load(std::memory_order_relaxed); }

 private:
  // Plans beyond these are not kept apart: feeds of further shapes share one plan that finds shapes
  // as it runs.
  static constexpr int kMaxPlans = 32;

  Executable(const ExecutableContext* context, const StepSignature& signature)
      : context_(*context), signature_(signature) {}
  Status CheckSignature() const;
  Status Place() const;
  Status CheckFeeds(absl::Span<const Tensor> feeds) const;
  Status CheckFeedShapes(absl::Span<const Tensor> feeds) const;
  StatusOr<Plan*> FindPlan(absl::Span<const Tensor> feeds) ABSL_LOCKS_EXCLUDED(mutex_);
  Plan* FindCompiled(absl::Span<const Tensor> feeds) const;
  StatusOr<std::unique_ptr<Plan>> Compile(const std::vector<Shape>* shapes) const;

  const ExecutableContext& context_;
  const StepSignature signature_;
  PrunedGraph pruned_;
  std::atomic<int64_t> num_instructions_{0};
  // Entries are set once, in order, and read without lock.
  std::atomic<Plan*> plans_[kMaxPlans] = {};
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Plan>> owned_ ABSL_GUARDED_BY(mutex_);
  Plan* any_shape_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_EXECUTABLE_H_
