// The placements of a step in a session of a master that places by costs.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_PLACEMENTS_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_PLACEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace millstream {

struct MasterStep;

// Which placement a run has, and whether its costs are measured: those of the last runs of every
// period. Then the step is placed again. When its placement has not changed, or has changed
// kMostMoves times, it is settled, and no further runs are measured. A run keeps the placement with
// which it began. Thread-safe.
class StepPlacements {
 public:
  struct Turn {
    size_t placement = 0;  // 0: the one that was prepared
    std::shared_ptr<const MasterStep> step;
    bool is_measured = false;
    bool ends_period = false;  // it is the last measured one
  };
  // After more changes than this, the measurements are taken to contradict each other.
  static constexpr size_t kMostMoves = 4;

  // The last `measured` runs of every `period` are measured. REQUIRES: 1 <= measured <= period.
  StepPlacements(int64_t period, int64_t measured) : period_(period), measured_(measured) {}

  // A run begins. `prepared` is the step with its first placement, which belongs to the caller.
  Turn Begin(const std::shared_ptr<const MasterStep>& prepared) ABSL_LOCKS_EXCLUDED(mutex_);
  // The run has ended. True if its placement is not the present one any more and no other run has
  // it, so that the tasks need it no longer.
  bool End(const Turn& turn) ABSL_LOCKS_EXCLUDED(mutex_);
  // The placement of a run that begins now.
  std::shared_ptr<const MasterStep> Present(const std::shared_ptr<const MasterStep>& prepared) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether the step is to be placed again after this turn, which has not ended as yet. Then
  // EndPlacing or PutOff follows; meanwhile no other turn places.
  bool BeginPlacing(const Turn& turn) ABSL_LOCKS_EXCLUDED(mutex_);
  // The step is placed in the next period.
  void PutOff() ABSL_LOCKS_EXCLUDED(mutex_);
  // `next`: the new placement; null: the present one stays.
  void EndPlacing(const std::shared_ptr<const MasterStep>& next) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Placement {
    std::shared_ptr<const MasterStep> step;  // null: the prepared one
    int64_t running = 0;
  };

  const int64_t period_;
  const int64_t measured_;
  mutable absl::Mutex mutex_;
  // The last one is the present one. All live as long as this object, because pending work on a
  // device may need them.
  std::vector<Placement> placements_ ABSL_GUARDED_BY(mutex_) = std::vector<Placement>(1);
  int64_t begun_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_placing_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_settled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_PLACEMENTS_H_
