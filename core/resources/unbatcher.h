// What steps of a batch give each other: their parts of a result, and gradients of these.
#ifndef MILLSTREAM_CORE_RESOURCES_UNBATCHER_H_
#define MILLSTREAM_CORE_RESOURCES_UNBATCHER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/resources/resource.h"
#include "core/resources/waiting_list.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// Tensors by the ids of batch_members.h. Each is given once and taken once; who comes first waits
// for the other. Thread-safe. No function is called under the lock.
class Unbatcher final : public Resource {
 public:
  static constexpr char kType[] = "Unbatcher";
  using Ticket = WaitingList::Ticket;
  // Called once, by any thread. After OK the caller's tensors are set.
  using Done = WaitingList::Done;
  using Ids = std::vector<int64_t>;

  explicit Unbatcher(std::string name) : Resource(kType), name_(std::move(name)) {}
  const std::string& name() const { return name_; }

  // Gives a tensor, which is forgotten if nobody has taken it after `limit`. ALREADY_EXISTS if
  // there is one of this id.
  Status Give(int64_t id, Tensor tensor, absl::Duration limit) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the tensors of all `ids`, and waits until they are there. REQUIRES: `ids` is not empty.
  // DEADLINE_EXCEEDED after
  // `limit`. ALREADY_EXISTS if another call waits for one of them, or `ids` has one twice.
  void Take(Ticket ticket, Ids ids, absl::Duration limit, std::vector<Tensor>* tensors, Done done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Nobody will give the tensor, unless it is there: whoever waits for it gets `status`.
  void Fail(int64_t id, const Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Nobody will take the tensor.
  void Forget(int64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the waiting call `ticket` with CANCELLED. Does nothing if there is none.
  void Cancel(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends all waiting calls with CANCELLED, and removes all tensors.
  void Drop() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Given {
    Tensor tensor;
    uint64_t alarm = 0;
  };
  struct Taker {
    Ids ids;
    uint64_t alarm = 0;
  };

  bool TryTake(Ticket ticket, const Ids& ids, std::vector<Tensor>* tensors)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets who waits, after its call has ended or before it ends.
  void Remove(Ticket ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(Ticket ticket, const Status& status, WaitingList::Ended* ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  absl::Mutex mutex_;
  absl::flat_hash_map<int64_t, Given> given_ ABSL_GUARDED_BY(mutex_);
  // Who waits for a tensor, and what else for.
  absl::flat_hash_map<int64_t, Ticket> awaited_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Ticket, Taker> takers_ ABSL_GUARDED_BY(mutex_);
  WaitingList waiting_ ABSL_GUARDED_BY(mutex_);  // in lines by their first id
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_UNBATCHER_H_
