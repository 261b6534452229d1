// Which steps are in which batch. A step that gave tensors to a batch is known by a number there,
// its id, until the step ends.
#ifndef MILLSTREAM_CORE_RESOURCES_BATCH_MEMBERS_H_
#define MILLSTREAM_CORE_RESOURCES_BATCH_MEMBERS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/resources/resource.h"
#include "core/resources/resource_manager.h"
#include "framework/status.h"

namespace millstream {

// The members of a session's batches. So who waits for what another step of the batch will give
// hears of that step's end. Thread-safe. No function is called under the lock.
class BatchMembers final : public Resource {
 public:
  static constexpr char kType[] = "BatchMembers";
  using Heard = std::function<void()>;

  BatchMembers();
  // Those of a session, made when they are first asked for.
  static StatusOr<ResourceRef<BatchMembers>> Of(ResourceManager* resources);

  // Gives a new member, which lives as long as the step of `container`.
  StatusOr<int64_t> Add(StepContainer* container) ABSL_LOCKS_EXCLUDED(mutex_);
  // The steps of `ids` form a batch, which `runner` runs. Once it has finished, `ran` is called:
  // see Finish. REQUIRES: `runner` is one of `ids`.
  void Join(const std::vector<int64_t>& ids, int64_t runner, int64_t results, Heard ran)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A result of the batch that `runner` runs is there. After as many as Join was given, or when the
  // step ends, the batch has finished.
  void Finish(int64_t runner) ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls `heard` when the step of the member ends, or at once if it has ended. Does nothing for
  // a number that is of no member of this session.
  void WhenEnds(int64_t id, Heard heard) ABSL_LOCKS_EXCLUDED(mutex_);
  // The member that runs the batch of `id`; `id` itself if no such batch is known.
  int64_t RunnerOf(int64_t id) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Members stay: they end with their steps.
  void Drop() override {}
  bool KeepsItsName() const override { return true; }

 private:
  class Life;
  struct Member {
    int64_t runner = 0;
    std::vector<Heard> heard;
    int64_t missing_results = 0;  // of a runner
    Heard ran;                    // of a runner; null once it was called
  };

  void End(int64_t id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ids are this and the next numbers, which differ from those of other sessions.
  const int64_t first_;
  mutable absl::Mutex mutex_;
  int64_t next_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<int64_t, Member> members_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_BATCH_MEMBERS_H_
