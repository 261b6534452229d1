// The loader's devices: enumeration, logical devices, and shutdown.
#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "framework/plugin/device_check.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/loader_attempt.h"
#include "framework/plugin/plugin_check.h"
#include "framework/plugin/plugin_limits.h"
#include "framework/plugin/plugin_text.h"

namespace millstream {
namespace {

// Most plugins have fewer devices; one that has more is asked twice.
constexpr uint64_t kUsualDeviceCount = 16;

// Asks for the descriptions, with room for `*count`; says how many there are.
Status AskFor(const LoadedPlugin& plugin, std::vector<const MS_DeviceDesc*>* devices,
              uint64_t* count, std::string* reason) {
  devices->assign(*count, nullptr);
  MS_Str text = {nullptr, 0};
  MS_RETURN_IF_ERROR(
      TakeAbiStatus(plugin.devices->enumerate(plugin.abi, devices->data(), count, &text)));
  MS_RETURN_IF_ERROR(CheckText(text, "the reason of ms.devices/1.enumerate"));
  *reason = std::string(FromAbi(text));
  return CheckCount(*count, kMostDevices, "ms.devices/1.enumerate");
}

// Those that this host can take. Appends why each of the others is left out to *skipped.
StatusOr<std::vector<const MS_DeviceDesc*>> Enumerate(const LoadedPlugin& plugin,
                                                      std::string* reason,
                                                      std::vector<std::string>* skipped) {
  std::vector<const MS_DeviceDesc*> devices;
  uint64_t count = kUsualDeviceCount;
  MS_RETURN_IF_ERROR(AskFor(plugin, &devices, &count, reason));
  if (count > devices.size()) {
    const uint64_t first = count;
    MS_RETURN_IF_ERROR(AskFor(plugin, &devices, &count, reason));
    if (count > first) {
      return errors::InvalidArgument("ms.devices/1.enumerate told of ", first,
                                     " devices, and asked for these of ", count);
    }
  }
  devices.resize(count);
  std::vector<const MS_DeviceDesc*> taken;
  for (uint64_t i = 0; i < count; ++i) {
    const Status checked =
        WithContext(CheckDeviceDescription(devices[i]), absl::StrCat("device ", i));
    if (absl::IsUnimplemented(checked)) {
      skipped->emplace_back(checked.message());
      *reason = std::string(checked.message());
      continue;
    }
    MS_RETURN_IF_ERROR(checked);
    taken.push_back(devices[i]);
  }
  return taken;
}

bool IsOpen(const MS_DeviceDesc& device) { return (device.flags & MS_DEVICE_OPEN) != 0; }

// As the runtime writes it.
std::string TypeOf(const MS_DeviceDesc& device) {
  return absl::AsciiStrToUpper(FromAbi(device.device_type));
}

// Kernels are found by the type of a device alone: two plugins have devices of one type only where
// each lets the other's kernels run on them.
Status CheckTypesAreFree(const std::vector<const MS_DeviceDesc*>& devices,
                         const PluginRecord& other) {
  for (const MS_DeviceDesc* device : devices) {
    for (const MS_DeviceDesc* present : other.devices) {
      if (TypeOf(*device) != TypeOf(*present)) continue;
      if (IsOpen(*device) && IsOpen(*present)) continue;
      return errors::AlreadyExists("device type ", TypeOf(*device), " is that of plugin ",
                                   other.path, ", and not both are MS_DEVICE_OPEN");
    }
  }
  return absl::OkStatus();
}

}  // namespace

// Asks a plugin for its devices, and writes down what came.
void PluginLoader::EnumerateInto(Attempt* attempt) {
  attempt->enumerated = true;
  PluginRecord& record = attempt->record;
  const LoadedPlugin& plugin = *attempt->plugin;
  std::string reason;
  StatusOr<std::vector<const MS_DeviceDesc*>> devices = Enumerate(plugin, &reason, &record.skipped);
  Status status = devices.status();
  if (devices.ok() && devices->empty()) status = errors::NotFound("found no device: ", reason);
  for (const auto& other : attempts_) {
    if (!status.ok()) break;
    status = CheckTypesAreFree(*devices, other->record);
  }
  if (!status.ok()) {
    record.state = PluginState::kReadyNoDevice;
    record.stage = LoadStage::kEnumerate;
    record.status = NamePlugin(status, plugin.path);
    return;
  }
  record.devices = *std::move(devices);
  for (const MS_DeviceDesc* device : record.devices) {
    if (IsOpen(*device)) continue;
    const std::string type = TypeOf(*device);
    const std::string shut_out = kernels_->CloseDeviceType(type, plugin.name);
    if (shut_out.empty()) continue;
    HostLog(MS_LOG_WARNING,
            absl::StrCat("devices of type ", type, " are those of plugin ", plugin.name,
                         ", which are not MS_DEVICE_OPEN: not used are ", shut_out));
  }
}

std::vector<PluginDevice> PluginLoader::Devices() {
  absl::MutexLock lock(&mutex_);
  std::vector<PluginDevice> result;
  for (const auto& attempt : attempts_) {
    const LoadedPlugin* const plugin = attempt->plugin.get();
    if (shut_down_ || plugin == nullptr || plugin->devices == nullptr) continue;
    if (!attempt->enumerated) EnumerateInto(attempt.get());
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
