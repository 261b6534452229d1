// ClusterCollectives: members that come before their leader does.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "distributed_runtime/cluster_collectives.h"
#include "distributed_runtime/tensor_coding.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/steady_time.h"
#include "millstream/distributed_runtime/protos/step_messages.pb.h"

namespace millstream {

void ClusterCollectives::NoteLeader() {
  absl::MutexLock lock(&mutex_);
  has_leader_come_up_ = true;
  silence_.erase(leader_);
}

// A leader answers a member when the meeting takes place. If it ends before that, it is lost, and
// not one that has not come up.
void ClusterCollectives::AskForLeader(Channel* channel) {
  {
    absl::MutexLock lock(&mutex_);
    if (has_leader_come_up_) return;
  }
  StartRequest(channel, "PingMember", EncodeMessage(proto::WatchCollectivesRequest()),
               SteadyNow() + absl::Seconds(10),
               [self = Self()](const Status& status, PayloadReader*) {
                 if (status.ok()) self->NoteLeader();
               });
}

bool ClusterCollectives::AwaitLeader(uint64_t number, const Status& refused) {
  if (!absl::IsUnavailable(refused)) return false;
  // It took the connection: its process ended, or stands still.
  if (IsPeerLost(refused)) NoteLeader();
  std::string missing;
  bool is_first = false;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = waiting_.find(number);
    if (has_leader_come_up_ || found == waiting_.end()) return false;
    missing = absl::StrCat(leader_, ", where members of ", NameOf(found->second.spec),
                           " meet, and which has not come up as yet: ", refused.message());
    found->second.awaits_leader = true;
    found->second.missing = missing;
    is_first = !has_awaited_leader_;
    has_awaited_leader_ = true;
    silence_.erase(leader_);  // that nobody is there is an answer, too
  }
  if (is_first) HostLog(MS_LOG_WARNING, absl::StrCat(task_, " waits for ", missing));
  return true;
}

// With other numbers, so that a leader which has got the first request after all takes it for one
// of a member that has left.
void ClusterCollectives::JoinAgain() {
  struct Coming {
    uint64_t number;
    CollectiveSpec spec;
    std::string device;
    bool gives;
    Tensor tensor;
  };
  std::vector<Coming> coming;
  {
    absl::MutexLock lock(&mutex_);
    std::vector<uint64_t> numbers;
    for (const auto& [number, waiting] : waiting_) {
      if (waiting.awaits_leader) numbers.push_back(number);
    }
    for (const uint64_t number : numbers) {
      auto node = waiting_.extract(number);
      node.key() = next_++;
      Waiting& waiting = node.mapped();
      waiting.awaits_leader = false;
      numbers_[waiting.member.ticket] = node.key();
      coming.push_back({node.key(), waiting.spec, waiting.member.device, waiting.member.gives,
                        waiting.member.tensor});
      waiting_.insert(std::move(node));
    }
  }
  for (const Coming& one : coming) {
    JoinAtLeader(one.spec, one.number, one.device, one.gives, one.tensor);
  }
}

}  // namespace millstream
