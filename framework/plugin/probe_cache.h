// The results of probes, in a file in the user's cache folder.
//
// It is a text file: a heading, then one line for each plugin file, with fields separated by tabs:
// host version, enabled instruction sets, inode, modification time (ns), size, path, status code,
// message. Other lines are ignored. A path that does not fit in a line is not stored. The file is
// replaced as a whole, by renaming, so a reader sees the old or the new one. There are no errors:
// if the file cannot be read or written, nothing is stored.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PROBE_CACHE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PROBE_CACHE_H_

#include <optional>
#include <string>
#include <utility>

#include "framework/plugin/preflight.h"
#include "framework/status.h"

namespace millstream {

class ProbeCache {
 public:
  // An empty path: nothing is stored.
  explicit ProbeCache(std::string path) : path_(std::move(path)) {}

  // The stored result for exactly this file, this host version and these instruction sets.
  std::optional<Status> Find(const PluginFile& file) const;
  // Stores a result. Creates the file, and missing folders that only their owner may access.
  void Remember(const PluginFile& file, const Status& outcome) const;

 private:
  const std::string path_;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PROBE_CACHE_H_
