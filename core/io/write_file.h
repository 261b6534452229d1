// Writes whole files atomically.
#ifndef MILLSTREAM_CORE_IO_WRITE_FILE_H_
#define MILLSTREAM_CORE_IO_WRITE_FILE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "core/io/file_system.h"

namespace millstream {

// Makes `contents` the contents of the file `path`. At any time, and after a crash at any time, the
// file is the complete old one (or none, if there was none) or the complete new one. After success
// the new file survives a crash.
//
// Writes "PATH.PROCESS-NUMBER.tmp", syncs and renames it, and syncs the folder. After an error it
// removes the temporary file if possible. Then `path` is the old file, or the new one if only the
// sync of the folder failed. A crash may leave the temporary file.
//
// ALREADY_EXISTS if the file exists and `existing` is kRefuse. INVALID_ARGUMENT if `existing` is
// kKeep. Thread-safe, also for one path.
Status WriteFileAtomically(FileSystem* files, const std::string& path, absl::string_view contents,
                           FileSystem::Existing existing);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_WRITE_FILE_H_
