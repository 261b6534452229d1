#include "distributed_runtime/device_filters.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "framework/message.h"
#include "millstream/framework/protos/config.pb.h"

namespace millstream {

StatusOr<DeviceFilters> DeviceFilters::Of(const std::string& config) {
  MS_ASSIGN_OR_RETURN(const MessagePtr message, ParseBinary("ConfigProto", config));
  DeviceFilters filters;
  for (const std::string& text :
       static_cast<const proto::ConfigProto&>(*message).device_filters()) {
    MS_ASSIGN_OR_RETURN(DeviceName filter, DeviceName::Parse(text));
    filters.filters_.push_back(std::move(filter));
  }
  return filters;
}

StatusOr<bool> DeviceFilters::FitsTask(const std::string& task) const {
  if (filters_.empty()) return true;
  MS_ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(task));
  return absl::c_any_of(filters_, [&name](DeviceName filter) {
    filter.type.reset();
    filter.index.reset();
    return filter.Fits(name);
  });
}

DeviceSet DeviceFilters::Select(const DeviceSet& devices) const {
  if (filters_.empty()) return devices;
  return devices.Select([this](const DeviceDescription& device) {
    return absl::c_any_of(
        filters_, [&device](const DeviceName& filter) { return filter.Fits(device.parsed_name); });
  });
}

}  // namespace millstream
