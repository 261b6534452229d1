// Descriptions of devices. Placement and partition use only these, so that they also work for
// devices of other tasks.
#ifndef MILLSTREAM_CORE_DEVICE_DEVICE_SET_H_
#define MILLSTREAM_CORE_DEVICE_DEVICE_SET_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "core/device/device_name.h"
#include "core/device/device_traits.h"

namespace millstream {

struct DeviceDescription {
  // REQUIRES: `full_name` has all parts, as "/job:worker/replica:0/task:1/device:CPU:0" has.
  DeviceDescription(std::string full_name, DeviceTraits device_traits);

  const std::string& type() const { return *parsed_name.type; }

  std::string name;
  DeviceName parsed_name;
  DeviceTraits traits;
  int64_t memory_limit = 0;  // bytes that the device may use; 0: not known
  // A positive number that differs each time the device is created. It distinguishes devices of the
  // same name before and after a restart of their task. 0: not known.
  int64_t incarnation = 0;
};

// Devices by number. Devices of several tasks may be in one set.
class DeviceSet {
 public:
  int size() const { return static_cast<int>(devices_.size()); }
  const DeviceDescription& operator[](int i) const { return devices_[i]; }
  std::vector<DeviceDescription>::const_iterator begin() const { return devices_.begin(); }
  std::vector<DeviceDescription>::const_iterator end() const { return devices_.end(); }
  // The number of the device with this name; -1 if there is none.
  int Find(absl::string_view name) const;
  // True if a tensor can be copied from device `from` to device `to` without host memory.
  bool ArePeers(int from, int to) const { return peers_.contains({from, to}); }
  // The names, for messages: "A, B".
  std::string Names() const;

  // REQUIRES: no device in the set has the name.
  void Add(DeviceDescription device);
  // REQUIRES: both devices are in the set.
  void AddPeers(int from, int to) { peers_.insert({from, to}); }
  // Adds the devices of another set after those of this one. REQUIRES: no name is in both.
  void Append(const DeviceSet& other);
  // The devices that are wanted, in their order, and the peers among them.
  DeviceSet Select(absl::FunctionRef<bool(const DeviceDescription& device)> is_wanted) const;

 private:
  std::vector<DeviceDescription> devices_;
  absl::flat_hash_set<std::pair<int, int>> peers_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_SET_H_
