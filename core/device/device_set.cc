#include "core/device/device_set.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace millstream {

DeviceDescription::DeviceDescription(std::string full_name, DeviceTraits device_traits)
    : name(std::move(full_name)), parsed_name(*DeviceName::Parse(name)), traits(device_traits) {}

int DeviceSet::Find(absl::string_view name) const {
  const auto found = std::find_if(devices_.begin(), devices_.end(),
                                  [&](const DeviceDescription& d) { return d.name == name; });
  return found == devices_.end() ? -1 : static_cast<int>(found - devices_.begin());
}

std::string DeviceSet::Names() const {
  return absl::StrJoin(devices_, ", ", [](std::string* text, const DeviceDescription& device) {
    text->append(device.name);
  });
}

void DeviceSet::Add(DeviceDescription device) { devices_.push_back(std::move(device)); }

void DeviceSet::Append(const DeviceSet& other) {
  const int before = size();
  devices_.insert(devices_.end(), other.devices_.begin(), other.devices_.end());
  for (const auto& [from, to] : other.peers_) AddPeers(from + before, to + before);
}

DeviceSet DeviceSet::Select(
    absl::FunctionRef<bool(const DeviceDescription& device)> is_wanted) const {
  DeviceSet selected;
  std::vector<int> numbers;  // in `selected`; -1: not wanted
  for (const DeviceDescription& device : devices_) {
    const bool wanted = is_wanted(device);
    numbers.push_back(wanted ? selected.size() : -1);
    if (wanted) selected.Add(device);
  }
  for (const auto& [from, to] : peers_) {
    if (numbers[from] >= 0 && numbers[to] >= 0) selected.AddPeers(numbers[from], numbers[to]);
  }
  return selected;
}

}  // namespace millstream
