// Reads whole files.
#ifndef MILLSTREAM_CORE_IO_WHOLE_FILE_H_
#define MILLSTREAM_CORE_IO_WHOLE_FILE_H_

#include <string>

#include "core/io/file_system.h"

namespace millstream {

// The contents of the file `path`. Thread-safe.
StatusOr<std::string> ReadWholeFile(FileSystem* files, const std::string& path);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_WHOLE_FILE_H_
