// Where plugins are looked for when nobody names a file.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_SEARCH_PATH_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_SEARCH_PATH_H_

#include <string>
#include <vector>

#include "framework/status.h"

namespace millstream {

// Files and folders separated by colons; replaces the install folder. Not read in a process that
// runs with more rights than its user has.
inline constexpr char kPluginPathVariable[] = "MILLSTREAM_PLUGIN_PATH";

// What to search: the entries of kPluginPathVariable if it is set, else the install folder, which
// is "plugins" beside the shared object or executable that holds this code.
struct SearchPath {
  std::vector<std::string> entries;
  bool from_user = false;  // an entry that does not exist is the user's mistake
};
SearchPath PluginSearchPath();

// The files of one entry: itself, or a folder's *.so by name. NOT_FOUND when it does not exist.
StatusOr<std::vector<std::string>> PluginFilesIn(const std::string& entry);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_SEARCH_PATH_H_
