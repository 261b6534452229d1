#include "framework/plugin/search_path.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_split.h"

namespace millstream {
namespace {

constexpr char kInstallFolder[] = "plugins";

// The file that holds this code.
std::filesystem::path OwnFile() {
  Dl_info info = {};
  link_map* map = nullptr;
  const int found = dladdr1(reinterpret_cast<void*>(&PluginSearchPath), &info,
                            reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP);
  // The executable's own entry has no name; what dladdr calls it may be relative to a folder that
  // the process has left since.
  if (found == 0 || map == nullptr || map->l_name[0] == '\0') {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error);
  }
  return map->l_name;
}

}  // namespace

SearchPath PluginSearchPath() {
  SearchPath path;
  const char* variable = secure_getenv(kPluginPathVariable);
  if (variable != nullptr && variable[0] != '\0') {
    path.from_user = true;
    path.entries = absl::StrSplit(variable, ':', absl::SkipEmpty());
    return path;
  }
  const std::filesystem::path own = OwnFile();
  if (!own.empty()) path.entries.push_back((own.parent_path() / kInstallFolder).string());
  return path;
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
