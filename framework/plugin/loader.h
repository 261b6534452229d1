// Finds, checks, opens and registers plugins.
//
// The steps: find files (search_path.h), read each without running it, choose one file of each
// family, try it in a process of its own if it was not installed with us (probe.h), dlopen, call
// the entry point, check what it gave and the options, init, register_all into a private
// transaction, commit. Whatever fails leaves the registries of ops and kernels as they were. A
// plugin that was opened stays mapped for ever; at the end of the process nothing of it runs unless
// Shutdown is called.
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
  kFound,     // read, and nothing done with it yet
  kShadowed,  // another file of its family was chosen, or this machine cannot run it
  kDisabled,  // the user's list of plugins leaves it out
  kRejected,  // none of its code ran in this process
  kFailed,    // some of its code ran, or it could not be opened
  kReady,
  kReadyNoDevice,  // its kernels can be used, but it found no device
};
absl::string_view PluginStateName(PluginState state);  // "READY"

// How far a plugin came.
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

// What became of one file, or of one entry of the search path that gave none.
struct PluginRecord {
  std::string path;
  PluginOrigin origin = PluginOrigin::kExplicit;
  std::string name;             // of its note; empty when there was none to read
  std::string family;           // as `name`
  std::optional<MS_Note> note;  // versions, instruction sets, rank
  std::string vendor;           // this and the next are known once the entry point was called
  std::string version;
  PluginState state = PluginState::kFound;
  LoadStage stage = LoadStage::kFind;  // the one that failed; kDone when none did
  Status status;                       // why; OK when it is ready
  size_t num_kernels = 0;
  std::vector<std::string> ops;               // that it registered, in that order
  std::vector<const MS_DeviceDesc*> devices;  // once they were asked for
};

// A plugin that is ready. Lives for ever.
struct LoadedPlugin {
  std::string path;
  std::string name;
  std::string vendor;
  std::string version;
  const MS_Plugin* abi = nullptr;
  const MS_DevicesApi* devices = nullptr;    // null: it has none
  const MS_ProfilerApi* profiler = nullptr;  // the same
  size_t num_kernels = 0;
  std::vector<std::string> ops;              // that it registered, in that order
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
  // Registers into the global registries; its options are read from the environment when they are
  // first needed.
  static PluginLoader* Global();
  PluginLoader(KernelRegistry* kernels, OpRegistry* ops);
  PluginLoader(KernelRegistry* kernels, OpRegistry* ops, PluginLoaderOptions options);
  ~PluginLoader();
  PluginLoader(const PluginLoader&) = delete;
  PluginLoader& operator=(const PluginLoader&) = delete;

  // Loads one file and passes it `options`, which go before those of PluginLoaderOptions that have
  // the same name. Loading the same file again, by whatever name, gives
  // the same plugin, or, when its code failed, the same error. ALREADY_EXISTS when another file of
  // its family is loaded; INVALID_ARGUMENT for options that the plugin does not take.
  StatusOr<const LoadedPlugin*> Load(const std::string& path, const PluginOptions& options = {})
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Adds a file or folder to what LoadInstalled searches, between the user's path and what is
  // installed with us; for packages that bring a plugin. FAILED_PRECONDITION after LoadInstalled.
  Status AddPackagePath(std::string path) ABSL_LOCKS_EXCLUDED(mutex_);
  // Records that `package` could not say where its plugins are.
  void RecordPackageError(const std::string& package, const Status& error)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Loads what is found on the search path, the first time it is called: of each family the file of
  // the most important origin and then of the highest rank that this machine can run and that
  // loads. One file that fails stops no other: Records() tells, and a warning. An error for an
  // entry of the user's path that cannot be read, and in strict mode for any file that failed.
  Status LoadInstalled() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for the given files and folders alone, each time it is called.
  Status LoadFrom(const std::vector<std::string>& entries) ABSL_LOCKS_EXCLUDED(mutex_);

  // Every file that was looked at, and every entry that could not be read, in that order.
  std::vector<PluginRecord> Records() const ABSL_LOCKS_EXCLUDED(mutex_);
  // One line for each file that is not ready and has no ready alternative, for the error of whoever
  // misses a device; empty when there is none.
  std::string FailureReasons() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<const LoadedPlugin*> Plugins() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The devices of all loaded plugins. A plugin is asked once, the first time.
  std::vector<PluginDevice> Devices() ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<PluginDevice> DevicesOf(absl::string_view type) ABSL_LOCKS_EXCLUDED(mutex_);
  // Records why a device of a loaded plugin cannot be used, for FailureReasons. The same text
  // counts once.
  void RecordDeviceError(const PluginDevice& device, const Status& error)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Creates a logical device; several may be made of one description. `options` are the plugin's
  // for one device. The plugin's error, or UNIMPLEMENTED naming a function that the device lacks.
  static StatusOr<OpenDevice> CreateDevice(const PluginDevice& device,
                                           const PluginOptions& options = {});
  // Gives back what CreateDevice made, once its streams, events and memory are gone.
  static void DestroyDevice(const OpenDevice& device);

  // Calls the plugins' shutdown functions, the last loaded first; nothing can be loaded and no
  // kernel may run after that. FAILED_PRECONDITION, and nothing done, while devices are open. Does
  // nothing the second time.
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
