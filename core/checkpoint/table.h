// Tables: files of sorted keys with values, in the format of LevelDB (doc/table_format.md), in
// which checkpoints have their index.
//
// A table is blocks of entries, an index block of their places, and a footer. In a block a key is
// written without what it has in common with the key before it, but for every 16th. Each block has
// a checksum.
#ifndef MILLSTREAM_CORE_CHECKPOINT_TABLE_H_
#define MILLSTREAM_CORE_CHECKPOINT_TABLE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "core/io/file_system.h"
#include "framework/status.h"

namespace millstream {

using TableEntries = std::vector<std::pair<std::string, std::string>>;

// The bytes of a table of these entries. REQUIRES: keys ascend.
std::string WriteTable(const TableEntries& entries);

// A table whose blocks are read when they are needed. Constant, so that several threads may use it.
//
// All methods return DATA_LOSS, with the path and the offset, for what is cut, changed, or no
// table; for keys that do not ascend; and for entries that take more memory than a table of this
// size has a use for. They also return the errors of the file system.
class TableFile {
 public:
  // Reads the footer and the index.
  static StatusOr<std::unique_ptr<TableFile>> Open(FileSystem* files, std::string path);

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }  // of the file, in bytes
  // The value under `key`, or nothing. Reads one block.
  StatusOr<std::optional<std::string>> Find(absl::string_view key) const;
  // Called with an entry, and where it stands in the file. The key and the value end with the call.
  using EntryVisitor =
      absl::FunctionRef<Status(uint64_t at, const std::string& key, absl::string_view value)>;
  // Visits all entries, in the order of their keys. Ends with the first error of the visitor.
  Status Visit(EntryVisitor visitor) const;

 private:
  struct Block;
  struct Place {
    std::string last_key;  // of the block; not less than any of its keys
    uint64_t offset = 0;
    uint64_t size = 0;
  };
  TableFile(std::string path, uint64_t size, std::unique_ptr<ReadableFile> file);

  Status ReadIndex();
  Status Lost(uint64_t offset, absl::string_view why) const;
  Status TakePlace(absl::string_view* text, uint64_t at, Place* place) const;
  StatusOr<Block> ReadBlock(const Place& place) const;
  Status VisitEntries(const Block& block, EntryVisitor visitor) const;
  // The same for entries whose keys ascend from *last on, which becomes the last one. Takes the
  // bytes of keys and values from *budget.
  Status VisitAscending(const Block& block, uint64_t* budget, std::optional<std::string>* last,
                        EntryVisitor visitor) const;
  // The bytes that the entries of a table of this size may take.
  uint64_t Budget() const;

  const std::string path_;
  const uint64_t size_;
  const std::unique_ptr<ReadableFile> file_;
  std::vector<Place> places_;  // constant after Open
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_TABLE_H_
