#include "core/placement/cost_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace millstream {
namespace {

// A processor of the host, roughly. Only relations between nodes count until something is measured.
constexpr double kOperationsPerNanosecond = 100;
constexpr double kBytesPerNanosecond = 10;
constexpr double kLaunchNanoseconds = 2000;
// State stays where it was first put: until it was measured, an accelerator is taken to be worth
// having.
constexpr double kAcceleratorFactor = 0.1;
// Between a device and the host; between two devices that share the host's memory, a tensor is
// only handed over.
constexpr LinkCost kCopy = {20000, 0.2};
constexpr LinkCost kHandOver = {1000, 0};
// Between tasks: a message takes some tens of microseconds at either end, and a network of
// 10 Gbit/s that long for a byte.
constexpr LinkCost kMessage = {100000, 0.8};
// A shorter transfer between tasks shows the time of a message rather than that of its bytes. The
// line through the times of two short ones would say nothing about long ones.
constexpr int64_t kShortestTransfer = int64_t{64} << 10;
// Sizes of tensors that are kept apart for a pair of devices.
constexpr size_t kMostSizes = 32;
// Below this part of the squared mean, sizes are too close to tell latency from bandwidth.
constexpr double kLeastVariance = 0.01;

}  // namespace

void RecentTimes::Add(double nanoseconds) { times_[count_++ % kKept] = nanoseconds; }

double RecentTimes::median() const {
  std::vector<double> sorted(times_, times_ + std::min<int64_t>(count_, kKept));
  std::sort(sorted.begin(), sorted.end());
  const size_t size = sorted.size();
  return (sorted[size / 2] + sorted[(size - 1) / 2]) / 2;
}

CostModel::CostModel(std::vector<DeviceTraits> devices)
    : devices_(std::move(devices)), speeds_(devices_.size()) {}

double CostModel::Estimate(const NodeWork& work) {
  if (work.is_nothing()) return 0;
  return kLaunchNanoseconds +
         std::max(work.operations / kOperationsPerNanosecond, work.bytes / kBytesPerNanosecond);
}

double CostModel::EstimatedFactor(int device) const {
  return devices_[device].is_accelerator ? kAcceleratorFactor : 1;
}

// What the device takes beside the estimate.
double CostModel::DeviceFactor(int device) const {
  if (speeds_[device].is_known()) return speeds_[device].factor();
  Speed same_type;
  Speed all;
  for (size_t d = 0; d < devices_.size(); ++d) {
    const Speed& speed = speeds_[d];
    all.measured += speed.measured / EstimatedFactor(static_cast<int>(d));
    all.estimated += speed.estimated;
    if (devices_[d].type != devices_[device].type) continue;
    same_type.measured += speed.measured;
    same_type.estimated += speed.estimated;
  }
  if (same_type.is_known()) return same_type.factor();
  return EstimatedFactor(device) * (all.is_known() ? all.factor() : 1);
}

const CostModel::Speed* CostModel::OpSpeed(const std::string& op, int device) const {
  auto found = ops_.find({op, device});
  return found == ops_.end() || !found->second.is_known() ? nullptr : &found->second;
}

// How much longer `device` takes for an op than `other`.
double CostModel::Ratio(const std::string& op, int device, int other) const {
  for (const std::string& of : {op, std::string()}) {
    auto found = pairs_.find({of, device, other});
    if (found != pairs_.end() && found->second.is_known()) {
      return found->second.here / found->second.there;
    }
  }
  return DeviceFactor(device) / DeviceFactor(other);
}

double CostModel::NodeTime(const Node* node, const NodeWork& work, int device) const {
  if (work.is_nothing()) return 0;
  absl::MutexLock lock(&mutex_);
  const std::string& op = node->op().name;
  auto found = nodes_.find(node);
  if (found != nodes_.end()) {
    const MeasuredNode& measured = found->second;
    if (!measured[device].times.empty()) return measured[device].times.median();
    for (int other = 0; other < num_devices(); ++other) {
      if (measured[other].times.empty()) continue;
      return measured[other].times.median() * Ratio(op, device, other);
    }
  }
  const Speed* const speed = OpSpeed(op, device);
  return Estimate(work) * (speed == nullptr ? DeviceFactor(device) : speed->factor());
}

bool CostModel::IsMeasured(const Node* node, int device) const {
  absl::MutexLock lock(&mutex_);
  auto found = nodes_.find(node);
  return found != nodes_.end() && !found->second[device].times.empty();
}

// Adds what the node took on `device` and on others, or takes it away (`sign` -1).
void CostModel::CountPairs(const Node* node, const MeasuredNode& measured, int device, int sign) {
  if (measured[device].times.empty()) return;
  const double here = measured[device].times.median();
  for (int other = 0; other < num_devices(); ++other) {
    if (other == device || measured[other].times.empty()) continue;
    const double there = measured[other].times.median();
    for (const std::string& op : {node->op().name, std::string()}) {
      Pair pair = pairs_[{op, device, other}];
      pair = {pair.nodes + sign, pair.here + sign * here, pair.there + sign * there};
      pairs_[{op, device, other}] = pair;
      pairs_[{op, other, device}] = {pair.nodes, pair.there, pair.here};
    }
  }
}

void CostModel::AddNodeTime(const Node* node, const NodeWork& work, int device,
                            double nanoseconds) {
  if (work.is_nothing()) return;
  absl::MutexLock lock(&mutex_);
  MeasuredNode& all = nodes_[node];
  all.resize(devices_.size());
  Measured& measured = all[device];
  CountPairs(node, all, device, -1);
  double longer = measured.times.empty() ? 0 : -measured.times.median();
  double more_work = -measured.estimate;
  measured.times.Add(nanoseconds);
  measured.estimate = Estimate(work);
  CountPairs(node, all, device, 1);
  longer += measured.times.median();
  more_work += measured.estimate;
  for (Speed* speed : {&ops_[{node->op().name, device}], &speeds_[device]}) {
    speed->measured += longer;
    speed->estimated += more_work;
  }
}

int CostModel::HostOf(int device) const {
  for (int d = 0; d < num_devices(); ++d) {
    if (!devices_[d].has_memory && AreOfOneTask(d, device)) return d;
  }
  return device;
}

bool CostModel::HasSeveralTasks() const {
  for (int d = 1; d < num_devices(); ++d) {
    if (!AreOfOneTask(0, d)) return true;
  }
  return false;
}

LinkCost CostModel::EstimatedLink(int from, int to) const {
  const int copies = devices_[from].has_memory + devices_[to].has_memory;
  if (copies == 0) return kHandOver;
  return {copies * kCopy.latency, copies * kCopy.per_byte};
}

// The line of least squares through the median of each size. Where all copies are of about one
// size, the estimated bandwidth is kept.
LinkCost CostModel::Fit(const std::map<int64_t, RecentTimes>& by_size, const LinkCost& estimate) {
  const double count = static_cast<double>(by_size.size());
  double bytes = 0;
  double time = 0;
  for (const auto& [size, times] : by_size) {
    bytes += static_cast<double>(size) / count;
    time += times.median() / count;
  }
  double covariance = 0;
  double variance = 0;
  for (const auto& [size, times] : by_size) {
    const double from_mean = static_cast<double>(size) - bytes;
    covariance += from_mean * (times.median() - time) / count;
    variance += from_mean * from_mean / count;
  }
  LinkCost fit = estimate;
  if (variance > kLeastVariance * bytes * bytes)
    fit.per_byte = std::max(0.0, covariance / variance);
  fit.latency = time - bytes * fit.per_byte;
  if (fit.latency < 0) fit = {0, time / bytes};
  return fit;
}

LinkCost CostModel::LinkInTask(int from, int to) const {
  if (from == to) return LinkCost();
  const LinkCost estimate = EstimatedLink(from, to);
  auto found = links_.find({from, to});
  if (found != links_.end()) return Fit(found->second, estimate);
  const int host = HostOf(from);
  auto to_host = links_.find({from, host});
  auto from_host = links_.find({host, to});
  if (to_host != links_.end() && from_host != links_.end()) {
    const LinkCost there = Fit(to_host->second, EstimatedLink(from, host));
    const LinkCost back = Fit(from_host->second, EstimatedLink(host, to));
    return {there.latency + back.latency, there.per_byte + back.per_byte};
  }
  LinkCost sum;
  int alike = 0;
  for (const auto& [pair, by_size] : links_) {
    if (!AreOfOneTask(pair.first, pair.second)) continue;
    if (devices_[pair.first].type != devices_[from].type) continue;
    if (devices_[pair.second].type != devices_[to].type) continue;
    const LinkCost fit = Fit(by_size, estimate);
    sum.latency += fit.latency;
    sum.per_byte += fit.per_byte;
    ++alike;
  }
  if (alike == 0) return estimate;
  return {sum.latency / alike, sum.per_byte / alike};
}

// REQUIRES: both are hosts of their tasks.
LinkCost CostModel::LinkBetweenTasks(int from, int to) const {
  for (const auto& pair : {std::make_pair(from, to), std::make_pair(to, from)}) {
    auto found = links_.find(pair);
    if (found != links_.end()) return Fit(found->second, kMessage);
  }
  LinkCost sum;
  int count = 0;
  for (const auto& [pair, by_size] : links_) {
    if (AreOfOneTask(pair.first, pair.second)) continue;
    const LinkCost fit = Fit(by_size, kMessage);
    sum.latency += fit.latency;
    sum.per_byte += fit.per_byte;
    ++count;
  }
  if (count == 0) return kMessage;
  return {sum.latency / count, sum.per_byte / count};
}

LinkCost CostModel::Link(int from, int to) const {
  absl::MutexLock lock(&mutex_);
  if (AreOfOneTask(from, to)) return LinkInTask(from, to);
  const int leaves = HostOf(from);
  const int arrives = HostOf(to);
  LinkCost sum = LinkBetweenTasks(leaves, arrives);
  for (const LinkCost& copy : {LinkInTask(from, leaves), LinkInTask(arrives, to)}) {
    sum.latency += copy.latency;
    sum.per_byte += copy.per_byte;
  }
  return sum;
}

bool CostModel::IsLinkMeasured(int from, int to) const {
  absl::MutexLock lock(&mutex_);
  return links_.count({HostOf(from), HostOf(to)}) > 0;
}

void CostModel::AddTransferTime(int from, int to, int64_t bytes, double nanoseconds) {
  if (!AreOfOneTask(from, to)) {
    from = HostOf(from);
    to = HostOf(to);
    if (bytes < kShortestTransfer) bytes = 0;
  }
  absl::MutexLock lock(&mutex_);
  std::map<int64_t, RecentTimes>& by_size = links_[{from, to}];
  // The sizes in the middle say least about the line.
  if (by_size.size() >= kMostSizes && by_size.count(bytes) == 0) {
    by_size.erase(std::next(by_size.begin(), kMostSizes / 2));
  }
  by_size[bytes].Add(nanoseconds);
}

}  // namespace millstream
