// The loader's data about one file, which its source files share.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_LOADER_ATTEMPT_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_LOADER_ATTEMPT_H_

#include <memory>
#include <string>
#include <vector>

#include "framework/plugin/host_status.h"
#include "framework/plugin/loader.h"
#include "framework/plugin/registrar.h"

namespace millstream {

// One file. The inode is 0 if the file could not be read.
struct PluginLoader::Attempt {
  PluginRecord record;
  uint64_t device = 0;
  uint64_t inode = 0;
  bool entered = false;                  // the entry point was called, so the file stays mapped
  std::unique_ptr<LoadedPlugin> plugin;  // null unless it is ready
  // Kept, because the plugin may have kept it: it is told that it is too late.
  std::unique_ptr<MS_Registrar> registrar;
  bool enumerated = false;
};

// Borrows.
inline std::vector<MS_KV> ToAbi(const PluginOptions& options) {
  std::vector<MS_KV> pairs;
  for (const auto& [name, value] : options) pairs.push_back({ToAbi(name), ToAbi(value)});
  return pairs;
}

inline Status NamePlugin(const Status& status, const std::string& path) {
  return WithContext(status, absl::StrCat("plugin ", path));
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_LOADER_ATTEMPT_H_
