#include "distributed_runtime/peers.h"

#include "absl/algorithm/container.h"

namespace millstream {

StatusOr<std::shared_ptr<Channel>> Peers::ChannelTo(absl::string_view task) {
  absl::MutexLock lock(&mutex_);
  const auto found = channels_.find(task);
  if (found != channels_.end()) return found->second;
  for (const ClusterTask& one : tasks_) {
    if (one.name != task) continue;
    MS_ASSIGN_OR_RETURN(std::shared_ptr<Channel> channel, transport_.Connect(one.address));
    channel = CountedChannel(std::move(channel), TrafficOf(one.name));
    channels_[one.name] = channel;
    return channel;
  }
  return errors::NotFound("the cluster has no task ", task);
}

std::shared_ptr<Traffic> Peers::TrafficOf(absl::string_view peer) {
  const auto found = traffic_.find(peer);
  if (found != traffic_.end()) return found->second;
  const auto traffic = std::make_shared<Traffic>();
  traffic_[std::string(peer)] = traffic;
  return traffic;
}

std::shared_ptr<Traffic> Peers::TrafficWith(absl::string_view peer) {
  absl::MutexLock lock(&mutex_);
  const auto found = traffic_.find(peer);
  if (found != traffic_.end()) return found->second;
  const auto is_peer = [peer](const ClusterTask& task) { return task.name == peer; };
  return TrafficOf(absl::c_any_of(tasks_, is_peer) ? peer : kClients);
}

std::map<std::string, std::shared_ptr<Traffic>> Peers::AllTraffic() {
  absl::MutexLock lock(&mutex_);
  return std::map<std::string, std::shared_ptr<Traffic>>(traffic_.begin(), traffic_.end());
}

absl::string_view TaskOf(absl::string_view device) { return device.substr(0, device.rfind('/')); }

}  // namespace millstream
