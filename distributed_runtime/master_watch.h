// Whether the masters of a task's sessions, which are in other tasks, are connected.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_WATCH_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_WATCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "distributed_runtime/leases.h"
#include "distributed_runtime/peers.h"
#include "distributed_runtime/transport.h"
#include "framework/status.h"

namespace millstream {

// A master that is killed sends nothing more. So a worker notices at once, it keeps a call open to
// each master whose sessions it has; the master answers that only when it stops. Before this call
// it makes one that the master answers at once: an error of the first says that the master cannot
// be reached, as it may be on a network that is far away, and an error of the second that there was
// a connection and has ended. That is no proof of the master's end, so the worker tries again with
// each heartbeat. When a later process of the master answers, the old one is gone for good.
//
// Nothing of this is in the way of a step. No lock is held while the listener is told. Thread-safe.
class MasterWatch : public std::enable_shared_from_this<MasterWatch> {
 public:
  // Is told what becomes of a master, on any thread. It must not block.
  class Listener {
   public:
    virtual ~Listener() = default;
    // The connection has ended, by that error.
    virtual void LoseMaster(const LeaseHolder& master, const Status& error) = 0;
    // Another process of the master answers.
    virtual void EndMaster(const LeaseHolder& master) = 0;
  };

  // `task` is this one.
  MasterWatch(std::string task, std::shared_ptr<Peers> peers)
      : task_(std::move(task)), peers_(std::move(peers)) {}

  // Begins to watch a master. Does nothing if it is watched, or after Stop.
  void Watch(const LeaseHolder& master, const std::weak_ptr<Listener>& listener)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Called with each heartbeat: watches these masters, and no others.
  void Keep(const std::set<LeaseHolder>& masters, const std::weak_ptr<Listener>& listener)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Watches nobody any more. Nobody is told anything from then on, but may be just now.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the call is open whose end says that the connection has ended.
  bool IsWatched(const LeaseHolder& master) const ABSL_LOCKS_EXCLUDED(mutex_);
  // The masters whose connections have ended and could not be made again.
  std::set<LeaseHolder> Lost() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Watched {
    uint64_t request = 0;  // the number of the one that is open; 0: none
    bool is_held = false;  // it is that which the master keeps
    bool is_lost = false;
    std::shared_ptr<Channel::Call> call;  // null: none, or it is being begun
  };
  // A request to a master.
  struct Asked {
    LeaseHolder master;
    uint64_t request = 0;
    bool is_held = false;
    std::weak_ptr<Listener> listener;
  };
  // Notes a request that Ask sends next. Returns its number.
  uint64_t Note(Watched* watched, bool is_held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Ask(const Asked& asked) ABSL_LOCKS_EXCLUDED(mutex_);
  void TakeAnswer(const Asked& asked, const Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Null: it has ended, or nobody needs it any more.
  Watched* Find(const Asked& asked) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string task_;
  const std::shared_ptr<Peers> peers_;
  mutable absl::Mutex mutex_;
  bool has_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_request_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<LeaseHolder, Watched> watched_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_MASTER_WATCH_H_
