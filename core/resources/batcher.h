// Tensors of several steps, put together to batches.
#ifndef MILLSTREAM_CORE_RESOURCES_BATCHER_H_
#define MILLSTREAM_CORE_RESOURCES_BATCHER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/resources/resource.h"
#include "framework/dtype.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// The properties of a batcher. Sizes are in rows.
struct BatcherSpec {
  int64_t num_batch_threads = 1;  // batches that run at the same time; needs num_results
  int64_t max_batch_size = 1;
  int64_t max_enqueued_batches = 10;         // of one queue
  absl::Duration timeout;                    // since the first task of a batch
  std::vector<int64_t> allowed_batch_sizes;  // ascending, to max_batch_size; empty: all
  DataTypeList dtypes;                       // of a task's tensors
  // Of a batch, after which it has finished; 0: a batch has finished when it was put together.
  int64_t num_results = 0;
  friend bool operator==(const BatcherSpec& a, const BatcherSpec& b) {
    return a.num_batch_threads == b.num_batch_threads && a.max_batch_size == b.max_batch_size &&
           a.max_enqueued_batches == b.max_enqueued_batches && a.timeout == b.timeout &&
           a.allowed_batch_sizes == b.allowed_batch_sizes && a.dtypes == b.dtypes &&
           a.num_results == b.num_results;
  }
};

// What one step gives to a batch. All tensors have as many rows, at least one dimension, and the
// types of the batcher.
struct BatchTask {
  const void* ticket = nullptr;  // for Cancel; no two waiting tasks have the same one
  int64_t id = 0;                // of the step among the members of batches
  std::vector<Tensor> tensors;
  // Called once, by any thread: with an error, or after the task's batch was put together. Then
  // `batched` and `index` are empty, or for the step that is to run the batch, all tensors of the
  // batch, and (id, first row, end) of each task.
  std::function<void(const Status& status, const std::vector<Tensor>& batched,
                     const std::vector<int64_t>& index)>
      done;
  int64_t size() const { return tensors[0].shape().dim(0); }
};

// Collects tasks. A batch is closed when it is full or when a task does not fit any more; it runs
// when it is closed or its time is over, and `num_batch_threads` allow it. Until then it takes
// more tasks. Each name is a queue with batches of its own. Thread-safe. No function is called
// under the lock.
class Batcher final : public Resource {
 public:
  static constexpr char kType[] = "Batcher";
  using Tasks = std::vector<BatchTask>;
  // Puts a batch together and ends its tasks. With `num_results` it calls Release later.
  using Run = std::function<void(const ResourceRef<Batcher>& batcher, Tasks tasks)>;

  Batcher(std::string name, BatcherSpec spec, Run run)
      : Resource(kType), name_(std::move(name)), spec_(std::move(spec)), run_(std::move(run)) {}
  const std::string& name() const { return name_; }
  const BatcherSpec& spec() const { return spec_; }

  // Begins a task; after an error its `done` is not called. INVALID_ARGUMENT if it has too many
  // rows, or rows that do not go with those of the batch. UNAVAILABLE if the queue is full.
  Status Add(const std::string& queue, BatchTask task) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the task `ticket` out of its batch and ends it with CANCELLED. Does nothing if its batch
  // has begun.
  void Cancel(const void* ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  // A batch has finished.
  void Release() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends all waiting tasks with CANCELLED.
  void Drop() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Batch {
    uint64_t number = 0;  // in the order in which batches began
    Tasks tasks;
    int64_t size = 0;
    bool is_closed = false;
    bool is_late = false;  // its time is over
    uint64_t alarm = 0;
  };
  using Queue = std::deque<Batch>;  // only the last one may be open

  Status CheckTask(const BatchTask& task) const;
  Status CheckRows(const BatchTask& task, const Batch& batch) const;
  void Begin(const std::string& queue, Queue* batches) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeLate(const std::string& queue, uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  void Advance(std::vector<Tasks>* ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the oldest batch that may run; false if there is none.
  bool TakeReady(Tasks* tasks) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunAll(std::vector<Tasks> ready) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string name_;
  const BatcherSpec spec_;
  const Run run_;
  absl::Mutex mutex_;
  std::map<std::string, Queue> queues_ ABSL_GUARDED_BY(mutex_);  // none is empty
  // The queue and the number of the batch of each waiting task.
  absl::flat_hash_map<const void*, std::pair<std::string, uint64_t>> places_
      ABSL_GUARDED_BY(mutex_);
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t running_ ABSL_GUARDED_BY(mutex_) = 0;  // batches that are waited for
};

// Puts the tensors of tasks one below the other, in their order. If the rows are fewer than an
// allowed size, the first row of the first task is repeated behind them. INVALID_ARGUMENT if that
// is needed and there is no row.
StatusOr<std::vector<Tensor>> JoinTasks(const BatcherSpec& spec, const Batcher::Tasks& tasks);
// (id, first row, end) of each task.
std::vector<int64_t> IndexOf(const Batcher::Tasks& tasks);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_BATCHER_H_
