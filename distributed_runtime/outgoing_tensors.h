// What one task sends to others in a step, until they ask for it.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_OUTGOING_TENSORS_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_OUTGOING_TENSORS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "core/partition/rendezvous.h"
#include "framework/status.h"

namespace millstream {

// A task asks for one tensor at a time. The answer also brings the small ones that are there for
// the same task, which it would ask for next: so tensors of a step with one destination travel
// together, and none waits for another. Each tensor is sent once and asked for once, in either
// order. Thread-safe.
class OutgoingTensors {
 public:
  struct Named {
    std::string key;
    Parcel parcel;
  };
  struct Answer {
    Parcel parcel;
    bool came_before = false;  // the tensor was in `more` of another answer
    std::vector<Named> more;
  };
  // Called once, without locks, by Ask, Send or Abort.
  using Take = std::function<void(const Status& status, Answer answer)>;

  // `destination` is the task that will ask. ALREADY_EXISTS if the key was sent before. Does
  // nothing after Abort.
  Status Send(const std::string& key, const std::string& destination, Parcel parcel)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives the tensor when it is there. INTERNAL if it is asked for twice.
  void Ask(const std::string& key, bool takes_more, Take take) ABSL_LOCKS_EXCLUDED(mutex_);
  // Passes the error to all who wait, now and later. Only the first call has an effect.
  void Abort(const Status& error) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Item {
    std::string destination;
    Parcel parcel;
  };
  struct Asker {
    bool takes_more = false;
    Take take;
  };
  std::vector<Named> TakeMore(const std::string& destination) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  Status aborted_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Item> items_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Asker> askers_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<std::string> given_ ABSL_GUARDED_BY(mutex_);  // in `more`
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_OUTGOING_TENSORS_H_
