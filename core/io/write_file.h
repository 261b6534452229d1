// Files that are written as a whole.
#ifndef MILLSTREAM_CORE_IO_WRITE_FILE_H_
#define MILLSTREAM_CORE_IO_WRITE_FILE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "core/io/file_system.h"

namespace millstream {

// Gives the file `path` exactly `contents`. Whoever looks, and whenever the machine crashes, finds
// the old file (none, where there was none) or the new one, and never a part. After success the new
// file survives a crash.
//
// Writes "PATH.PROCESS-NUMBER.tmp", syncs and renames it, and syncs the folder. After an error that
// file is removed, where it can be; the file `path` is the old one, or, when only the sync of the
// folder failed, the new one. A crash may leave the temporary file behind.
//
// ALREADY_EXISTS when a file has the name and `existing` is kRefuse. REQUIRES: `existing` is not
// kKeep; else INVALID_ARGUMENT. Thread-safe, also for one path.
Status WriteFileAtomically(FileSystem* files, const std::string& path, absl::string_view contents,
                           FileSystem::Existing existing);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_WRITE_FILE_H_
