#include "distributed_runtime/peers.h"

namespace millstream {

StatusOr<std::shared_ptr<Channel>> Peers::ChannelTo(absl::string_view task) {
  absl::MutexLock lock(&mutex_);
  const auto found = channels_.find(task);
  if (found != channels_.end()) return found->second;
  for (const ClusterTask& one : tasks_) {
    if (one.name != task) continue;
    MS_ASSIGN_OR_RETURN(std::shared_ptr<Channel> channel, transport_.Connect(one.address));
    channels_[one.name] = channel;
    return channel;
  }
  return errors::NotFound("the cluster has no task ", task);
}

absl::string_view TaskOf(absl::string_view device) { return device.substr(0, device.rfind('/')); }

}  // namespace millstream
