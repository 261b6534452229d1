// The loader's devices: enumeration, logical devices, and shutdown.
#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/loader_attempt.h"
#include "framework/plugin/plugin_check.h"

namespace millstream {
namespace {

// What the first release of MS_DeviceDesc had.
constexpr uint32_t kDeviceDescSize =
    offsetof(MS_DeviceDesc, n_spaces) + sizeof(MS_DeviceDesc::n_spaces);
// Most plugins have fewer devices; one that has more is asked twice.
constexpr uint64_t kUsualDeviceCount = 16;

StatusOr<std::vector<const MS_DeviceDesc*>> Enumerate(const LoadedPlugin& plugin,
                                                      std::string* reason) {
  std::vector<const MS_DeviceDesc*> devices(kUsualDeviceCount, nullptr);
  uint64_t count = devices.size();
  while (true) {
    const uint64_t capacity = count;
    MS_Str text = {nullptr, 0};
    MS_RETURN_IF_ERROR(
        TakeAbiStatus(plugin.devices->enumerate(plugin.abi, devices.data(), &count, &text)));
    *reason = std::string(FromAbi(text));
    if (count <= capacity) break;
    devices.resize(count);
  }
  devices.resize(count);
  for (const MS_DeviceDesc* device : devices) {
    if (device == nullptr || device->head.size < kDeviceDescSize || device->device_type.size == 0) {
      return errors::InvalidArgument("gave a device description that is null, shorter than ",
                                     kDeviceDescSize, " bytes or without a type");
    }
  }
  return devices;
}

// Asks for the devices of a plugin that has some, and writes down what came.
void EnumerateInto(const LoadedPlugin& plugin, PluginRecord* record) {
  std::string reason;
  StatusOr<std::vector<const MS_DeviceDesc*>> devices = Enumerate(plugin, &reason);
  if (devices.ok()) record->devices = *devices;
  if (!record->devices.empty()) return;
  record->state = PluginState::kReadyNoDevice;
  record->stage = LoadStage::kEnumerate;
  record->status = NamePlugin(
      devices.ok() ? errors::NotFound("found no device: ", reason) : devices.status(), plugin.path);
}

}  // namespace

std::vector<PluginDevice> PluginLoader::Devices() {
  absl::MutexLock lock(&mutex_);
  std::vector<PluginDevice> result;
  for (const auto& attempt : attempts_) {
    const LoadedPlugin* const plugin = attempt->plugin.get();
    if (shut_down_ || plugin == nullptr || plugin->devices == nullptr) continue;
    if (!attempt->enumerated) EnumerateInto(*plugin, &attempt->record);
    attempt->enumerated = true;
    for (const MS_DeviceDesc* device : attempt->record.devices) result.push_back({plugin, device});
  }
  return result;
}

std::vector<PluginDevice> PluginLoader::DevicesOf(absl::string_view type) {
  std::vector<PluginDevice> devices;
  absl::c_copy_if(Devices(), std::back_inserter(devices),
                  [type](const PluginDevice& device) { return device.type() == type; });
  return devices;
}

StatusOr<OpenDevice> PluginLoader::CreateDevice(const PluginDevice& device,
                                                const PluginOptions& options) {
  const std::vector<MS_KV> pairs = ToAbi(options);
  const LoadedPlugin& plugin = *device.plugin;
  OpenDevice open;
  open.plugin = &plugin;
  const Status created = TakeAbiStatus(plugin.devices->device_create(
      plugin.abi, device.description->ordinal, pairs.data(), pairs.size(), &open.device));
  MS_RETURN_IF_ERROR(NamePlugin(created, plugin.path));
  if (open.device == nullptr) {
    return errors::InvalidArgument("plugin ", plugin.path, ": device_create gave no device");
  }
  ++plugin.open_devices;
  open.functions = plugin.devices->fns(open.device);
  const Status status = NamePlugin(CheckDeviceTable(open.functions), plugin.path);
  if (status.ok()) return open;
  DestroyDevice(open);
  return status;
}

void PluginLoader::RecordDeviceError(const PluginDevice& device, const Status& error) {
  std::string text = absl::StrCat("plugin ", device.plugin->name, ", device ", device.type(), ":",
                                  device.description->ordinal, ": ", error.message());
  absl::MutexLock lock(&mutex_);
  if (absl::c_linear_search(device_errors_, text)) return;
  HostLog(MS_LOG_WARNING, absl::StrCat("a device is left out. ", text));
  device_errors_.push_back(std::move(text));
}

void PluginLoader::DestroyDevice(const OpenDevice& device) {
  device.plugin->devices->device_destroy(device.device);
  --device.plugin->open_devices;
}

Status PluginLoader::Shutdown() {
  absl::MutexLock lock(&mutex_);
  for (const auto& attempt : attempts_) {
    if (attempt->plugin == nullptr || attempt->plugin->open_devices == 0) continue;
    return errors::FailedPrecondition(
        "plugin ", attempt->plugin->path, " has ", attempt->plugin->open_devices.load(),
        " open devices: plugins are shut down when no session is left");
  }
  if (shut_down_) return absl::OkStatus();
  shut_down_ = true;
  for (auto attempt = attempts_.rbegin(); attempt != attempts_.rend(); ++attempt) {
    const LoadedPlugin* const plugin = (*attempt)->plugin.get();
    if (plugin != nullptr) plugin->abi->shutdown(plugin->abi);
  }
  return absl::OkStatus();
}

}  // namespace millstream
