// Checks a plugin file without running any of its code.
//
// The file is read and not mapped, so a truncated file gives an error here and not a signal in
// dlopen.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PREFLIGHT_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PREFLIGHT_H_

#include <cstdint>
#include <string>

#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

// A file with a readable note.
struct PluginFile {
  std::string path;     // with all links resolved
  uint64_t device = 0;  // device and inode identify the file, whatever its path is
  uint64_t inode = 0;
  uint64_t bytes = 0;
  int64_t modified_ns = 0;  // since 1970
  MS_Note note = {};

  std::string name() const { return note.name; }
  // Files of one family are alternatives. Without a family in the note, it is the name.
  std::string family() const { return note.family[0] != '\0' ? note.family : note.name; }
};

// Reads the note. NOT_FOUND if there is no such file; INVALID_ARGUMENT "not a Millstream plugin:
// ..." for a file that is not an intact shared object for this machine with a note.
StatusOr<PluginFile> ReadPluginFile(const std::string& path);

// FAILED_PRECONDITION, with the path and numbers, if this host cannot load the file: it has another
// ABI major, needs a newer host, or was built with a sanitizer that this process does not use.
Status CheckCompatible(const PluginFile& file, uint16_t host_major = MS_ABI_MAJOR,
                       uint16_t host_minor = MS_ABI_MINOR);

// FAILED_PRECONDITION naming the instruction sets that the file needs and `enabled` lacks.
Status CheckCpu(const PluginFile& file, uint64_t enabled);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PREFLIGHT_H_
