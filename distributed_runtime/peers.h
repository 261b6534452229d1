// The tasks of a cluster and the channels to them.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_PEERS_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_PEERS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "distributed_runtime/link_measures.h"
#include "distributed_runtime/traffic.h"
#include "distributed_runtime/transport.h"
#include "framework/status.h"

namespace millstream {

struct ClusterTask {
  std::string name;     // "/job:worker/replica:0/task:1", as device names begin
  std::string address;  // "host:port", or "unix:" and the path of a socket
};

// Stands for those that are no tasks of the cluster in counts of traffic.
inline constexpr char kClients[] = "clients";

inline bool IsUnixAddress(absl::string_view address) { return absl::StartsWith(address, "unix:"); }

// Thread-safe.
class Peers {
 public:
  Peers(std::vector<ClusterTask> tasks, Transport* transport)
      : tasks_(std::move(tasks)), transport_(*transport) {}

  // In a fixed order, which is the same in all tasks.
  const std::vector<ClusterTask>& tasks() const { return tasks_; }
  // NOT_FOUND if the cluster has no task of this name. Channels are kept, and count their traffic.
  StatusOr<std::shared_ptr<Channel>> ChannelTo(absl::string_view task) ABSL_LOCKS_EXCLUDED(mutex_);
  // What this task exchanges with a task; that with all others if the cluster has no such task.
  std::shared_ptr<Traffic> TrafficWith(absl::string_view peer) ABSL_LOCKS_EXCLUDED(mutex_);
  // How fast this task reaches the others.
  LinkMeasures* links() { return &links_; }
  // All of it, by the names of the peers.
  std::map<std::string, std::shared_ptr<Traffic>> AllTraffic() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::shared_ptr<Traffic> TrafficOf(absl::string_view peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<ClusterTask> tasks_;
  Transport& transport_;
  LinkMeasures links_;
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<Channel>> channels_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::shared_ptr<Traffic>> traffic_ ABSL_GUARDED_BY(mutex_);
};

// The task of a device: "/job:ps/replica:0/task:0" of "/job:ps/replica:0/task:0/device:CPU:0".
absl::string_view TaskOf(absl::string_view device);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_PEERS_H_
