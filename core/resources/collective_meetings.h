// Where the members of collective operations meet: who has come, who is missing, what they get.
#ifndef MILLSTREAM_CORE_RESOURCES_COLLECTIVE_MEETINGS_H_
#define MILLSTREAM_CORE_RESOURCES_COLLECTIVE_MEETINGS_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/resources/collective_math.h"
#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// A collective operation, on which all its members must agree.
struct CollectiveSpec {
  // kReduceScatter: a reduction of whose rows each member gets its part.
  enum class Kind : uint8_t { kReduce, kGather, kBroadcast, kReduceScatter };
  Kind kind = Kind::kReduce;
  MergeOp merge = MergeOp::kAdd;  // of a reduction
  bool divides = false;           // a reduction, by the number of members
  DataType dtype = DataType::kInvalid;
  int64_t group_size = 0;
  int64_t group_key = 0;
  int64_t instance_key = 0;
  uint64_t scope = 0;  // members of other scopes never meet

  // Whether tensors are merged element by element.
  bool merges() const { return kind == Kind::kReduce || kind == Kind::kReduceScatter; }
};

// "collective group 1, instance 5"
std::string NameOf(const CollectiveSpec& spec);

// Identifies what a member waits for: a number that its task chose. Tasks are named as device names
// begin.
struct CollectiveTicket {
  std::string task;
  uint64_t number = 0;
  friend bool operator==(const CollectiveTicket& a, const CollectiveTicket& b) {
    return a.number == b.number && a.task == b.task;
  }
};

// How fast a task reaches the others of its group.
struct CollectiveLink {
  double round_trip_seconds = 0;  // of a small message and its answer; 0: not measured
  double bytes_per_second = 0;    // of each other task, while all give at once; 0: not measured
  bool is_known() const { return round_trip_seconds > 0 && bytes_per_second > 0; }
};

// How a meeting ended.
struct MeetingOutcome {
  // What the member gets: each its part of a kReduceScatter, else all the same. Empty if some
  // tensors stayed in the tasks of their members, which then exchange them:
  Tensor result;
  uint64_t number = 0;               // of the meeting, which no other has
  std::vector<std::string> members;  // in their order
  std::vector<uint64_t> tickets;     // of the members, numbers of their tasks
  int source = 0;                    // the member whose tensor a broadcast gives
  CollectiveLink link;  // the slowest that is known of a member's task, for the next meetings
};

// A member that has come to a meeting.
struct CollectiveArrival {
  // Called once, by any thread.
  using Done = std::function<void(const Status& status, const MeetingOutcome& outcome)>;
  CollectiveTicket ticket;
  std::string member;   // a device
  bool gives = true;    // false: it is one that gets a broadcast
  Shape shape;          // of the tensor that it gives
  Tensor tensor;        // which is empty here if it stays in the member's task
  CollectiveLink link;  // of the member's task
  Done done;
};

// A meeting takes place when each of `group_size` members has come. A member that comes again
// before that waits for the next meeting of its operation. The order of members is that of their
// names, in which numbers count as numbers. Members of one task are merged first, and then the
// tasks. Thread-safe. No function of an arrival is called under the lock.
class CollectiveMeetings {
 public:
  // `first_number`: of the first meeting.
  explicit CollectiveMeetings(uint64_t first_number) : next_number_(first_number) {}

  // A member comes. INVALID_ARGUMENT for all who are there if they do not agree. The caller
  // computes the result if it is the last one.
  void Arrive(const CollectiveSpec& spec, CollectiveArrival arrival, ParallelLoop loop)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A member waits no longer; it gets CANCELLED. Members that wait for it, in this operation or
  // another of its group, get ABORTED with the name of the member and with `why`. Does nothing if
  // the meeting has taken place.
  void Leave(const CollectiveTicket& ticket, absl::string_view why) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for members of a task with smaller numbers than this, of which the task knows nothing
  // any more.
  void LeaveBefore(const CollectiveTicket& oldest, absl::string_view why)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A task is gone. Those of its groups that wait get UNAVAILABLE with its name.
  void LoseTask(absl::string_view task, const Status& why) ABSL_LOCKS_EXCLUDED(mutex_);
  // All who wait get `status`.
  void EndAll(const Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasWaiting() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The tasks of the members that have met before.
  std::set<std::string> KnownTasks(const CollectiveSpec& spec) const ABSL_LOCKS_EXCLUDED(mutex_);
  // For whom `member` waits, or would wait: "2 of 4 members of collective group 1, instance 5:
  // /job:..., /job:...". Members are known by name if they have met before.
  std::string Missing(const CollectiveSpec& spec, absl::string_view member) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Meeting {
    CollectiveSpec spec;
    std::vector<CollectiveArrival> arrivals;
    bool Has(absl::string_view member) const;
  };
  using Queue = std::list<Meeting>;  // of one operation, in order
  struct Group {
    std::set<std::string> known;         // of the last meeting, until somebody else comes
    std::map<int64_t, Queue> instances;  // none is empty
  };
  // Those who get an error.
  struct Failed {
    std::vector<CollectiveArrival> arrivals;
    Status status;
    void Take(Meeting* meeting);
    void Tell() const;
  };

  // True if the meeting is complete, and taken out.
  bool Add(const CollectiveSpec& spec, CollectiveArrival arrival, Meeting* complete, Failed* failed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeLeaver(Group* group, const CollectiveTicket& ticket, absl::string_view why,
                  Failed* leaver, Failed* others) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void TakeAll(Group* group, Failed* failed);
  void Conclude(Meeting meeting, ParallelLoop loop) ABSL_LOCKS_EXCLUDED(mutex_);

  using Key = std::pair<uint64_t, int64_t>;  // scope, group
  mutable absl::Mutex mutex_;
  std::map<Key, Group> groups_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_);
};

// True if `a` stands before `b` in the order of members.
bool MemberBefore(absl::string_view a, absl::string_view b);
// The task of a member: what its name has before the last slash.
absl::string_view TaskOfMember(absl::string_view member);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_COLLECTIVE_MEETINGS_H_
