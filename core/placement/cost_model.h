// The times of nodes on the devices of a session, and of copies between devices. They are estimates
// at first, and measurements after steps were traced.
#ifndef MILLSTREAM_CORE_PLACEMENT_COST_MODEL_H_
#define MILLSTREAM_CORE_PLACEMENT_COST_MODEL_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/graph/graph.h"
#include "core/placement/node_work.h"

namespace millstream {

// The last few measurements. The median counts, so that one slow step has no effect.
class RecentTimes {
 public:
  void Add(double nanoseconds);
  bool empty() const { return count_ == 0; }
  // REQUIRES: !empty().
  double median() const;

 private:
  static constexpr int kKept = 5;
  double times_[kKept] = {};
  int64_t count_ = 0;
};

// The time of a copy in nanoseconds: latency + bytes * per_byte.
struct LinkCost {
  double latency = 0;
  double per_byte = 0;
  double Of(double bytes) const { return latency + bytes * per_byte; }
};

// Thread-safe. Devices are numbered as in the session's DeviceList.
class CostModel {
 public:
  struct DeviceTraits {
    std::string type;             // "CPU"
    bool has_memory = false;      // it has its own memory: tensors are copied to it and from it
    bool is_accelerator = false;  // assumed to be faster than the host until it is measured
    int task = 0;                 // devices of one task have one number
  };
  explicit CostModel(std::vector<DeviceTraits> devices);

  // The time of the node on the device, in nanoseconds, from the first of these that is known:
  //  1. the measured time of the node on this device;
  //  2. its measured time on another device, times the ratio of the two devices for nodes of the op
  //     that were measured on both, else for all nodes that were measured on both;
  //  3. the estimate, times the ratio of measured and estimated times on this device for nodes of
  //     the op, else for all nodes. A device without measurements has the ratio of other devices of
  //     its type, else an estimated ratio to the measured devices.
  double NodeTime(const Node* node, const NodeWork& work, int device) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsMeasured(const Node* node, int device) const ABSL_LOCKS_EXCLUDED(mutex_);
  // The cost of a copy between two devices. Zero if `from` is `to`. Of devices of one task it is
  // from the first of these that is known: measured copies of several sizes between them; measured
  // copies by way of the host; copies between other devices of their types in one task; an
  // estimate. Between tasks, tensors go by way of host memory, and the cost between that of the two
  // tasks is from the first of these that is known: measured transfers; those in the other
  // direction; the mean of those between other tasks; an estimate.
  LinkCost Link(int from, int to) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether transfers between the tasks of the devices, in this direction, were measured.
  bool IsLinkMeasured(int from, int to) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Records that the node took `nanoseconds` in all on the device, in one step.
  void AddNodeTime(const Node* node, const NodeWork& work, int device, double nanoseconds)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Between devices of two tasks it counts for all devices of these tasks, and is to be the time
  // from host memory to host memory.
  void AddTransferTime(int from, int to, int64_t bytes, double nanoseconds)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The first device of the device's task that works in host memory; the device itself if there is
  // none.
  int HostOf(int device) const;
  bool AreOfOneTask(int a, int b) const { return devices_[a].task == devices_[b].task; }
  bool HasSeveralTasks() const;
  int num_devices() const { return static_cast<int>(devices_.size()); }
  // The estimated time in nanoseconds of a node with this work on the host.
  static double Estimate(const NodeWork& work);

 private:
  struct Measured {
    RecentTimes times;  // none: not on this device
    double estimate = 0;
  };
  // A node that was measured, by device.
  using MeasuredNode = std::vector<Measured>;
  // The times of nodes that were measured on both of two devices.
  struct Pair {
    int nodes = 0;
    double here = 0;
    double there = 0;
    bool is_known() const { return nodes > 0 && here > 0 && there > 0; }
  };
  // Op, device and other device; an empty op: all ops.
  using PairKey = std::tuple<std::string, int, int>;
  // The speed of a device: measured and estimated times.
  struct Speed {
    double measured = 0;
    double estimated = 0;
    bool is_known() const { return measured > 0 && estimated > 0; }
    double factor() const { return measured / estimated; }
  };
  double EstimatedFactor(int device) const;
  double DeviceFactor(int device) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const Speed* OpSpeed(const std::string& op, int device) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountPairs(const Node* node, const MeasuredNode& measured, int device, int sign)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double Ratio(const std::string& op, int device, int other) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  LinkCost EstimatedLink(int from, int to) const;
  LinkCost LinkInTask(int from, int to) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  LinkCost LinkBetweenTasks(int from, int to) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  static LinkCost Fit(const std::map<int64_t, RecentTimes>& by_size, const LinkCost& estimate);

  const std::vector<DeviceTraits> devices_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<const Node*, MeasuredNode> nodes_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<PairKey, Pair> pairs_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::pair<std::string, int>, Speed> ops_ ABSL_GUARDED_BY(mutex_);
  std::vector<Speed> speeds_ ABSL_GUARDED_BY(mutex_);  // by device
  std::map<std::pair<int, int>, std::map<int64_t, RecentTimes>> links_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLACEMENT_COST_MODEL_H_
