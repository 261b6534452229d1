// Queues of tensors, which pass tensors from step to step.
#ifndef MILLSTREAM_CORE_RESOURCES_TENSOR_QUEUE_H_
#define MILLSTREAM_CORE_RESOURCES_TENSOR_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/resources/queue_kinds.h"
#include "core/resources/resource.h"
#include "framework/attr_value.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// A bounded queue of elements, each a tuple of tensors. An operation that cannot complete at once
// waits in the queue without a thread; the caller passes a function that is called when it is
// complete. Enqueues complete in the order in which they were called, and so do dequeues.
// Thread-safe. No function is called under the lock.
class TensorQueue final : public Resource {
 public:
  static constexpr char kType[] = "Queue";
  // Called once, by any thread. A successful dequeue gets its elements.
  using Callback = std::function<void(const Status& status, std::vector<QueueRows> elements)>;
  // Identifies an operation for Cancel. No two waiting operations of a queue may have the same one.
  using Ticket = const void*;

  // `name` is for programs, `label` for error messages.
  TensorQueue(std::string name, std::string label, QueueSpec spec);
  const std::string& name() const { return name_; }
  const QueueSpec& spec() const { return spec_; }

  // INVALID_ARGUMENT unless an element, or with `many` a batch of elements, may have these
  // components.
  Status CheckComponents(const std::vector<Tensor>& components, bool many) const;
  // INVALID_ARGUMENT unless elements have components of these types.
  Status CheckTypes(const DataTypeList& dtypes) const;

  // Adds the elements one by one when there is room. CANCELLED if the queue is closed before all
  // are added.
  void Enqueue(Ticket ticket, std::vector<QueueRows> elements, Callback done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes `count` elements. OUT_OF_RANGE if the queue is closed and has fewer; these stay. With
  // `or_fewer`, they are taken if there are any.
  void Dequeue(Ticket ticket, int64_t count, bool or_fewer, Callback done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Closes the queue after the waiting enqueues are complete. With `cancel_enqueues` they end with
  // CANCELLED instead. CANCELLED if the queue is closed already.
  void Close(Ticket ticket, bool cancel_enqueues, Callback done) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the waiting operation `ticket` with CANCELLED. Does nothing if there is none. Elements
  // that a dequeue has removed go back to the front. Elements that an enqueue has added stay.
  void Cancel(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t size() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool is_closed() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends all waiting operations with CANCELLED, removes all elements, and opens the queue again.
  void Drop() override ABSL_LOCKS_EXCLUDED(mutex_);
  bool KeepsItsName() const override { return true; }

 private:
  // A waiting enqueue, or a close, which waits for the enqueues before it.
  struct Giver {
    Ticket ticket = nullptr;
    bool closes = false;
    std::vector<QueueRows> elements;
    size_t num_added = 0;  // of these, to the queue
    Callback done;

    bool HasMore() const { return num_added < elements.size(); }
  };
  struct Taker {
    Ticket ticket = nullptr;
    int64_t missing = 0;  // elements that are not taken yet
    bool or_fewer = false;
    std::vector<QueueRows> taken;
    Callback done;
  };
  // A completed operation, whose function is called after the lock is released.
  struct Ended {
    Callback done;
    Status status;
    std::vector<QueueRows> elements;
  };
  using AllEnded = std::vector<Ended>;

  void Advance(AllEnded* ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Give(Giver* giver, AllEnded* ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Take(Taker* taker, AllEnded* ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns how many elements it asked for.
  int64_t PutBack(Taker* taker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndGivers(const Status& status, AllEnded* ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // How many elements may be added now.
  int64_t Room() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (spec_.capacity < 0) return std::numeric_limits<int64_t>::max();
    return std::max<int64_t>(spec_.capacity - elements_->size(), 0);
  }
  // How many elements may be taken now.
  int64_t Available() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const int64_t kept = is_closed_ ? 0 : spec_.min_after_dequeue;
    return std::max<int64_t>(elements_->size() - kept, 0);
  }
  // What is known of a component's shape.
  PartialShape ShapeOf(size_t component) const;
  // "FIFOQueue '_0_q'"
  std::string Label() const;
  static void Tell(AllEnded ended);

  const std::string name_;
  const std::string label_;
  const QueueSpec spec_;
  mutable absl::Mutex mutex_;
  std::unique_ptr<QueueElements> elements_ ABSL_GUARDED_BY(mutex_);
  std::deque<Giver> givers_ ABSL_GUARDED_BY(mutex_);
  std::deque<Taker> takers_ ABSL_GUARDED_BY(mutex_);
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t num_moves_ ABSL_GUARDED_BY(mutex_) = 0;  // of elements, in and out
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_TENSOR_QUEUE_H_
