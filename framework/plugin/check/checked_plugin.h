// A plugin that was loaded to be checked, or to be compared with.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECKED_PLUGIN_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECKED_PLUGIN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "framework/plugin/check/memory_block.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/plugin/plugin.h"
#include "framework/plugin/plugin_options.h"
#include "framework/plugin/preflight.h"
#include "framework/plugin/registrar.h"
#include "framework/status.h"

namespace millstream::plugin_check {

struct CheckedPlugin {
  PluginFile file;
  const MS_Plugin* abi = nullptr;
  const MS_DevicesApi* devices = nullptr;  // null: it has none
  std::vector<const MS_DeviceDesc*> descriptions;
  std::vector<KernelRegistration> kernels;
  KernelRegistry registry;  // the same kernels, to look them up
};

// The stages of loading, one by one, each with the error of the one that failed.
StatusOr<const MS_Plugin*> EnterPlugin(const PluginFile& file, const MS_HostBase* host);
// Refuses, as hosts do, what the plugin's schema does not allow, before it calls init.
// REQUIRES: CheckMandatoryFunctions passed.
Status InitPlugin(const MS_Plugin* plugin, const PluginOptions& options);
// A registrar for the plugin's register_all.
MS_Registrar RegistrarOf(const PluginFile& file, const MS_Plugin* plugin);
// Calls register_all, and gives its error or that of the first registration that failed.
Status RegisterPlugin(const MS_Plugin* plugin, MS_Registrar* registrar);
// Descriptions live for ever. `reason` may be null.
StatusOr<std::vector<const MS_DeviceDesc*>> EnumerateDevices(const MS_Plugin* plugin,
                                                             const MS_DevicesApi* devices,
                                                             std::string* reason);

// All of them, and adds the plugin's ops to KnownOps. Ties between kernels are left to the rule
// about them.
StatusOr<std::unique_ptr<CheckedPlugin>> LoadChecked(const std::string& path,
                                                     const PluginOptions& options);

// A created device with a compute stream; gives them back when it goes.
class CheckedDevice {
 public:
  static StatusOr<std::unique_ptr<CheckedDevice>> Create(const CheckedPlugin& plugin,
                                                         uint32_t ordinal);
  CheckedDevice(const CheckedDevice&) = delete;
  CheckedDevice& operator=(const CheckedDevice&) = delete;
  ~CheckedDevice();

  const MS_DeviceDesc& description() const { return *description_; }
  const MS_DeviceApi& functions() const { return *functions_; }
  MS_Device* device() const { return device_; }
  MS_Stream* stream() const { return stream_; }
  // Where its tensors lie.
  Place place() const;

 private:
  CheckedDevice() = default;

  const MS_DevicesApi* devices_ = nullptr;
  const MS_DeviceDesc* description_ = nullptr;
  const MS_DeviceApi* functions_ = nullptr;
  MS_Device* device_ = nullptr;
  MS_Stream* stream_ = nullptr;
};

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECKED_PLUGIN_H_
