// Finds, checks, opens and registers plugins.
//
// The steps: read the file without running it, choose one file of each family, dlopen, call the
// entry point, check what it gave, init, register_all into a private transaction, commit. Whatever
// fails leaves the kernel registry as it was. A plugin that was opened stays mapped for ever.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_LOADER_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_LOADER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "framework/op_registry.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/plugin/plugin.h"
#include "framework/plugin/preflight.h"
#include "framework/status.h"

namespace millstream {

enum class PluginState {
  kShadowed,  // another file of its family was chosen
  kRejected,  // none of its code ran
  kFailed,    // some of its code ran, or could not be opened
  kReady,
  kReadyNoDevice,  // its kernels can be used, but it found no device
};
absl::string_view PluginStateName(PluginState state);  // "READY"

// How far a plugin came.
enum class LoadStage {
  kFind,
  kPreflight,
  kChoose,
  kOpen,
  kEntry,
  kValidate,
  kInit,
  kRegister,
  kEnumerate,
  kDone,
};
absl::string_view LoadStageName(LoadStage stage);  // "preflight"

// What became of one file.
struct PluginRecord {
  std::string path;
  std::string name;  // of its note; empty when there was none to read
  PluginState state = PluginState::kRejected;
  LoadStage stage = LoadStage::kFind;  // the one that failed; kDone when none did
  Status status;                       // why; OK when it is ready
};

// A plugin that is ready. Lives for ever.
struct LoadedPlugin {
  std::string path;
  std::string name;
  std::string vendor;
  std::string version;
  const MS_Plugin* abi = nullptr;
  const MS_DevicesApi* devices = nullptr;  // null: it has none
  size_t num_kernels = 0;
};

// A device that a plugin found.
struct PluginDevice {
  const LoadedPlugin* plugin = nullptr;
  const MS_DeviceDesc* description = nullptr;

  absl::string_view type() const {
    return absl::string_view(description->device_type.data, description->device_type.size);
  }
};

// A created device and its functions. The creator gives it back by plugin->devices->device_destroy.
struct OpenDevice {
  const LoadedPlugin* plugin = nullptr;
  MS_Device* device = nullptr;
  const MS_DeviceApi* functions = nullptr;
};

// Thread-safe; one plugin is loaded at a time.
class PluginLoader {
 public:
  // Registers into the global registries.
  static PluginLoader* Global();
  PluginLoader(KernelRegistry* kernels, const OpRegistry* ops);
  ~PluginLoader();
  PluginLoader(const PluginLoader&) = delete;
  PluginLoader& operator=(const PluginLoader&) = delete;

  // Loads one file. Loading the same file again, by whatever name, gives the same plugin, or, when
  // its code failed, the same error. ALREADY_EXISTS when another file of its family is loaded.
  StatusOr<const LoadedPlugin*> Load(const std::string& path) ABSL_LOCKS_EXCLUDED(mutex_);

  // Loads what is installed (search_path.h), the first time it is called: of each family the file
  // of the highest rank that this machine can run and that loads. One file that fails stops no
  // other: Records() tells, and a warning. An error only for an entry of the user's path that
  // cannot be read.
  Status LoadInstalled() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for the given files and folders, each time it is called.
  Status LoadFrom(const std::vector<std::string>& entries) ABSL_LOCKS_EXCLUDED(mutex_);

  // Every file that was looked at, and every entry that could not be read, in that order.
  std::vector<PluginRecord> Records() const ABSL_LOCKS_EXCLUDED(mutex_);
  // One line for each file that is not ready, for the error of whoever misses a device; empty when
  // there is none.
  std::string FailureReasons() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<const LoadedPlugin*> Plugins() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The devices of all loaded plugins. A plugin is asked once, the first time.
  std::vector<PluginDevice> Devices() ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<PluginDevice> DevicesOf(absl::string_view type) ABSL_LOCKS_EXCLUDED(mutex_);
  // Creates a logical device; several may be made of one description. The plugin's error, or
  // UNIMPLEMENTED naming a function that the device lacks.
  static StatusOr<OpenDevice> CreateDevice(const PluginDevice& device);

 private:
  struct Attempt;

  Attempt* AttemptOf(const PluginFile& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Attempt* NewAttempt(std::string path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RecordUnreadable(const std::string& path, const Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Shadow(const PluginFile& file, const Status& reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<const LoadedPlugin*> LoadFile(const PluginFile& file)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckFree(const PluginFile& file, Attempt* attempt) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Open(const PluginFile& file, Attempt* attempt, LoadedPlugin* plugin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Register(Attempt* attempt, LoadedPlugin* plugin) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LoadBestOf(std::vector<PluginFile> family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status LoadEntries(const std::vector<std::string>& entries, bool all_must_exist)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  KernelRegistry* const kernels_;
  const OpRegistry* const ops_;
  mutable absl::Mutex mutex_;
  std::vector<std::unique_ptr<Attempt>> attempts_ ABSL_GUARDED_BY(mutex_);
  bool installed_loaded_ ABSL_GUARDED_BY(mutex_) = false;
  Status installed_status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_LOADER_H_
