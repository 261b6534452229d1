// Which sessions of a task others hold, and whether these are still there.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_LEASES_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_LEASES_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

namespace millstream {

// The name of a holder, and a number of it that grows when it is started again.
using LeaseHolder = std::pair<std::string, uint64_t>;

// A session lasts as long as its holder (a master, a client) is heard of. Time is counted in
// heartbeats of the task that gives the leases. Thread-safe.
class Leases {
 public:
  // A lease ends with the heartbeat that is number `patience` + 1 since its holder was heard of.
  explicit Leases(int patience) : patience_(patience) {}

  // Begins a lease. `incarnation` is a number of the holder that grows when it is started again:
  // leases of earlier incarnations are over, because nobody holds them.
  void Add(uint64_t session, const std::string& holder, uint64_t incarnation)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Does nothing if the session has no lease.
  void Remove(uint64_t session) ABSL_LOCKS_EXCLUDED(mutex_);
  // The holder says that it has these sessions. Returns those of them that have no lease.
  std::vector<uint64_t> Renew(const std::string& holder, uint64_t incarnation,
                              absl::Span<const uint64_t> sessions) ABSL_LOCKS_EXCLUDED(mutex_);

  // A request of the session has come, so its holder is there.
  void Hear(uint64_t session) ABSL_LOCKS_EXCLUDED(mutex_);

  struct Ended {
    uint64_t session = 0;
    std::string holder;
  };
  // The next heartbeat. Removes and returns the leases that are over.
  std::vector<Ended> Beat() ABSL_LOCKS_EXCLUDED(mutex_);
  // The holders of leases that are not over.
  std::set<LeaseHolder> Holders() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The sessions of a holder, if it has not been heard of for more than so many heartbeats, in the
  // order in which their leases began.
  std::vector<uint64_t> SessionsOf(const LeaseHolder& holder, int beats = -1) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The holder is gone for good: its leases are over, and end with the next heartbeat.
  void End(const LeaseHolder& holder) ABSL_LOCKS_EXCLUDED(mutex_);
  // The sessions whose holders have not been heard of for more than so many heartbeats, in the
  // order in which their leases began.
  std::vector<uint64_t> Silent(int beats) const ABSL_LOCKS_EXCLUDED(mutex_);
  // The sessions that earlier incarnations of the holder had, and that the next heartbeat ends, in
  // the same order.
  std::vector<uint64_t> Over(const std::string& holder) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Lease {
    std::string holder;
    uint64_t incarnation = 0;
    uint64_t number = 0;  // of the lease
    int beats = 0;        // since the holder was heard of
    bool is_over = false;

    bool IsOf(const LeaseHolder& one) const {
      return holder == one.first && incarnation == one.second;
    }
  };
  // The sessions of leases, in the order in which these began.
  template <typename IsWanted>
  std::vector<uint64_t> Find(const IsWanted& is_wanted) const ABSL_LOCKS_EXCLUDED(mutex_);
  void EndEarlier(const std::string& holder, uint64_t incarnation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int patience_;
  mutable absl::Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<uint64_t, Lease> leases_ ABSL_GUARDED_BY(mutex_);  // by session
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_LEASES_H_
