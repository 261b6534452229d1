#include "framework/plugin/search_path.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace millstream {
namespace {

constexpr char kInstallFolder[] = "plugins";
constexpr char kProbeProgram[] = "millstream_plugin_probe";
constexpr char kProbeCache[] = "millstream/plugin_probes.txt";

// The file that holds this code.
std::filesystem::path OwnFile() {
  Dl_info info = {};
  link_map* map = nullptr;
  const int found = dladdr1(reinterpret_cast<void*>(&PluginLoaderOptions::FromEnvironment), &info,
                            reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP);
  // The executable's own entry has no name; what dladdr calls it may be relative to a folder that
  // the process has left since.
  if (found == 0 || map == nullptr || map->l_name[0] == '\0') {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error);
  }
  return map->l_name;
}

// Empty when it is not set, or not to be trusted.
absl::string_view Variable(const char* name) {
  const char* const value = secure_getenv(name);
  return value == nullptr ? absl::string_view() : absl::string_view(value);
}

// By the XDG base directory specification; empty when there is no home.
std::string UserCacheFile() {
  const std::filesystem::path cache = std::string(Variable("XDG_CACHE_HOME"));
  if (cache.is_absolute()) return cache / kProbeCache;
  const std::filesystem::path home = std::string(Variable("HOME"));
  return home.is_absolute() ? (home / ".cache" / kProbeCache).string() : std::string();
}

}  // namespace

PluginLoaderOptions PluginLoaderOptions::FromEnvironment() {
  PluginLoaderOptions options;
  options.user_path = absl::StrSplit(Variable(kPluginPathVariable), ':', absl::SkipEmpty());
  options.strict = Variable(kPluginStrictVariable) == "1";
  const absl::string_view only = absl::StripAsciiWhitespace(Variable(kPluginsVariable));
  if (!only.empty()) options.only = absl::StrSplit(only, absl::ByAnyChar(", "), absl::SkipEmpty());
  StatusOr<NamedPluginOptions> named = ParsePluginOptions(Variable(kPluginOptionsVariable));
  options.status = WithContext(named.status(), kPluginOptionsVariable);
  if (named.ok()) options.plugin_options = *std::move(named);
  const std::filesystem::path own = OwnFile();
  if (own.empty()) return options;
  options.install_folder = (own.parent_path() / kInstallFolder).string();
  if (Variable(kPluginProbeVariable) != "0") {
    options.probe_program = (own.parent_path() / kProbeProgram).string();
    options.probe_cache = UserCacheFile();
  }
  return options;
}

bool PluginLoaderOptions::Allows(const PluginFile& file) const {
  if (!only.has_value()) return true;
  if (absl::c_linear_search(*only, kNoPlugin)) return false;
  return absl::c_linear_search(*only, file.name()) || absl::c_linear_search(*only, file.family());
}

absl::string_view PluginOriginName(PluginOrigin origin) {
  switch (origin) {
    case PluginOrigin::kExplicit: return "explicit";
    case PluginOrigin::kUserPath: return "user path";
    case PluginOrigin::kPackage: return "package";
    case PluginOrigin::kInstalled: return "installed";
  }
  return "unknown";
}

StatusOr<std::vector<std::string>> PluginFilesIn(const std::string& entry) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(entry, error);
  if (!std::filesystem::exists(status)) {
    return errors::NotFound("plugin path entry ", entry, " does not exist");
  }
  if (!std::filesystem::is_directory(status)) return std::vector<std::string>{entry};
  std::vector<std::string> files;
  std::filesystem::directory_iterator item(entry, error);
  for (; !error && item != std::filesystem::directory_iterator(); item.increment(error)) {
    if (item->path().extension() == ".so") files.push_back(item->path().string());
  }
  if (error) {
    return errors::InvalidArgument("plugin path entry ", entry,
                                   " cannot be listed: ", error.message());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace millstream
