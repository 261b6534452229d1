// Tables: files of sorted keys with values, in the format of LevelDB (doc/table_format.md), in
// which checkpoints have their index.
//
// A table is blocks of entries, an index block of their places, and a footer. In a block a key is
// written without what it has in common with the key before it, but for every 16th. Each block has
// a checksum.
#ifndef MILLSTREAM_CORE_CHECKPOINT_TABLE_H_
#define MILLSTREAM_CORE_CHECKPOINT_TABLE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/io/file_system.h"
#include "framework/status.h"

namespace millstream {

using TableEntries = std::vector<std::pair<std::string, std::string>>;

// The bytes of a table of these entries. REQUIRES: keys ascend.
std::string WriteTable(const TableEntries& entries);

// The entries of the file `path`, in the order of their keys. DATA_LOSS, with the path and the
// offset, for a file that is cut, changed, or no table; for keys that do not ascend; and for keys
// that take more memory than a table of this size has a use for. Errors of the file system.
StatusOr<TableEntries> ReadTable(FileSystem* files, const std::string& path);

// All bytes of a file.
StatusOr<std::string> ReadWholeFile(FileSystem* files, const std::string& path);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_TABLE_H_
