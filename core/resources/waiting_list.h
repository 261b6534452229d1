// Operations on a resource that wait until they can complete.
#ifndef MILLSTREAM_CORE_RESOURCES_WAITING_LIST_H_
#define MILLSTREAM_CORE_RESOURCES_WAITING_LIST_H_

#include <functional>
#include <list>
#include <utility>
#include <vector>

#include "framework/status.h"

namespace millstream {

// The waiting operations, in the order in which they were called. An operation waits without a
// thread. Not thread-safe: the resource guards it, and calls the functions of Ended without its
// lock.
class WaitingList {
 public:
  // Identifies an operation for Cancel. No two waiting operations may have the same one.
  using Ticket = const void*;
  // Completes the operation if that is possible now, and returns true; false: it must wait. Sets
  // `status` to its error.
  using Attempt = std::function<bool(Status* status)>;
  // Called once, by any thread.
  using Done = std::function<void(const Status& status)>;
  class Ended {
   public:
    void Add(Done done, Status status) { ended_.emplace_back(std::move(done), std::move(status)); }
    // Calls the functions. REQUIRES: the caller holds no lock that they take.
    void Tell() {
      for (auto& [done, status] : ended_) done(status);
      ended_.clear();
    }

   private:
    std::vector<std::pair<Done, Status>> ended_;
  };

  void Add(Ticket ticket, Attempt attempt, Done done) {
    waiting_.push_back({ticket, std::move(attempt), std::move(done)});
  }
  // Completes what can be completed. What one operation does may let those before it complete.
  void Advance(Ended* ended) {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      Status status;
      if (!at->attempt(&status)) {
        ++at;
        continue;
      }
      ended->Add(std::move(at->done), std::move(status));
      waiting_.erase(at);
      at = waiting_.begin();
    }
  }
  // Ends the operation with `status`. Does nothing if there is none.
  void Cancel(Ticket ticket, const Status& status, Ended* ended) {
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      if (at->ticket != ticket) continue;
      ended->Add(std::move(at->done), status);
      waiting_.erase(at);
      return;
    }
  }
  void CancelAll(const Status& status, Ended* ended) {
    for (Waiting& waiting : waiting_) ended->Add(std::move(waiting.done), status);
    waiting_.clear();
  }

 private:
  struct Waiting {
    Ticket ticket;
    Attempt attempt;
    Done done;
  };
  std::list<Waiting> waiting_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_WAITING_LIST_H_
