#include "framework/plugin/loader.h"

#include <dlfcn.h>

#include <filesystem>

#include "absl/algorithm/container.h"
#include "framework/plugin/cpu_bits.h"
#include "framework/plugin/crash_handler.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/loader_attempt.h"
#include "framework/plugin/openmp_patience.h"
#include "framework/plugin/option_check.h"
#include "framework/plugin/option_values.h"
#include "framework/plugin/plugin_check.h"
#include "framework/plugin/probe.h"
#include "framework/plugin/registrar.h"

namespace millstream {
namespace {

// By what they are, not by what they are called.
bool LiesIn(const std::string& path, const std::string& folder) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return !folder.empty() && std::filesystem::equivalent(parent, folder, error);
}

// While it lives, a crash of this thread is said to be the plugin's.
class LoadingBreadcrumb {
 public:
  explicit LoadingBreadcrumb(const std::string& path) {
    InstallCrashHandler();
    SetHostBreadcrumb(absl::StrCat("plugin ", path, " while it is loaded"));
  }
  LoadingBreadcrumb(const LoadingBreadcrumb&) = delete;
  LoadingBreadcrumb& operator=(const LoadingBreadcrumb&) = delete;
  ~LoadingBreadcrumb() { SetHostBreadcrumb(""); }
};

}  // namespace

absl::string_view PluginStateName(PluginState state) {
  switch (state) {
    case PluginState::kFound: return "FOUND";
    case PluginState::kShadowed: return "SHADOWED";
    case PluginState::kDisabled: return "DISABLED";
    case PluginState::kRejected: return "REJECTED";
    case PluginState::kFailed: return "FAILED";
    case PluginState::kReady: return "READY";
    case PluginState::kReadyNoDevice: return "READY_NO_DEVICE";
  }
  return "UNKNOWN";
}

absl::string_view LoadStageName(LoadStage stage) {
  static constexpr absl::string_view kNames[] = {"find",     "preflight", "choose",   "probe",
                                                 "open",     "entry",     "validate", "init",
                                                 "register", "enumerate", "done"};
  return kNames[static_cast<size_t>(stage)];
}

PluginLoader::PluginLoader(KernelRegistry* kernels, OpRegistry* ops)
    : kernels_(kernels), ops_(ops) {}

PluginLoader::PluginLoader(KernelRegistry* kernels, OpRegistry* ops, PluginLoaderOptions options)
    : kernels_(kernels), ops_(ops), options_(std::move(options)) {}

PluginLoader::~PluginLoader() = default;

PluginLoader* PluginLoader::Global() {
  static PluginLoader* const loader =
      new PluginLoader(KernelRegistry::Global(), OpRegistry::Global());
  return loader;
}

const PluginLoaderOptions& PluginLoader::Options() {
  if (!options_.has_value()) options_ = PluginLoaderOptions::FromEnvironment();
  return *options_;
}

// What is said of the plugin by its name goes before what is said by its family, and what the
// caller gave before both.
PluginOptions PluginLoader::OptionsFor(const PluginFile& file, const PluginOptions& given) {
  const NamedPluginOptions& named = Options().plugin_options;
  PluginOptions result;
  for (const std::string& name : {file.family(), file.name()}) {
    const auto found = named.find(name);
    if (found != named.end()) OverrideOptions(found->second, &result);
  }
  OverrideOptions(given, &result);
  return result;
}

// ---- Records ------------------------------------------------------------------------------------

PluginLoader::Attempt* PluginLoader::AttemptOf(const PluginFile& file, PluginOrigin origin) {
  Attempt* attempt = nullptr;
  for (const auto& known : attempts_) {
    if (known->inode == file.inode && known->device == file.device) attempt = known.get();
  }
  if (attempt == nullptr) attempt = NewAttempt(file.path, origin);
  // Only a mapped file is sure to keep its inode: this may be another one than last time.
  if (attempt->entered) return attempt;
  attempt->record.path = file.path;
  attempt->record.name = file.name();
  attempt->record.family = file.family();
  attempt->record.note = file.note;
  attempt->device = file.device;
  attempt->inode = file.inode;
  return attempt;
}

// A fresh record, in the place of one that said of this path only that it cannot be read.
PluginLoader::Attempt* PluginLoader::NewAttempt(std::string path, PluginOrigin origin) {
  for (const auto& attempt : attempts_) {
    if (attempt->inode == 0 && attempt->record.path == path) return attempt.get();
  }
  attempts_.push_back(std::make_unique<Attempt>());
  attempts_.back()->record.path = std::move(path);
  attempts_.back()->record.origin = origin;
  return attempts_.back().get();
}

void PluginLoader::RecordUnreadable(const std::string& path, PluginOrigin origin,
                                    const Status& status) {
  PluginRecord& record = NewAttempt(path, origin)->record;
  record.state = PluginState::kRejected;
  record.stage = absl::IsNotFound(status) ? LoadStage::kFind : LoadStage::kPreflight;
  record.status = status;
}

std::vector<PluginRecord> PluginLoader::Records() const {
  absl::MutexLock lock(&mutex_);
  std::vector<PluginRecord> records;
  for (const auto& attempt : attempts_) records.push_back(attempt->record);
  return records;
}

std::string PluginLoader::FailureReasons() const {
  const std::vector<PluginRecord> records = Records();
  const auto has_alternative = [&records](const PluginRecord& record) {
    return absl::c_any_of(records, [&record](const PluginRecord& other) {
      return other.state == PluginState::kReady && other.family == record.family;
    });
  };
  std::string text;
  for (const PluginRecord& record : records) {
    if (record.status.ok()) continue;
    if (record.state == PluginState::kShadowed && has_alternative(record)) continue;
    absl::StrAppend(&text, text.empty() ? "" : "\n", PluginStateName(record.state), " at ",
                    LoadStageName(record.stage), ": ", record.status.message());
  }
  absl::MutexLock lock(&mutex_);
  for (const std::string& error : device_errors_) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", error);
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

StatusOr<const LoadedPlugin*> PluginLoader::Load(const std::string& path,
                                                 const PluginOptions& options) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(Options().status);
  StatusOr<PluginFile> file = ReadPluginFile(path);
  if (!file.ok()) {
    RecordUnreadable(path, PluginOrigin::kExplicit, file.status());
    return file.status();
  }
  return LoadFile(*file, PluginOrigin::kExplicit, options);
}

StatusOr<const LoadedPlugin*> PluginLoader::LoadFile(const PluginFile& file, PluginOrigin origin,
                                                     const PluginOptions& options) {
  Attempt* attempt = AttemptOf(file, origin);
  PluginRecord& record = attempt->record;
  if (shut_down_) {
    return errors::FailedPrecondition("plugin ", file.path,
                                      " cannot be used: plugins were shut down");
  }
  if (attempt->plugin != nullptr) return attempt->plugin.get();
  // The plugin's code ran before and may have left any state, so it is not tried again.
  if (attempt->entered) return record.status;
  record.state = PluginState::kRejected;
  record.stage = LoadStage::kPreflight;
  record.status = CheckCompatible(file);
  if (record.status.ok()) record.status = CheckCpu(file, EnabledCpuBits());
  if (record.status.ok()) record.status = CheckFree(file, attempt);
  if (record.status.ok()) record.status = Probe(file, attempt);
  if (!record.status.ok()) return record.status;

  const LoadingBreadcrumb breadcrumb(file.path);
  auto plugin = std::make_unique<LoadedPlugin>();
  record.state = PluginState::kFailed;
  record.status = Open(file, attempt, plugin.get());
  if (record.status.ok()) {
    record.status = Register(OptionsFor(file, options), attempt, plugin.get());
  }
  if (!record.status.ok()) return record.status;
  record.state = PluginState::kReady;
  record.stage = LoadStage::kDone;
  record.num_kernels = plugin->num_kernels;
  record.ops = plugin->ops;
  attempt->plugin = std::move(plugin);
  return attempt->plugin.get();
}

// Names and families are taken by the first plugin that is ready.
Status PluginLoader::CheckFree(const PluginFile& file, Attempt* attempt) const {
  for (const auto& other : attempts_) {
    if (other->plugin == nullptr) continue;
    if (other->record.family == file.family()) {
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

// What was installed with this library was built and tested with it.
Status PluginLoader::Probe(const PluginFile& file, Attempt* attempt) {
  const PluginLoaderOptions& options = Options();
  if (options.probe_program.empty() || LiesIn(file.path, options.install_folder)) {
    return absl::OkStatus();
  }
  attempt->record.stage = LoadStage::kProbe;
  return ProbePluginOnce(options.probe_program, options.probe_cache, file, options.probe_timeout);
}

// dlopen to validated tables. Sets the stage as it goes.
Status PluginLoader::Open(const PluginFile& file, Attempt* attempt, LoadedPlugin* plugin) {
  LoadStage& stage = attempt->record.stage;
  stage = LoadStage::kOpen;
  void* library = nullptr;
  {
    const OpenMpPatience patience;  // of the runtime that the plugin may bring along
    library = dlopen(file.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
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
  // What it registers is called for ever: it stays even when it closes itself. The handle is
  // dropped.
  if (dlopen(file.path.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) == nullptr) {
    return errors::Internal("plugin ", file.path, " cannot be kept open: ", dlerror());
  }
  const MS_Plugin* abi = nullptr;
  MS_RETURN_IF_ERROR(NamePlugin(TakeAbiStatus(entry(HostBase(), &abi)), file.path));
  MS_RETURN_IF_ERROR(NamePlugin(CheckPlugin(abi, file), file.path));
  attempt->record.vendor = std::string(FromAbi(abi->vendor));
  attempt->record.version = std::string(FromAbi(abi->version));
  stage = LoadStage::kValidate;
  PluginTables tables;
  MS_RETURN_IF_ERROR(NamePlugin(CheckMandatoryFunctions(abi, &tables), file.path));

  plugin->path = file.path;
  plugin->name = file.name();
  plugin->vendor = attempt->record.vendor;
  plugin->version = attempt->record.version;
  plugin->abi = abi;
  plugin->options = tables.options;
  plugin->devices = tables.devices;
  plugin->profiler = tables.profiler;
  plugin->capture = tables.capture;
  return absl::OkStatus();
}

// The check of the options, init and registration. Sets the stage as it goes.
Status PluginLoader::Register(const PluginOptions& options, Attempt* attempt,
                              LoadedPlugin* plugin) {
  PluginOptions all;
  MS_RETURN_IF_ERROR(
      NamePlugin(CheckOptions(plugin->abi, plugin->options, options, &all), plugin->path));
  SetOptionValues(plugin->name, all);
  attempt->record.stage = LoadStage::kInit;
  const bool takes_options =
      (plugin->abi->flags & MS_PLUGIN_HAS_OPTIONS) != 0 || plugin->options != nullptr;
  if (!options.empty() && !takes_options) {
    return errors::InvalidArgument("plugin ", plugin->path, " takes no options, got \"",
                                   options.front().first, "\"");
  }
  const std::vector<MS_KV> pairs = ToAbi(options);
  MS_RETURN_IF_ERROR(NamePlugin(
      TakeAbiStatus(plugin->abi->init(plugin->abi, pairs.data(), pairs.size())), plugin->path));
  attempt->record.stage = LoadStage::kRegister;
  attempt->registrar =
      std::make_unique<MS_Registrar>(plugin->name, attempt->record.family, plugin->vendor, ops_);
  MS_Registrar& registrar = *attempt->registrar;
  registrar.is_builtin = LiesIn(plugin->path, Options().install_folder);
  const Status status = TakeAbiStatus(plugin->abi->register_all(plugin->abi, &registrar));
  registrar.Close();
  MS_RETURN_IF_ERROR(NamePlugin(status, plugin->path));
  MS_RETURN_IF_ERROR(NamePlugin(registrar.first_error, plugin->path));
  plugin->num_kernels = registrar.kernels.size();
  plugin->ops = registrar.op_names;
  PluginRecord& record = attempt->record;
  record.num_kernels_skipped = registrar.num_kernels_skipped;
  record.skipped = std::move(registrar.skipped);
  return NamePlugin(CommitRegistrations(&registrar, ops_, kernels_, &record.ties), plugin->path);
}

}  // namespace millstream
