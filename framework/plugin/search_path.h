// Where plugins are looked for when nobody names a file, and what steers the loader from outside.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_SEARCH_PATH_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_SEARCH_PATH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "framework/plugin/plugin_options.h"
#include "framework/plugin/preflight.h"
#include "framework/status.h"

namespace millstream {

// Files and folders separated by colons, searched before everything else.
inline constexpr char kPluginPathVariable[] = "MILLSTREAM_PLUGIN_PATH";
// Names or families of the plugins that may be loaded, separated by commas; "none" for none.
inline constexpr char kPluginsVariable[] = "MILLSTREAM_PLUGINS";
inline constexpr char kNoPlugin[] = "none";
// "1": a plugin that is found but cannot be loaded is an error, and not only a record.
inline constexpr char kPluginStrictVariable[] = "MILLSTREAM_PLUGIN_STRICT";
// Options of plugins, as ParsePluginOptions reads them.
inline constexpr char kPluginOptionsVariable[] = "MILLSTREAM_PLUGIN_OPTIONS";
// "0": no plugin is tried in a process of its own first.
inline constexpr char kPluginProbeVariable[] = "MILLSTREAM_PLUGIN_PROBE";

struct PluginLoaderOptions {
  // Searched first; an entry that does not exist is the user's mistake, and an error.
  std::vector<std::string> user_path;
  // What is installed with Millstream; it is trusted, and so not probed.
  std::string install_folder;
  // Names or families; without a value everything that is found may be loaded. Files that are
  // loaded by their path are not asked about.
  std::optional<std::vector<std::string>> only;
  bool strict = false;
  // What plugins are given wherever they come from. A plugin that does not take one of its options
  // is not loaded.
  NamedPluginOptions plugin_options;
  // Why the variables cannot be read: nothing is loaded, and every attempt gives this.
  Status status;
  // The program that tries plugins, and the file that remembers how they fared. Empty: nothing is
  // tried, nothing is remembered.
  std::string probe_program;
  std::string probe_cache;
  absl::Duration probe_timeout = absl::Seconds(10);

  // The variables above. The install folder is "plugins", and the probe "millstream_plugin_probe",
  // beside the shared object or executable that holds this code; the cache is in the user's cache
  // folder. In a process that runs with more rights than its user has, the environment is not read.
  static PluginLoaderOptions FromEnvironment();

  // Whether `only` lets this file be loaded.
  bool Allows(const PluginFile& file) const;
};

// Who named an entry of the search path, the most important first: of two files of one family, that
// of the more important origin is loaded, whatever their ranks.
enum class PluginOrigin {
  kExplicit,   // by its path
  kUserPath,   // PluginLoaderOptions::user_path
  kPackage,    // an installed package of the front end's language
  kInstalled,  // PluginLoaderOptions::install_folder
};
absl::string_view PluginOriginName(PluginOrigin origin);  // "user path"

// The files of one entry: itself, or a folder's *.so by name. NOT_FOUND when it does not exist.
StatusOr<std::vector<std::string>> PluginFilesIn(const std::string& entry);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_SEARCH_PATH_H_
