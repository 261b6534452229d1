// Accumulators: sums of gradients that steps bring, which another step takes when there are enough.
#ifndef MILLSTREAM_CORE_RESOURCES_GRADIENT_ACCUMULATOR_H_
#define MILLSTREAM_CORE_RESOURCES_GRADIENT_ACCUMULATOR_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/resources/resource.h"
#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// A gradient of a tensor, or of some of its rows.
struct Gradient {
  Tensor indices;  // the rows, int64; no value: `values` is of the whole tensor
  Tensor values;
};

struct AccumulatorSpec {
  DataType dtype = DataType::kInvalid;
  PartialShape shape;      // of the tensor that the gradients are of
  bool is_sparse = false;  // gradients are of rows
  bool takes_mean = true;  // false: their sum
};

// The gradients that an accumulator got since it began.
struct GradientCounts {
  int64_t applied = 0;  // added to a sum
  int64_t dropped = 0;  // stale: of an earlier step than the accumulator's
};

// The sum of some gradients. Not thread-safe.
class GradientSum {
 public:
  virtual ~GradientSum() = default;
  // INVALID_ARGUMENT for a gradient of another shape. Copies what it keeps.
  virtual Status Add(const Gradient& gradient) = 0;
  // The sum of the `count` gradients that were added, or their mean. A row's mean is that of the
  // gradients that have the row. The sum is empty afterwards.
  virtual StatusOr<Gradient> Take(int64_t count) = 0;
};
std::unique_ptr<GradientSum> MakeGradientSum(const AccumulatorSpec& spec);

// An operation that cannot complete at once waits without a thread. Thread-safe. No function is
// called under the lock.
class GradientAccumulator final : public Resource {
 public:
  static constexpr char kType[] = "GradientAccumulator";
  // Called once, by any thread.
  using Callback = std::function<void(const Status& status, Gradient gradient)>;
  using Ticket = const void*;  // as of TensorQueue

  GradientAccumulator(std::string name, AccumulatorSpec spec)
      : Resource(kType),
        name_(std::move(name)),
        spec_(std::move(spec)),
        sum_(MakeGradientSum(spec_)) {}
  const std::string& name() const { return name_; }
  const AccumulatorSpec& spec() const { return spec_; }

  // Adds a gradient that was computed in step `local_step`. Drops it, and counts it, if the
  // accumulator is at a later step. INVALID_ARGUMENT for a gradient of another type or shape.
  Status Apply(int64_t local_step, const Gradient& gradient) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the sum or mean when at least `num_required` gradients were added, and goes to the next
  // step.
  void Take(Ticket ticket, int64_t num_required, Callback done) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the waiting operation `ticket` with CANCELLED. Does nothing if there is none.
  void Cancel(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  void SetGlobalStep(int64_t step) ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t num_accumulated() const ABSL_LOCKS_EXCLUDED(mutex_);
  GradientCounts counts() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends all waiting operations with CANCELLED, and begins anew.
  void Drop() override ABSL_LOCKS_EXCLUDED(mutex_);
  bool KeepsItsName() const override { return true; }

 private:
  struct Taker {
    Ticket ticket = nullptr;
    int64_t num_required = 0;
    Callback done;
  };
  // A completed operation, whose function is called after the lock is released.
  struct Ended {
    Callback done;
    Status status;
    Gradient gradient;
  };
  using AllEnded = std::vector<Ended>;

  void Advance(AllEnded* ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Tell(AllEnded ended);

  const std::string name_;
  const AccumulatorSpec spec_;
  mutable absl::Mutex mutex_;
  std::unique_ptr<GradientSum> sum_ ABSL_GUARDED_BY(mutex_);
  int64_t global_step_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;  // of gradients in the sum
  GradientCounts counts_ ABSL_GUARDED_BY(mutex_);
  std::deque<Taker> takers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_GRADIENT_ACCUMULATOR_H_
