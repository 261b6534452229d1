// Finds, checks, opens and registers plugins.
//
// The steps are: find files (search_path.h); read each without running it; choose one file of each
// family; try it in a separate process unless it was installed with Millstream (probe.h); dlopen;
// call the entry point; check its result and the options; init; register_all into a private
// transaction; commit. After an error the registries of ops and kernels have not changed. A plugin
// that was opened stays mapped until the process ends. None of its code runs at the end of the
// process unless Shutdown is called.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_LOADER_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_LOADER_H_

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "framework/op_registry.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/plugin/plugin.h"
#include "framework/plugin/plugin_options.h"
#include "framework/plugin/preflight.h"
#include "framework/plugin/search_path.h"
#include "framework/status.h"

namespace millstream {

enum class PluginState {
  kFound,     // the file was read, and nothing else was done yet
  kShadowed,  // another file of its family was chosen, or this machine cannot run it
  kDisabled,  // the user's list of plugins leaves it out
  kRejected,  // none of its code ran in this process
  kFailed,    // some of its code ran, or it could not be opened
  kReady,
  kReadyNoDevice,  // its kernels can be used, but it found no device
};
absl::string_view PluginStateName(PluginState state);  // "READY"

// The stages of loading a plugin.
enum class LoadStage {
  kFind,
  kPreflight,
  kChoose,
  kProbe,
  kOpen,
  kEntry,
  kValidate,
  kInit,
  kRegister,
  kEnumerate,
  kDone,
};
absl::string_view LoadStageName(LoadStage stage);  // "preflight"

// The result for one file, or for one entry of the search path without a file.
struct PluginRecord {
  std::string path;
  PluginOrigin origin = PluginOrigin::kExplicit;
  std::string name;             // from its note; empty without a note
  std::string family;           // from its note; empty without a note
  std::optional<MS_Note> note;  // versions, instruction sets, rank
  std::string vendor;           // vendor and version are set after the entry point was called
  std::string version;
  PluginState state = PluginState::kFound;
  LoadStage stage = LoadStage::kFind;         // the stage that failed; kDone if none did
  Status status;                              // the reason; OK if the plugin is ready
  size_t num_kernels = 0;                     // those that can be used
  size_t num_kernels_skipped = 0;             // those that this host cannot take
  std::vector<std::string> skipped;           // why each kernel, op and gradient was skipped
  std::vector<std::string> ties;              // of kernels, and which of two serves
  std::vector<std::string> ops;               // in the order of registration
  std::vector<const MS_DeviceDesc*> devices;  // set after the devices were enumerated
};

// A plugin that is ready. Never destroyed.
struct LoadedPlugin {
  std::string path;
  std::string name;
  std::string vendor;
  std::string version;
  const MS_Plugin* abi = nullptr;
  const MS_OptionsApi* options = nullptr;    // null: it does not describe its options
  const MS_DevicesApi* devices = nullptr;    // null: it has no devices
  const MS_ProfilerApi* profiler = nullptr;  // null: it has no profiler
  const MS_CaptureApi* capture = nullptr;    // null: its devices record nothing
  size_t num_kernels = 0;
  std::vector<std::string> ops;              // in the order of registration
  mutable std::atomic<int> open_devices{0};  // created and not yet destroyed
};

// A device that a plugin found.
struct PluginDevice {
  const LoadedPlugin* plugin = nullptr;
  const MS_DeviceDesc* description = nullptr;

  absl::string_view type() const {
    return absl::string_view(description->device_type.data, description->device_type.size);
  }
};

// A created device and its functions.
struct OpenDevice {
  const LoadedPlugin* plugin = nullptr;
  MS_Device* device = nullptr;
  const MS_DeviceApi* functions = nullptr;
};

// Thread-safe; one plugin is loaded at a time.
class PluginLoader {
 public:
  // The loader of the process. It uses the global registries, and reads its options from the
  // environment when they are first needed.
  static PluginLoader* Global();
  PluginLoader(KernelRegistry* kernels, OpRegistry* ops);
  PluginLoader(KernelRegistry* kernels, OpRegistry* ops, PluginLoaderOptions options);
  ~PluginLoader();
  PluginLoader(const PluginLoader&) = delete;
  PluginLoader& operator=(const PluginLoader&) = delete;

  // Loads one file and passes it `options`, which override options of the same name in
  // PluginLoaderOptions. Loading the same file again, also by another path, returns the same
  // plugin, or if its code failed, the same error. ALREADY_EXISTS if another file of its family is
  // loaded; INVALID_ARGUMENT for options that the plugin does not have.
  StatusOr<const LoadedPlugin*> Load(const std::string& path, const PluginOptions& options = {})
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Adds a file or folder to the search path of LoadInstalled, between the user's path and the
  // plugins that are installed with Millstream. For packages that contain a plugin.
  // FAILED_PRECONDITION after LoadInstalled.
  Status AddPackagePath(std::string path) ABSL_LOCKS_EXCLUDED(mutex_);
  // Records that `package` failed to return the path of its plugin.
  void RecordPackageError(const std::string& package, const Status& error)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The first call loads the plugins of the search path; later calls return its result. Of each
  // family it loads the first file that this machine can run and that loads successfully, in the
  // order of origin and then of rank. A file that fails is recorded (Records), logged as a warning,
  // and does not affect other files. Returns an error for an entry of the user's path that cannot
  // be read, and in strict mode for any file that failed.
  Status LoadInstalled() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for the given files and folders only. Every call loads.
  Status LoadFrom(const std::vector<std::string>& entries) ABSL_LOCKS_EXCLUDED(mutex_);

  // The records of all files and of entries that could not be read, in the order of the search.
  std::vector<PluginRecord> Records() const ABSL_LOCKS_EXCLUDED(mutex_);
  // One line for each file that is not ready and whose family has no ready file, for errors about
  // missing devices; empty if there is none.
  std::string FailureReasons() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<const LoadedPlugin*> Plugins() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The devices of all loaded plugins. The first call enumerates the devices of a plugin.
  std::vector<PluginDevice> Devices() ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<PluginDevice> DevicesOf(absl::string_view type) ABSL_LOCKS_EXCLUDED(mutex_);
  // Records why a device of a loaded plugin cannot be used, for FailureReasons. Equal texts are
  // recorded once.
  void RecordDeviceError(const PluginDevice& device, const Status& error)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Creates a logical device. Several may be created from one description. `options` are those of
  // the plugin for one device. Returns the plugin's error, or UNIMPLEMENTED with the name of a
  // mandatory function that the device lacks.
  static StatusOr<OpenDevice> CreateDevice(const PluginDevice& device,
                                           const PluginOptions& options = {});
  // Destroys a device of CreateDevice. REQUIRES: its streams, events and memory are destroyed.
  static void DestroyDevice(const OpenDevice& device);

  // Calls the plugins' shutdown functions, in reverse order of loading. Afterwards nothing can be
  // loaded and no kernel may run. While devices are open, returns FAILED_PRECONDITION and does
  // nothing. A second call does nothing.
  Status Shutdown() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A file of the search path.
  struct Candidate {
    PluginFile file;
    PluginOrigin origin;
  };
  struct SearchEntry {
    std::string path;
    PluginOrigin origin;
  };
  struct Attempt;

  const PluginLoaderOptions& Options() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  PluginOptions OptionsFor(const PluginFile& file, const PluginOptions& given)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Attempt* AttemptOf(const PluginFile& file, PluginOrigin origin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Attempt* NewAttempt(std::string path, PluginOrigin origin) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RecordUnreadable(const std::string& path, PluginOrigin origin, const Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RecordUnused(const Candidate& candidate, PluginState state, const Status& reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // One file (loader.cc).
  StatusOr<const LoadedPlugin*> LoadFile(const PluginFile& file, PluginOrigin origin,
                                         const PluginOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckFree(const PluginFile& file, Attempt* attempt) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Probe(const PluginFile& file, Attempt* attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Open(const PluginFile& file, Attempt* attempt, LoadedPlugin* plugin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Register(const PluginOptions& options, Attempt* attempt, LoadedPlugin* plugin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Devices (loader_devices.cc).
  void EnumerateInto(Attempt* attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Whole search paths (loader_search.cc).
  using Families = std::map<std::string, std::vector<Candidate>>;
  Status LoadEntries(const std::vector<SearchEntry>& entries) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddCandidates(const std::vector<std::string>& paths, PluginOrigin origin, Families* families)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LoadBestOf(std::vector<Candidate> family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WarnOfUnknownNames() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status StrictStatus() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  KernelRegistry* const kernels_;
  OpRegistry* const ops_;
  mutable absl::Mutex mutex_;
  std::optional<PluginLoaderOptions> options_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> device_errors_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Attempt>> attempts_ ABSL_GUARDED_BY(mutex_);
  std::vector<SearchEntry> package_entries_ ABSL_GUARDED_BY(mutex_);
  bool installed_loaded_ ABSL_GUARDED_BY(mutex_) = false;
  Status installed_status_ ABSL_GUARDED_BY(mutex_);
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_LOADER_H_
