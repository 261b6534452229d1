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
  DeviceSet selected;
  std::vector<int> numbers(devices.size(), -1);
  for (int i = 0; i < devices.size(); ++i) {
    const bool fits = absl::c_any_of(
        filters_, [&](const DeviceName& filter) { return filter.Fits(devices[i].parsed_name); });
    if (!fits) continue;
    numbers[i] = selected.size();
    selected.Add(devices[i]);
  }
  for (int from = 0; from < devices.size(); ++from) {
    for (int to = 0; to < devices.size(); ++to) {
      if (numbers[from] < 0 || numbers[to] < 0 || !devices.ArePeers(from, to)) continue;
      selected.AddPeers(numbers[from], numbers[to]);
    }
  }
  return selected;
}

}  // namespace millstream
