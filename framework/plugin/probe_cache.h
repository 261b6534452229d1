// How plugin files fared when they were tried, kept in a file of the user's.
//
// A text file: a heading, then one line for each file, its fields separated by tabs: host version,
// enabled instruction sets, inode, modification time (ns), size, path, status code, message. A line
// that is not so is ignored, and a path that does not fit in a line is not remembered. The file is
// replaced as a whole, by renaming, so a reader sees an old one or a new one. Nothing here fails:
// without a file that can be read or written there is no memory, and that is all.
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
  // An empty path: a cache that remembers nothing.
  explicit ProbeCache(std::string path) : path_(std::move(path)) {}

  // What was remembered of exactly this file, by this host, on a processor like this one.
  std::optional<Status> Find(const PluginFile& file) const;
  // Creates the file, and the folders above it for their owner alone, where they are missing.
  void Remember(const PluginFile& file, const Status& outcome) const;

 private:
  const std::string path_;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PROBE_CACHE_H_
