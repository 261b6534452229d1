// One task's part of a collective operation whose tensors are too large for messages to one task.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_COLLECTIVE_EXCHANGE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_COLLECTIVE_EXCHANGE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/resources/collective_meetings.h"
#include "core/resources/collectives.h"
#include "distributed_runtime/peers.h"
#include "distributed_runtime/rpc.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// The tasks of a meeting exchange tensors in pieces, and ask each other for them:
//
// - Reduction: each task merges the tensors of its own members, and owns one piece of the result.
// It
//   gets this piece of what each other task has merged, merges them in the order of the tasks, and
//   gives the others their copy. Each task sends and receives twice the tensor, less two pieces, as
//   in a ring, in two rounds however many tasks there are.
// - Reduce-scatter: the first of these rounds. The piece of a task is the rows of its members.
// - Gather: the piece of a task is the rows of its members.
// - Broadcast: there is one piece. The tasks are a binary tree, below that of the source; each asks
//   the task above it.
//
// Requests may come before the members of this task know of the meeting. The exchange is over when
// the members have the result and each other task has asked for all that it needs, has said that it
// will not, or is lost. One that has failed is kept for some heartbeats, to tell those who ask.
// Thread-safe.
class CollectiveExchange : public std::enable_shared_from_this<CollectiveExchange> {
 public:
  // Nobody will ask any more.
  using OnEnd = std::function<void()>;

  // `task` is this one. `on_end` is called at most once, by any thread.
  CollectiveExchange(uint64_t meeting, std::string task, std::shared_ptr<Peers> peers,
                     OnEnd on_end);

  // A member of this task. The exchange begins with the last one. `outcome` is the same for all.
  void Add(const CollectiveSpec& spec, const MeetingOutcome& outcome, CollectiveMember member)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Another task asks: see CollectivePieceRequest.
  void Ask(bool of_result, int asker, const Reply& reply) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the exchange if this execution is a member of it that waits. Gives whether it is.
  bool Cancel(const void* ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  // All members, and all who ask, get the error. Does nothing if the members have the result.
  void Fail(const Status& error) ABSL_LOCKS_EXCLUDED(mutex_);
  // Another task, by its number, asks for nothing more: its part has failed.
  void Leave(int asker) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether it has members and has not failed.
  bool IsUnderWay() const ABSL_LOCKS_EXCLUDED(mutex_);
  // A member of this task will come, though it is late: the answer about the meeting is on its way.
  // False if the exchange has failed.
  bool Expect() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the members have the result, and another task has still to ask for a part of its.
  bool Owes() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether it waits for a piece of another task.
  bool Awaits(absl::string_view task) const ABSL_LOCKS_EXCLUDED(mutex_);

  // For whose tensors an execution on this device waits; "" if none is a member of the operation.
  std::string Missing(const CollectiveSpec& spec, absl::string_view device) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // What a heartbeat finds.
  struct Watch {
    struct Watched {
      std::string task;
      uint64_t ticket = 0;  // of a member there
    };
    // Tasks whose pieces are awaited, or that have still to ask. Hear says that one is there.
    std::vector<Watched> tasks;
    bool is_over = false;  // it failed a while ago
  };
  // Called with each heartbeat, does not block. Who has not been heard of for several heartbeats is
  // lost: the exchange fails if it awaits a piece of that task, and expects no question of it any
  // more. Without members of this task, it fails after as many; Expect begins to count anew.
  Watch Beat() ABSL_LOCKS_EXCLUDED(mutex_);
  // The task is there. `takes_part`: its own part of the exchange is under way, or will be.
  void Hear(absl::string_view task, bool takes_part) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Question {
    bool of_result;
    int asker;
    Reply reply;
    absl::Time came;  // SteadyNow
  };
  // Another task of the meeting, as this one sees it.
  struct Other {
    std::string name;
    uint64_t ticket = 0;  // of its first member
    int num_members = 0;
    int awaited = 0;  // pieces that it was asked for
    int unasked = 0;  // pieces that it has still to ask for
    // Heartbeats since it was heard of, and since it said that it takes part.
    int silent = 0;
    int absent = 0;
  };
  // Elements of the result.
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };

  // ---- By the thread that has the last member ----
  void Plan(const MeetingOutcome& outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int TaskIndex(absl::string_view task) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The task above in the tree, of one that is not the source.
  int ParentOf(int task) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The tasks that have what this one needs.
  std::vector<int> Givers() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // ---- On threads of their own ----
  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  Status MergeOwn() ABSL_LOCKS_EXCLUDED(mutex_);
  void SetRanges() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AskOthers() ABSL_LOCKS_EXCLUDED(mutex_);
  void AskOne(int task, bool of_result) ABSL_LOCKS_EXCLUDED(mutex_);
  // `took`: the time since the task was asked.
  void Take(int task, bool of_result, absl::Duration took, const Status& status,
            PayloadReader* response) ABSL_LOCKS_EXCLUDED(mutex_);
  Status Keep(int task, bool of_result, const Tensor& piece) ABSL_LOCKS_EXCLUDED(mutex_);
  Status MergePieces() ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers what can be answered, and ends what has ended.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_);
  bool CanAnswer(const Question& question) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells a task that this one will ask it for nothing more.
  void TellLeaving(const std::string& task, int own);
  // True once: nobody has to be answered any more.
  bool TakeEnd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The reply to it, whose bytes are counted.
  Reply Counted(const Question& question) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<Tensor> PieceFor(const Question& question) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t meeting_;
  const std::string task_;
  const std::shared_ptr<Peers> peers_;
  const OnEnd on_end_;

  mutable absl::Mutex mutex_;
  Status failed_ ABSL_GUARDED_BY(mutex_);
  CollectiveSpec spec_ ABSL_GUARDED_BY(mutex_);
  std::vector<CollectiveMember> members_ ABSL_GUARDED_BY(mutex_);  // of this task, that wait
  size_t num_members_ ABSL_GUARDED_BY(mutex_) = 0;                 // of this task
  std::vector<Other> tasks_ ABSL_GUARDED_BY(mutex_);               // in order, this one as well
  int own_ ABSL_GUARDED_BY(mutex_) = 0;                            // number of this task
  int source_ ABSL_GUARDED_BY(mutex_) = 0;                         // of a broadcast: its task
  std::vector<Range> ranges_ ABSL_GUARDED_BY(mutex_);              // the piece of each task
  Tensor given_ ABSL_GUARDED_BY(mutex_);                // what this task's members give, merged
  std::vector<Tensor> pieces_ ABSL_GUARDED_BY(mutex_);  // of what tasks give, for the own piece
  Tensor result_ ABSL_GUARDED_BY(mutex_);
  bool has_own_piece_ ABSL_GUARDED_BY(mutex_) = false;  // of the result
  int missing_pieces_ ABSL_GUARDED_BY(mutex_) = 0;      // for the own piece
  int missing_results_ ABSL_GUARDED_BY(mutex_) = 0;     // pieces of the result
  bool has_result_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  int beats_ ABSL_GUARDED_BY(mutex_) = 0;  // since it began without members, or has failed
  std::vector<Question> questions_ ABSL_GUARDED_BY(mutex_);  // that wait
  std::vector<std::shared_ptr<Channel::Call>> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_COLLECTIVE_EXCHANGE_H_
