// Collective operations whose members are in several tasks of a cluster.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_CLUSTER_COLLECTIVES_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_CLUSTER_COLLECTIVES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/resources/collective_meetings.h"
#include "core/resources/collectives.h"
#include "core/resources/resource.h"
#include "distributed_runtime/exchange_table.h"
#include "distributed_runtime/peers.h"
#include "distributed_runtime/rpc.h"
#include "framework/status.h"

namespace millstream {

// The members meet in one task, the leader: the chief's, or else the first of the cluster. Small
// tensors come with their members, and the leader answers with the result. The tasks of members
// exchange larger ones (CollectiveExchange). What is small follows from measured times, which the
// leader passes on (MostBytesWithMember). The leader notices when the connection to a task of a
// member ends. Where nobody is at the leader's address, it has not come up as yet, and members wait
// for it. One that takes requests and is silent is lost, as any task.
// Members of sessions of all masters meet, unless their sessions are isolated.
// Thread-safe.
class ClusterCollectives final : public Collectives {
 public:
  // `task` is this one.
  ClusterCollectives(std::string task, std::shared_ptr<Peers> peers);

  void Join(const CollectiveSpec& spec, CollectiveMember member, ParallelLoop loop) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Cancel(const void* ticket) override ABSL_LOCKS_EXCLUDED(mutex_);
  // In other tasks than the leader's: what Beat found out last.
  std::string Missing(const CollectiveSpec& spec, absl::string_view device) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Drop() override;

  // Answers a request of another task. False if this is none of these requests.
  bool Handle(absl::string_view method, PayloadReader* request, const Reply& reply);
  // Called with each heartbeat, does not block. The leader asks the tasks of members whether they
  // are there; other tasks ask the leader for whom their members wait, or try it again if it has
  // not come up; tasks that exchange tensors ask each other. Who does not answer several times is
  // lost.
  void Beat() ABSL_LOCKS_EXCLUDED(mutex_);
  // The task stops: all who wait get UNAVAILABLE.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same, but waits before the end until other tasks have what this one has still to give them,
  // for `patience` at the longest, and for a shorter while for tasks that do not answer. REQUIRES:
  // requests of other tasks reach Handle, and no lock that it takes is held. Does nothing after
  // Stop or Close.
  void Close(absl::Duration patience) ABSL_LOCKS_EXCLUDED(mutex_);
  // The exchanges of this task, also those that others may still ask about.
  size_t num_exchanges() const { return exchanges_->size(); }
  // Those for which Close waits.
  size_t num_owing() const { return exchanges_->num_owing(); }

 protected:
  ~ClusterCollectives() override { Stop(); }

 private:
  // A member of this task that waits for its meeting.
  struct Waiting {
    CollectiveSpec spec;
    CollectiveMember member;
    std::string missing;         // for whom it waits; empty: not known as yet
    bool awaits_leader = false;  // which has not come up as yet
  };
  // A request to join a meeting.
  using Group = std::pair<uint64_t, int64_t>;  // scope, group key
  struct Joining {
    uint64_t number = 0;
    Group group;
    bool is_small = false;  // so that the time that it takes is that of a message
    absl::Time begin;       // SteadyNow
  };
  // What a meeting has told the members of its group.
  struct Told {
    uint64_t meeting = 0;
    CollectiveLink link;
  };
  ResourceRef<ClusterCollectives> Self() { return ResourceRef<ClusterCollectives>::Share(this); }
  bool Leads() const { return leader_ == task_; }

  // A member comes to its meeting, of which this task is the leader.
  void Arrive(const CollectiveSpec& spec, CollectiveArrival arrival, ParallelLoop loop)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void JoinAtLeader(const CollectiveSpec& spec, uint64_t number, const std::string& device,
                    bool gives, const Tensor& tensor);
  // What has become of that.
  void TakeAnswer(const Joining& joining, const Status& joined, PayloadReader* response)
      ABSL_LOCKS_EXCLUDED(mutex_);
  CollectiveLink LinkOf(const CollectiveSpec& spec) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `round_trip`: what the request took, without the time that the leader had it.
  void NoteLink(const Joining& joining, const MeetingOutcome& outcome, absl::Duration round_trip)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The leader does not know the request: ends the wait by an error that says why, if that can be
  // found out.
  void AskForVersion(uint64_t number, const Status& refused) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the member waits until the leader has come up, which was not reached.
  bool AwaitLeader(uint64_t number, const Status& refused) ABSL_LOCKS_EXCLUDED(mutex_);
  // Members that wait for the leader try it again.
  void JoinAgain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Asks the leader whether it is there, if it has never answered.
  void AskForLeader(Channel* channel) ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteLeader() ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells the leader that a member of this task does not wait any more.
  void Leave(uint64_t number);
  // The meeting of a member of this task has taken place.
  void Conclude(uint64_t number, const Status& status, const MeetingOutcome& outcome)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends what waits for meetings. False: that has been done before.
  bool StopMeetings(const Status& stopped) ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasStopped() const ABSL_LOCKS_EXCLUDED(mutex_);
  Status Stopped() const;
  void AwaitOthers(absl::Time deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // The tasks of these to which something of this one is on its way.
  std::set<std::string> AskWhoAwaits(const std::set<std::string>& tasks, absl::Time deadline);
  bool IsWaiting(uint64_t number) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Members of a task, which is perhaps this one, meet those of this task.
  void NoteMet(absl::string_view task) ABSL_LOCKS_EXCLUDED(mutex_);
  // Forgets the ticket of an execution that waits no more. False: Cancel has taken it.
  bool TakeNumber(const void* ticket, uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  void AskMembers() ABSL_LOCKS_EXCLUDED(mutex_);
  void AskLeader() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends what waits for the leader.
  void LoseLeader() ABSL_LOCKS_EXCLUDED(mutex_);
  void TakeMissing(uint64_t number, const Status& status, PayloadReader* response)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Of the leader.
  void Watch(const std::string& task) ABSL_LOCKS_EXCLUDED(mutex_);
  void WatchKnown(const CollectiveSpec& spec) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnJoin(PayloadReader* request, const Reply& reply);
  void OnLeave(PayloadReader* request, const Reply& reply);
  void OnMissing(PayloadReader* request, const Reply& reply);
  // Of all tasks.
  void OnPing(PayloadReader*, const Reply& reply) { reply.Give(absl::OkStatus()); }
  void OnWatch(PayloadReader* request, const Reply& reply) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnFarewell(PayloadReader* request, const Reply& reply) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string task_;
  const std::shared_ptr<Peers> peers_;
  const std::string leader_;
  const std::shared_ptr<ExchangeTable> exchanges_;
  CollectiveMeetings meetings_;  // of the leader

  mutable absl::Mutex mutex_;
  bool has_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_leader_come_up_ ABSL_GUARDED_BY(mutex_) = false;  // it answered, or was connected
  bool has_awaited_leader_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_ ABSL_GUARDED_BY(mutex_);                        // number of a member of this task
  std::map<uint64_t, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // by number
  absl::flat_hash_map<const void*, uint64_t> numbers_ ABSL_GUARDED_BY(mutex_);  // by ticket
  std::map<Group, Told> told_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> watched_ ABSL_GUARDED_BY(mutex_);
  // Other tasks to which this one may have given something.
  std::set<std::string, std::less<>> met_ ABSL_GUARDED_BY(mutex_);
  // Heartbeats since a task has answered; of the leader's own one, or of others.
  std::map<std::string, int> silence_ ABSL_GUARDED_BY(mutex_);
  std::vector<Reply> watchers_ ABSL_GUARDED_BY(mutex_);
};

// Those of a session whose state is isolated: its members meet each other alone.
class IsolatedCollectives final : public Collectives {
 public:
  // `session` is the number of the session, which is not 0.
  IsolatedCollectives(ResourceRef<ClusterCollectives> all, uint64_t session)
      : all_(std::move(all)), session_(session) {}
  void Join(const CollectiveSpec& spec, CollectiveMember member, ParallelLoop loop) override {
    all_->Join(Scoped(spec), std::move(member), loop);
  }
  void Cancel(const void* ticket) override { all_->Cancel(ticket); }
  std::string Missing(const CollectiveSpec& spec, absl::string_view device) override {
    return all_->Missing(Scoped(spec), device);
  }
  void Drop() override {}

 private:
  CollectiveSpec Scoped(CollectiveSpec spec) const {
    spec.scope = session_;
    return spec;
  }

  const ResourceRef<ClusterCollectives> all_;
  const uint64_t session_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_CLUSTER_COLLECTIVES_H_
