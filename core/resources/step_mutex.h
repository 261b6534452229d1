// A lock that one step holds at a time, for critical sections of graphs.
#ifndef MILLSTREAM_CORE_RESOURCES_STEP_MUTEX_H_
#define MILLSTREAM_CORE_RESOURCES_STEP_MUTEX_H_

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/resources/resource.h"
#include "core/resources/waiting_list.h"
#include "framework/status.h"

namespace millstream {

// Who waits for the lock waits without a thread, and gets it in the order of the calls.
// Thread-safe. No function is called under the resource's own lock.
class StepMutex final : public Resource {
 public:
  static constexpr char kType[] = "Mutex";
  using Ticket = WaitingList::Ticket;
  // Called once, by any thread. After OK the caller has the lock.
  using Done = WaitingList::Done;

  explicit StepMutex(std::string name) : Resource(kType), name_(std::move(name)) {}
  const std::string& name() const { return name_; }

  void Lock(Ticket ticket, Done done) ABSL_LOCKS_EXCLUDED(mutex_);
  // REQUIRES: the caller has the lock.
  void Unlock() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the waiting call `ticket` with CANCELLED. Does nothing if there is none.
  void Cancel(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends all waiting calls with CANCELLED. The lock stays with the step that has it.
  void Drop() override ABSL_LOCKS_EXCLUDED(mutex_);
  bool KeepsItsName() const override { return true; }

 private:
  const std::string name_;
  absl::Mutex mutex_;
  bool is_held_ ABSL_GUARDED_BY(mutex_) = false;
  WaitingList waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_STEP_MUTEX_H_
