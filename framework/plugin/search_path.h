// The search path of plugins, and the environment variables and options of the loader.
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
// "1": a plugin that is found but cannot be loaded is an error. Otherwise it is only recorded.
inline constexpr char kPluginStrictVariable[] = "MILLSTREAM_PLUGIN_STRICT";
// Options of plugins, in the form of ParsePluginOptions.
inline constexpr char kPluginOptionsVariable[] = "MILLSTREAM_PLUGIN_OPTIONS";
// "0": plugins are not tried in a separate process first.
inline constexpr char kPluginProbeVariable[] = "MILLSTREAM_PLUGIN_PROBE";

struct PluginLoaderOptions {
  // Searched first. An entry that does not exist is an error.
  std::vector<std::string> user_path;
  // The folder of plugins that are installed with Millstream. They are trusted and not probed.
  std::string install_folder;
  // Names or families of plugins that may be loaded; no value: all. Does not apply to files that
  // are loaded by their path.
  std::optional<std::vector<std::string>> only;
  bool strict = false;
  // The options of plugins from any origin. A plugin that does not have one of its options is not
  // loaded.
  NamedPluginOptions plugin_options;
  // The error if the variables cannot be parsed. Then every attempt to load returns it.
  Status status;
  // The program that tries plugins, and the file of its results. Empty: plugins are not tried, or
  // results are not stored.
  std::string probe_program;
  std::string probe_cache;
  absl::Duration probe_timeout = absl::Seconds(10);

  // Reads the variables above. The install folder is "plugins", and the probe program
  // "millstream_plugin_probe", in the folder of the shared object or executable that contains this
  // code. The cache is in the user's cache folder. A process with more rights than its user
  // (setuid) does not read the environment.
  static PluginLoaderOptions FromEnvironment();

  // True if `only` allows this file.
  bool Allows(const PluginFile& file) const;
};

// The origin of an entry of the search path, the most important first. Of two files of one family,
// the one with the more important origin is loaded, whatever their ranks are.
enum class PluginOrigin {
  kExplicit,   // by its path
  kUserPath,   // PluginLoaderOptions::user_path
  kPackage,    // an installed package of the front end's language
  kInstalled,  // PluginLoaderOptions::install_folder
};
absl::string_view PluginOriginName(PluginOrigin origin);  // "user path"

// The files of one entry: a file itself, or all *.so of a folder in order of their names. NOT_FOUND
// if it does not exist.
StatusOr<std::vector<std::string>> PluginFilesIn(const std::string& entry);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_SEARCH_PATH_H_
