// The files that a pattern means.
#ifndef MILLSTREAM_CORE_IO_MATCH_FILES_H_
#define MILLSTREAM_CORE_IO_MATCH_FILES_H_

#include <string>
#include <vector>

#include "core/io/file_system.h"
#include "framework/status.h"

namespace millstream {

// Paths of the files and folders that match the pattern, sorted. "*" stands for any characters but
// "/", "?" for one, "[a-z]" for one of some, and "\" takes the meaning from the next one. A name
// that begins with a dot matches as any other. Folders that are not there, or that may not be read,
// have no files.
StatusOr<std::vector<std::string>> MatchFiles(FileSystem* files, const std::string& pattern);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_MATCH_FILES_H_
