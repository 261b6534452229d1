// Parts of the local file system that tests call directly.
#ifndef MILLSTREAM_CORE_IO_LOCAL_FILES_H_
#define MILLSTREAM_CORE_IO_LOCAL_FILES_H_

#include <string>

#include "framework/status.h"

namespace millstream {

// Rename with Existing::kRefuse for file systems without a system call for it: adds the new name,
// then removes the old one. A crash between the two leaves the complete file with both names.
Status RenameByLink(const std::string& from, const std::string& to);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_LOCAL_FILES_H_
