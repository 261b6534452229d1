#include "distributed_runtime/device_coding.h"

#include <utility>

namespace millstream {

void EncodeDevices(const DeviceSet& devices, DeviceRecords* records) {
  for (int i = 0; i < devices.size(); ++i) {
    const DeviceDescription& device = devices[i];
    proto::DeviceRecord* const record = records->Add();
    record->set_name(device.name);
    record->set_host_memory(device.traits.host_memory);
    record->set_runs_on_callers_thread(device.traits.runs_on_callers_thread);
    record->set_is_default(device.traits.is_default);
    record->set_memory_limit(device.memory_limit);
    record->set_incarnation(device.incarnation);
    for (int to = 0; to < devices.size(); ++to) {
      if (devices.ArePeers(i, to)) record->add_peers(to);
    }
  }
}

StatusOr<DeviceSet> DecodeDevices(const DeviceRecords& records) {
  DeviceSet devices;
  for (const proto::DeviceRecord& record : records) {
    MS_ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(record.name()));
    if (!name.job || !name.replica || !name.task || !name.type || !name.index ||
        devices.Find(record.name()) >= 0) {
      return errors::InvalidArgument("'", record.name(), "' is no full name of another device");
    }
    DeviceTraits traits;
    traits.host_memory = record.host_memory();
    traits.runs_on_callers_thread = record.runs_on_callers_thread();
    traits.is_default = record.is_default();
    DeviceDescription device(record.name(), traits);
    device.memory_limit = record.memory_limit();
    device.incarnation = record.incarnation();
    devices.Add(std::move(device));
  }
  for (int from = 0; from < records.size(); ++from) {
    for (const int to : records[from].peers()) {
      if (to < 0 || to >= devices.size()) {
        return errors::InvalidArgument("device ", to, " does not exist");
      }
      devices.AddPeers(from, to);
    }
  }
  return devices;
}

}  // namespace millstream
