#include "framework/plugin/check/checked_plugin.h"

#include <dlfcn.h>

#include <utility>

#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/op_specs.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/option_check.h"
#include "framework/plugin/option_values.h"
#include "framework/plugin/plugin_check.h"

namespace millstream::plugin_check {

StatusOr<const MS_Plugin*> EnterPlugin(const PluginFile& file, const MS_HostBase* host) {
  void* const library = dlopen(file.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return errors::NotFound("it cannot be opened: ", dlerror());
  const auto entry = reinterpret_cast<MS_PluginEntry>(dlsym(library, MS_PLUGIN_ENTRY_NAME));
  if (entry == nullptr) {
    return errors::InvalidArgument("it does not export ", MS_PLUGIN_ENTRY_NAME);
  }
  const MS_Plugin* plugin = nullptr;
  MS_RETURN_IF_ERROR(Take(entry(host, &plugin)));
  MS_RETURN_IF_ERROR(CheckPlugin(plugin, file));
  return plugin;
}

Status InitPlugin(const MS_Plugin* plugin, const PluginOptions& options) {
  PluginOptions all;
  MS_RETURN_IF_ERROR(CheckOptions(plugin, options, &all));
  SetOptionValues(std::string(FromAbi(plugin->name)), all);
  std::vector<MS_KV> pairs;
  for (const auto& [name, value] : options) pairs.push_back({ToAbi(name), ToAbi(value)});
  return Take(plugin->init(plugin, pairs.data(), pairs.size()));
}

MS_Registrar RegistrarOf(const PluginFile& file, const MS_Plugin* plugin) {
  return MS_Registrar(file.name(), file.family(), std::string(FromAbi(plugin->vendor)),
                      &KnownOps());
}

Status RegisterPlugin(const MS_Plugin* plugin, MS_Registrar* registrar) {
  MS_RETURN_IF_ERROR(Take(plugin->register_all(plugin, registrar)));
  return registrar->first_error;
}

StatusOr<std::vector<const MS_DeviceDesc*>> EnumerateDevices(const MS_Plugin* plugin,
                                                             const MS_DevicesApi* devices,
                                                             std::string* reason) {
  uint64_t count = 0;
  MS_Str text = {};
  MS_RETURN_IF_ERROR(Take(devices->enumerate(plugin, nullptr, &count, &text)));
  std::vector<const MS_DeviceDesc*> found(count);
  if (reason != nullptr) *reason = std::string(FromAbi(text));
  if (count == 0) return found;
  MS_RETURN_IF_ERROR(Take(devices->enumerate(plugin, found.data(), &count, &text)));
  if (count != found.size()) {
    return errors::Internal("enumerate found ", found.size(), " devices, and then ", count);
  }
  for (const MS_DeviceDesc* description : found) {
    if (description == nullptr) return errors::Internal("enumerate left a description null");
  }
  return found;
}

StatusOr<std::unique_ptr<CheckedPlugin>> LoadChecked(const std::string& path,
                                                     const PluginOptions& options) {
  auto plugin = std::make_unique<CheckedPlugin>();
  MS_ASSIGN_OR_RETURN(plugin->file, ReadPluginFile(path));
  MS_RETURN_IF_ERROR(CheckCompatible(plugin->file));
  MS_ASSIGN_OR_RETURN(plugin->abi, EnterPlugin(plugin->file, CheckHost()));
  MS_RETURN_IF_ERROR(CheckMandatoryFunctions(plugin->abi));
  MS_RETURN_IF_ERROR(InitPlugin(plugin->abi, options));
  MS_Registrar registrar = RegistrarOf(plugin->file, plugin->abi);
  MS_RETURN_IF_ERROR(RegisterPlugin(plugin->abi, &registrar));
  plugin->kernels = registrar.kernels;
  MS_RETURN_IF_ERROR(CommitRegistrations(&registrar, &KnownOps(), &plugin->registry, nullptr));
  plugin->devices = reinterpret_cast<const MS_DevicesApi*>(
      plugin->abi->get_interface(plugin->abi, MS_DEVICES_API));
  if (plugin->devices != nullptr) {
    MS_ASSIGN_OR_RETURN(plugin->descriptions,
                        EnumerateDevices(plugin->abi, plugin->devices, nullptr));
  }
  return plugin;
}

StatusOr<std::unique_ptr<CheckedDevice>> CheckedDevice::Create(const CheckedPlugin& plugin,
                                                               uint32_t ordinal) {
  std::unique_ptr<CheckedDevice> created(new CheckedDevice);
  created->devices_ = plugin.devices;
  for (const MS_DeviceDesc* description : plugin.descriptions) {
    if (description->ordinal == ordinal) created->description_ = description;
  }
  if (created->description_ == nullptr) return errors::NotFound("no device ", ordinal);
  MS_RETURN_IF_ERROR(
      Take(plugin.devices->device_create(plugin.abi, ordinal, nullptr, 0, &created->device_)));
  if (created->device_ == nullptr) return errors::Internal("device_create gave no device");
  created->functions_ = plugin.devices->fns(created->device_);
  MS_RETURN_IF_ERROR(CheckDeviceTable(created->functions_));
  MS_RETURN_IF_ERROR(Take(created->functions_->stream_create(created->device_, MS_STREAM_COMPUTE, 0,
                                                             &created->stream_)));
  return created;
}

CheckedDevice::~CheckedDevice() {
  if (stream_ != nullptr) functions_->stream_destroy(stream_);
  if (device_ != nullptr) devices_->device_destroy(device_);
}

Place CheckedDevice::place() const {
  if ((description_->flags & MS_DEVICE_HOST_IS_DEVICE) != 0) return Place();
  Place place = {device_, functions_, stream_};
  place.ordinal = description_->ordinal;
  place.dlpack_device_type = static_cast<int32_t>(description_->dlpack_device_type);
  for (uint64_t i = 0; i < description_->n_spaces; ++i) {
    const MS_SpaceDesc& space = *description_->spaces[i];
    if (space.space == MS_SPACE_HOST_PINNED) place.has_pinned = true;
    const bool is_opaque = (space.flags & MS_SPACE_LINEAR) == 0;
    if (space.space == MS_SPACE_DEVICE && is_opaque) place.dlpack_device_type = 0;
  }
  return place;
}

}  // namespace millstream::plugin_check
