// Parts of the local file system that its tests call by themselves.
#ifndef MILLSTREAM_CORE_IO_LOCAL_FILES_H_
#define MILLSTREAM_CORE_IO_LOCAL_FILES_H_

#include <string>

#include "framework/status.h"

namespace millstream {

// Rename with Existing::kRefuse for file systems that cannot do it by one call: gives the file a
// second name and takes the first. A crash between the two leaves both names on the whole file.
Status RenameByLink(const std::string& from, const std::string& to);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_LOCAL_FILES_H_
