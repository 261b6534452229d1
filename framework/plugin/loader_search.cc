// The loader's search path: finds the files and chooses those that are loaded.
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "framework/plugin/cpu_bits.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/loader_attempt.h"

namespace millstream {

Status PluginLoader::AddPackagePath(std::string path) {
  absl::MutexLock lock(&mutex_);
  if (installed_loaded_) {
    return errors::FailedPrecondition("plugin path ", path,
                                      " comes too late: the installed plugins are loaded");
  }
  package_entries_.push_back({std::move(path), PluginOrigin::kPackage});
  return absl::OkStatus();
}

void PluginLoader::RecordPackageError(const std::string& package, const Status& error) {
  absl::MutexLock lock(&mutex_);
  PluginRecord& record = NewAttempt(package, PluginOrigin::kPackage)->record;
  record.state = PluginState::kRejected;
  record.stage = LoadStage::kFind;
  record.status = WithContext(error, package);
  HostLog(MS_LOG_WARNING, record.status.message());
}

Status PluginLoader::LoadInstalled() {
  absl::MutexLock lock(&mutex_);
  if (installed_loaded_) return installed_status_;
  installed_loaded_ = true;
  const PluginLoaderOptions& options = Options();
  installed_status_ = options.status;
  if (!installed_status_.ok()) return installed_status_;
  std::vector<SearchEntry> entries;
  for (const std::string& path : options.user_path) {
    entries.push_back({path, PluginOrigin::kUserPath});
  }
  entries.insert(entries.end(), package_entries_.begin(), package_entries_.end());
  if (!options.install_folder.empty()) {
    entries.push_back({options.install_folder, PluginOrigin::kInstalled});
  }
  installed_status_ = LoadEntries(entries);
  if (installed_status_.ok() && options.strict) installed_status_ = StrictStatus();
  return installed_status_;
}

Status PluginLoader::LoadFrom(const std::vector<std::string>& entries) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(Options().status);
  std::vector<SearchEntry> named;
  for (const std::string& entry : entries) named.push_back({entry, PluginOrigin::kUserPath});
  return LoadEntries(named);
}

Status PluginLoader::LoadEntries(const std::vector<SearchEntry>& entries) {
  Status result;
  Families families;
  for (const SearchEntry& entry : entries) {
    const StatusOr<std::vector<std::string>> paths = PluginFilesIn(entry.path);
    if (!paths.ok()) {
      RecordUnreadable(entry.path, entry.origin, paths.status());
      if (entry.origin == PluginOrigin::kUserPath) result.Update(paths.status());
      continue;
    }
    AddCandidates(*paths, entry.origin, &families);
  }
  for (auto& [name, family] : families) LoadBestOf(std::move(family));
  WarnOfUnknownNames();
  return result;
}

// Sorts the files into their families; those that are no plugins, or are not wanted, are recorded.
void PluginLoader::AddCandidates(const std::vector<std::string>& paths, PluginOrigin origin,
                                 Families* families) {
  for (const std::string& path : paths) {
    StatusOr<PluginFile> file = ReadPluginFile(path);
    if (!file.ok()) {
      RecordUnreadable(path, origin, file.status());
      HostLog(MS_LOG_WARNING, file.status().message());
      continue;
    }
    const Attempt* const attempt = AttemptOf(*file, origin);
    if (attempt->plugin == nullptr && !Options().Allows(*file)) {
      RecordUnused(
          {*file, origin}, PluginState::kDisabled,
          errors::FailedPrecondition("plugin ", file->path, " is named \"", file->name(),
                                     "\", which ", kPluginsVariable, " (\"",
                                     absl::StrJoin(*Options().only, ","), "\") leaves out"));
      continue;
    }
    std::vector<Candidate>& family = (*families)[file->family()];
    const bool is_known = absl::c_any_of(family, [&file](const Candidate& other) {
      return other.file.inode == file->inode && other.file.device == file->device;
    });
    if (!is_known) family.push_back({*std::move(file), origin});
  }
}

void PluginLoader::RecordUnused(const Candidate& candidate, PluginState state,
                                const Status& reason) {
  Attempt* const attempt = AttemptOf(candidate.file, candidate.origin);
  attempt->record.state = state;
  attempt->record.stage = LoadStage::kChoose;
  attempt->record.status = reason;
}

void PluginLoader::LoadBestOf(std::vector<Candidate> family) {
  absl::c_stable_sort(family, [](const Candidate& a, const Candidate& b) {
    if (a.origin != b.origin) return a.origin < b.origin;
    return a.file.note.rank > b.file.note.rank;
  });
  const Candidate* chosen = nullptr;
  for (const Candidate& candidate : family) {
    // Loaded before, by its path.
    if (AttemptOf(candidate.file, candidate.origin)->plugin != nullptr) chosen = &candidate;
  }
  for (const Candidate& candidate : family) {
    if (&candidate == chosen) continue;
    const PluginFile& file = candidate.file;
    const Status cpu = CheckCpu(file, EnabledCpuBits());
    if (!cpu.ok()) {
      RecordUnused(candidate, PluginState::kShadowed, cpu);
    } else if (chosen != nullptr) {
      RecordUnused(candidate, PluginState::kShadowed,
                   errors::AlreadyExists(
                       "plugin ", file.path, " (", PluginOriginName(candidate.origin), ", rank ",
                       file.note.rank, ") of family \"", file.family(), "\" gives way to ",
                       chosen->file.path, " (", PluginOriginName(chosen->origin), ", rank ",
                       chosen->file.note.rank, "), which is loaded"));
    } else if (const auto loaded = LoadFile(file, candidate.origin, {}); loaded.ok()) {
      chosen = &candidate;
    } else if (AttemptOf(file, candidate.origin)->record.state != PluginState::kShadowed) {
      HostLog(MS_LOG_WARNING, loaded.status().message());
    }
  }
}

// A name that no file has is a mistake, or a plugin that is not installed.
void PluginLoader::WarnOfUnknownNames() {
  const auto warn = [this](absl::string_view variable,
                           const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool is_known = absl::c_any_of(attempts_, [&name](const auto& attempt) {
      return attempt->record.name == name || attempt->record.family == name;
    });
    if (is_known || name == kNoPlugin) return;
    HostLog(MS_LOG_WARNING,
            absl::StrCat(variable, " names \"", name, "\", but no plugin of that name was found"));
  };
  for (const auto& [name, options] : Options().plugin_options) warn(kPluginOptionsVariable, name);
  if (!Options().only.has_value()) return;
  for (const std::string& name : *Options().only) warn(kPluginsVariable, name);
}

// The first plugin that should be ready and is not.
Status PluginLoader::StrictStatus() const {
  for (const auto& attempt : attempts_) {
    const PluginRecord& record = attempt->record;
    if (record.state != PluginState::kRejected && record.state != PluginState::kFailed) continue;
    // A library may be installed without plugins.
    if (record.origin == PluginOrigin::kInstalled && record.stage == LoadStage::kFind) continue;
    return WithContext(
        record.status,
        absl::StrCat(kPluginStrictVariable, " is set, and a plugin is ",
                     PluginStateName(record.state), " at ", LoadStageName(record.stage)));
  }
  return absl::OkStatus();
}

}  // namespace millstream
