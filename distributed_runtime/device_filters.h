// The devices of a cluster that a session uses.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_DEVICE_FILTERS_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_DEVICE_FILTERS_H_

#include <string>
#include <vector>

#include "core/device/device_name.h"
#include "core/device/device_set.h"
#include "framework/status.h"

namespace millstream {

// The `device_filters` of a ConfigProto: "/job:ps", "/job:worker/task:1/device:CPU:0". Without any,
// everything fits. Thread-safe.
class DeviceFilters {
 public:
  // `config` is a serialized ConfigProto. INVALID_ARGUMENT for a filter that is no device name.
  static StatusOr<DeviceFilters> Of(const std::string& config);

  // Whether a device of the task may fit. `task` is a name: "/job:worker/replica:0/task:1".
  StatusOr<bool> FitsTask(const std::string& task) const;
  // Those of the devices that fit.
  DeviceSet Select(const DeviceSet& devices) const;

 private:
  std::vector<DeviceName> filters_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_DEVICE_FILTERS_H_
