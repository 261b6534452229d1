// How long nodes take on the devices of a session, and tensors between them: estimated at first,
// and measured as steps are traced.
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

// The latest of many measurements. Their median is what counts: a step that was held up by
// something else says nothing of those that follow.
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

// What a copy takes: latency + bytes * per_byte. Nanoseconds.
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
    bool has_memory = false;      // of its own: tensors are copied to it and from it
    bool is_accelerator = false;  // taken for faster than the host until it was measured
  };
  explicit CostModel(std::vector<DeviceTraits> devices);

  // Nanoseconds. What was measured of the node on the device; else what was measured of it on
  // another one, times how much longer the device took for nodes of the op that were measured on
  // both, else for any nodes; else the estimate, times what the device takes longer than estimated
  // for nodes of the op, else for all. A device on which nothing was measured is as fast as others
  // of its type, else as the estimate says beside those that were.
  double NodeTime(const Node* node, const NodeWork& work, int device) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsMeasured(const Node* node, int device) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a copy between two devices, by those of several sizes that were measured; of two that were
  // not, by way of the host, if that was measured; else as between others of their types, else an
  // estimate. Nothing on one device.
  LinkCost Link(int from, int to) const ABSL_LOCKS_EXCLUDED(mutex_);

  // One step ran the node for so long, in all, on the device.
  void AddNodeTime(const Node* node, const NodeWork& work, int device, double nanoseconds)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void AddTransferTime(int from, int to, int64_t bytes, double nanoseconds)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The first device that works in the host's memory; -1: there is none.
  int host() const;
  int num_devices() const { return static_cast<int>(devices_.size()); }
  // What a node with this work takes on the host, if nothing is known.
  static double Estimate(const NodeWork& work);

 private:
  struct Measured {
    RecentTimes times;  // none: not on this device
    double estimate = 0;
  };
  // A node that was measured, by device.
  using MeasuredNode = std::vector<Measured>;
  // What nodes took on one device that were measured on another one, too.
  struct Pair {
    int nodes = 0;
    double here = 0;
    double there = 0;
    bool is_known() const { return nodes > 0 && here > 0 && there > 0; }
  };
  // Op, device and the other one; no op: of all.
  using PairKey = std::tuple<std::string, int, int>;
  // How fast a device is: what was measured beside what was estimated.
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
