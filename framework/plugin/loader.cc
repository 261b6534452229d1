#include "framework/plugin/loader.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <utility>

#include "framework/plugin/cpu_bits.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/plugin_check.h"
#include "framework/plugin/registrar.h"
#include "framework/plugin/search_path.h"

namespace millstream {
namespace {

// What the first release of MS_DeviceDesc had.
constexpr uint32_t kDeviceDescSize =
    offsetof(MS_DeviceDesc, n_spaces) + sizeof(MS_DeviceDesc::n_spaces);
// Most plugins have fewer devices; one that has more is asked twice.
constexpr uint64_t kUsualDeviceCount = 16;

Status NamePlugin(const Status& status, const std::string& path) {
  return WithContext(status, absl::StrCat("plugin ", path));
}

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

}  // namespace

absl::string_view PluginStateName(PluginState state) {
  switch (state) {
    case PluginState::kShadowed: return "SHADOWED";
    case PluginState::kRejected: return "REJECTED";
    case PluginState::kFailed: return "FAILED";
    case PluginState::kReady: return "READY";
    case PluginState::kReadyNoDevice: return "READY_NO_DEVICE";
  }
  return "UNKNOWN";
}

absl::string_view LoadStageName(LoadStage stage) {
  static constexpr absl::string_view kNames[] = {"find",      "preflight", "choose", "open",
                                                 "entry",     "validate",  "init",   "register",
                                                 "enumerate", "done"};
  return kNames[static_cast<size_t>(stage)];
}

// One file that was looked at. Without identity (inode 0) when it could not be read.
struct PluginLoader::Attempt {
  PluginRecord record;
  uint64_t device = 0;
  uint64_t inode = 0;
  std::string family;
  bool entered = false;                  // its entry point was called, and so it stays mapped
  std::unique_ptr<LoadedPlugin> plugin;  // when it is ready
  bool enumerated = false;
  std::vector<const MS_DeviceDesc*> devices;
};

PluginLoader::PluginLoader(KernelRegistry* kernels, const OpRegistry* ops)
    : kernels_(kernels), ops_(ops) {}

PluginLoader::~PluginLoader() = default;

PluginLoader* PluginLoader::Global() {
  static PluginLoader* const loader =
      new PluginLoader(KernelRegistry::Global(), OpRegistry::Global());
  return loader;
}

// ---- Records ------------------------------------------------------------------------------------

PluginLoader::Attempt* PluginLoader::AttemptOf(const PluginFile& file) {
  Attempt* attempt = nullptr;
  for (const auto& known : attempts_) {
    if (known->inode == file.inode && known->device == file.device) attempt = known.get();
  }
  if (attempt == nullptr) attempt = NewAttempt(file.path);
  // Only a mapped file is sure to keep its inode: this may be another one than last time.
  if (attempt->entered) return attempt;
  attempt->record.path = file.path;
  attempt->record.name = file.name();
  attempt->family = file.family();
  attempt->device = file.device;
  attempt->inode = file.inode;
  return attempt;
}

// A fresh record, in the place of one that said of this path only that it cannot be read.
PluginLoader::Attempt* PluginLoader::NewAttempt(std::string path) {
  for (const auto& attempt : attempts_) {
    if (attempt->inode == 0 && attempt->record.path == path) return attempt.get();
  }
  attempts_.push_back(std::make_unique<Attempt>());
  attempts_.back()->record.path = std::move(path);
  return attempts_.back().get();
}

void PluginLoader::RecordUnreadable(const std::string& path, const Status& status) {
  PluginRecord& record = NewAttempt(path)->record;
  record.state = PluginState::kRejected;
  record.stage = absl::IsNotFound(status) ? LoadStage::kFind : LoadStage::kPreflight;
  record.status = status;
}

void PluginLoader::Shadow(const PluginFile& file, const Status& reason) {
  PluginRecord& record = AttemptOf(file)->record;
  record.state = PluginState::kShadowed;
  record.stage = LoadStage::kChoose;
  record.status = reason;
}

std::vector<PluginRecord> PluginLoader::Records() const {
  absl::MutexLock lock(&mutex_);
  std::vector<PluginRecord> records;
  for (const auto& attempt : attempts_) records.push_back(attempt->record);
  return records;
}

std::string PluginLoader::FailureReasons() const {
  std::string text;
  for (const PluginRecord& record : Records()) {
    if (record.status.ok()) continue;
    absl::StrAppend(&text, text.empty() ? "" : "\n", PluginStateName(record.state), " at ",
                    LoadStageName(record.stage), ": ", record.status.message());
  }
  return text;
}

std::vector<const LoadedPlugin*> PluginLoader::Plugins() const {
  absl::MutexLock lock(&mutex_);
  std::vector<const LoadedPlugin*> plugins;
  for (const auto& attempt : attempts_) {
    if (attempt->plugin != nullptr) plugins.push_back(attempt->plugin.get());
  }
  return plugins;
}

// ---- One file -----------------------------------------------------------------------------------

StatusOr<const LoadedPlugin*> PluginLoader::Load(const std::string& path) {
  absl::MutexLock lock(&mutex_);
  StatusOr<PluginFile> file = ReadPluginFile(path);
  if (!file.ok()) {
    RecordUnreadable(path, file.status());
    return file.status();
  }
  return LoadFile(*file);
}

StatusOr<const LoadedPlugin*> PluginLoader::LoadFile(const PluginFile& file) {
  Attempt* attempt = AttemptOf(file);
  PluginRecord& record = attempt->record;
  if (attempt->plugin != nullptr) return attempt->plugin.get();
  // Its code ran: whatever state that left it in, it gets no second chance.
  if (attempt->entered) return record.status;
  record.state = PluginState::kRejected;
  record.stage = LoadStage::kPreflight;
  record.status = CheckCompatible(file);
  if (record.status.ok()) record.status = CheckCpu(file, EnabledCpuBits());
  if (record.status.ok()) record.status = CheckFree(file, attempt);
  if (!record.status.ok()) return record.status;

  auto plugin = std::make_unique<LoadedPlugin>();
  record.state = PluginState::kFailed;
  record.status = Open(file, attempt, plugin.get());
  if (record.status.ok()) record.status = Register(attempt, plugin.get());
  if (!record.status.ok()) return record.status;
  record.state = PluginState::kReady;
  record.stage = LoadStage::kDone;
  attempt->plugin = std::move(plugin);
  return attempt->plugin.get();
}

// Names and families are taken by the first plugin that is ready.
Status PluginLoader::CheckFree(const PluginFile& file, Attempt* attempt) const {
  for (const auto& other : attempts_) {
    if (other->plugin == nullptr) continue;
    if (other->family == file.family()) {
      attempt->record.state = PluginState::kShadowed;
      attempt->record.stage = LoadStage::kChoose;
      return errors::AlreadyExists("plugin ", file.path, " is of family \"", file.family(),
                                   "\", of which ", other->record.path, " is loaded");
    }
    if (other->record.name == file.name()) {
      return errors::AlreadyExists("plugin ", file.path, " is named \"", file.name(), "\" like ",
                                   other->record.path, ", which is loaded");
    }
  }
  return absl::OkStatus();
}

// dlopen to validated tables. Sets the stage as it goes.
Status PluginLoader::Open(const PluginFile& file, Attempt* attempt, LoadedPlugin* plugin) {
  LoadStage& stage = attempt->record.stage;
  stage = LoadStage::kOpen;
  void* library = dlopen(file.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return errors::NotFound("plugin ", file.path, " cannot be opened: ", dlerror());
  }
  stage = LoadStage::kEntry;
  const auto entry = reinterpret_cast<MS_PluginEntry>(dlsym(library, MS_PLUGIN_ENTRY_NAME));
  if (entry == nullptr) {
    dlclose(library);  // No code of its own ran but static initializers.
    return errors::InvalidArgument("plugin ", file.path, " does not export ", MS_PLUGIN_ENTRY_NAME);
  }
  attempt->entered = true;
  const MS_Plugin* abi = nullptr;
  MS_RETURN_IF_ERROR(NamePlugin(TakeAbiStatus(entry(HostBase(), &abi)), file.path));
  MS_RETURN_IF_ERROR(NamePlugin(CheckPlugin(abi, file), file.path));
  stage = LoadStage::kValidate;
  MS_RETURN_IF_ERROR(NamePlugin(CheckMandatoryFunctions(abi), file.path));

  plugin->path = file.path;
  plugin->name = file.name();
  plugin->vendor = std::string(FromAbi(abi->vendor));
  plugin->version = std::string(FromAbi(abi->version));
  plugin->abi = abi;
  plugin->devices = reinterpret_cast<const MS_DevicesApi*>(abi->get_interface(abi, MS_DEVICES_API));
  return absl::OkStatus();
}

// init and registration. Sets the stage as it goes.
Status PluginLoader::Register(Attempt* attempt, LoadedPlugin* plugin) {
  attempt->record.stage = LoadStage::kInit;
  MS_RETURN_IF_ERROR(
      NamePlugin(TakeAbiStatus(plugin->abi->init(plugin->abi, nullptr, 0)), plugin->path));
  attempt->record.stage = LoadStage::kRegister;
  MS_Registrar registrar(plugin->name, ops_);
  const Status status = TakeAbiStatus(plugin->abi->register_all(plugin->abi, &registrar));
  MS_RETURN_IF_ERROR(NamePlugin(status, plugin->path));
  MS_RETURN_IF_ERROR(NamePlugin(registrar.first_error, plugin->path));
  plugin->num_kernels = registrar.kernels.size();
  return NamePlugin(kernels_->Commit(std::move(registrar.kernels)), plugin->path);
}

// ---- Installed files ----------------------------------------------------------------------------

Status PluginLoader::LoadInstalled() {
  absl::MutexLock lock(&mutex_);
  if (installed_loaded_) return installed_status_;
  installed_loaded_ = true;
  const SearchPath path = PluginSearchPath();
  installed_status_ = LoadEntries(path.entries, path.from_user);
  return installed_status_;
}

Status PluginLoader::LoadFrom(const std::vector<std::string>& entries) {
  absl::MutexLock lock(&mutex_);
  return LoadEntries(entries, /*all_must_exist=*/true);
}

Status PluginLoader::LoadEntries(const std::vector<std::string>& entries, bool all_must_exist) {
  Status result;
  std::map<std::string, std::vector<PluginFile>> families;
  const auto reject = [this](const std::string& path, const Status& status) {
    RecordUnreadable(path, status);
    HostLog(MS_LOG_WARNING, status.message());
  };
  for (const std::string& entry : entries) {
    const StatusOr<std::vector<std::string>> files = PluginFilesIn(entry);
    if (!files.ok()) {
      RecordUnreadable(entry, files.status());
      if (all_must_exist || !absl::IsNotFound(files.status())) result.Update(files.status());
      continue;
    }
    for (const std::string& path : *files) {
      StatusOr<PluginFile> file = ReadPluginFile(path);
      if (!file.ok()) {
        reject(path, file.status());
        continue;
      }
      std::vector<PluginFile>& family = families[file->family()];
      const bool is_known =
          std::any_of(family.begin(), family.end(), [&file](const PluginFile& other) {
            return other.inode == file->inode && other.device == file->device;
          });
      if (!is_known) family.push_back(*std::move(file));
    }
  }
  for (auto& [name, family] : families) LoadBestOf(std::move(family));
  return result;
}

void PluginLoader::LoadBestOf(std::vector<PluginFile> family) {
  std::stable_sort(family.begin(), family.end(), [](const PluginFile& a, const PluginFile& b) {
    return a.note.rank > b.note.rank;
  });
  const PluginFile* chosen = nullptr;
  for (const PluginFile& file : family) {
    if (AttemptOf(file)->plugin != nullptr) {  // Loaded before, by its path.
      chosen = &file;
      continue;
    }
    const Status cpu = CheckCpu(file, EnabledCpuBits());
    if (!cpu.ok()) {
      Shadow(file, cpu);
    } else if (chosen != nullptr) {
      Shadow(file, errors::AlreadyExists("plugin ", file.path, " has rank ", file.note.rank,
                                         " in family \"", file.family(), "\": ", chosen->path,
                                         ", of rank ", chosen->note.rank, ", is loaded"));
    } else if (const auto loaded = LoadFile(file); loaded.ok()) {
      chosen = &file;
    } else if (AttemptOf(file)->record.state != PluginState::kShadowed) {
      HostLog(MS_LOG_WARNING, loaded.status().message());
    }
  }
}

// ---- Devices ------------------------------------------------------------------------------------

std::vector<PluginDevice> PluginLoader::Devices() {
  absl::MutexLock lock(&mutex_);
  std::vector<PluginDevice> result;
  for (const auto& attempt : attempts_) {
    const LoadedPlugin* plugin = attempt->plugin.get();
    if (plugin == nullptr || plugin->devices == nullptr) continue;
    if (!attempt->enumerated) {
      attempt->enumerated = true;
      std::string reason;
      StatusOr<std::vector<const MS_DeviceDesc*>> devices = Enumerate(*plugin, &reason);
      const Status status =
          devices.ok() ? errors::NotFound("found no device: ", reason) : devices.status();
      if (devices.ok()) attempt->devices = *std::move(devices);
      if (attempt->devices.empty()) {
        PluginRecord& record = attempt->record;
        record.state = PluginState::kReadyNoDevice;
        record.stage = LoadStage::kEnumerate;
        record.status = NamePlugin(status, plugin->path);
      }
    }
    for (const MS_DeviceDesc* device : attempt->devices) result.push_back({plugin, device});
  }
  return result;
}

std::vector<PluginDevice> PluginLoader::DevicesOf(absl::string_view type) {
  std::vector<PluginDevice> devices = Devices();
  devices.erase(
      std::remove_if(devices.begin(), devices.end(),
                     [type](const PluginDevice& device) { return device.type() != type; }),
      devices.end());
  return devices;
}

StatusOr<OpenDevice> PluginLoader::CreateDevice(const PluginDevice& device) {
  const LoadedPlugin& plugin = *device.plugin;
  OpenDevice open;
  open.plugin = &plugin;
  MS_RETURN_IF_ERROR(
      NamePlugin(TakeAbiStatus(plugin.devices->device_create(
                     plugin.abi, device.description->ordinal, nullptr, 0, &open.device)),
                 plugin.path));
  if (open.device == nullptr) {
    return errors::InvalidArgument("plugin ", plugin.path, ": device_create gave no device");
  }
  open.functions = plugin.devices->fns(open.device);
  const Status status = NamePlugin(CheckDeviceTable(open.functions), plugin.path);
  if (status.ok()) return open;
  plugin.devices->device_destroy(open.device);
  return status;
}

}  // namespace millstream
