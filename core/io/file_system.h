// Files, behind an interface: the runtime opens no file in another way.
//
// Paths are bytes as the file system takes them; on this machine the system's own paths. Errors
// begin with the path, "logs/a.pb: No space left on device"; those of the system also carry its
// number (errno_status.h). Codes, where a method says nothing else: NOT_FOUND, the file or its
// folder is not there; PERMISSION_DENIED; RESOURCE_EXHAUSTED, no space, memory or handles;
// FAILED_PRECONDITION, the path is a folder, or a part of it is none; UNKNOWN, the device fails.
#ifndef MILLSTREAM_CORE_IO_FILE_SYSTEM_H_
#define MILLSTREAM_CORE_IO_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "framework/status.h"

namespace millstream {

// A file that is open for reading. Thread-safe: reads have no common position.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  // Reads from byte `offset` until `buffer` is full or the file ends. Returns the number of bytes
  // read: less than `buffer` holds only at the end, 0 behind it.
  virtual StatusOr<size_t> ReadAt(uint64_t offset, absl::Span<char> buffer) const = 0;
};

// A file that is open for appending. One thread at a time. The destructor closes the file and
// ignores the error; who must know whether the bytes arrived calls Close.
class AppendableFile {
 public:
  virtual ~AppendableFile() = default;
  // Appends all of `data`. After an error the file may hold the beginning of it.
  // REQUIRES: the file is not closed; else FAILED_PRECONDITION.
  virtual Status Append(absl::string_view data) = 0;
  // Returns when the contents survive a crash of the machine. The file's name need not: see
  // FileSystem::SyncFolder.
  // REQUIRES: the file is not closed; else FAILED_PRECONDITION.
  virtual Status Sync() = 0;
  // Closes the file, after an error as well. Does not sync. A second call does nothing.
  virtual Status Close() = 0;
};

struct FileInfo {
  uint64_t size = 0;  // bytes; unspecified for a folder
  bool is_folder = false;
};

// Thread-safe. Outlives the files that it opened.
class FileSystem {
 public:
  // What to do about a file that has the name already.
  enum class Existing {
    kRefuse,  // ALREADY_EXISTS; the file stays as it is. The test and the change are one operation.
    kReplace,  // the new contents take its place
    kKeep,     // appending goes on behind its contents
  };

  virtual ~FileSystem() = default;

  virtual StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) = 0;
  // Makes the file when it is not there.
  virtual StatusOr<std::unique_ptr<AppendableFile>> OpenForAppending(const std::string& path,
                                                                     Existing existing) = 0;
  // NOT_FOUND is the answer to "does it exist?".
  virtual StatusOr<FileInfo> Describe(const std::string& path) = 0;
  // Gives the file `from` the name `to`, as one operation for everybody who looks: `to` is the old
  // file, none, or the new file, and never a part. Both are in the same folder.
  // REQUIRES: `existing` is not kKeep; else INVALID_ARGUMENT.
  virtual Status Rename(const std::string& from, const std::string& to, Existing existing) = 0;
  // Removes a file. FAILED_PRECONDITION or PERMISSION_DENIED for a folder.
  virtual Status Remove(const std::string& path) = 0;
  // Names of the files and folders in `folder`, sorted, without "." and "..".
  virtual StatusOr<std::vector<std::string>> List(const std::string& folder) = 0;
  // Makes the folder and those above it that are not there. ALREADY_EXISTS when a file has the
  // name of the folder.
  virtual Status MakeFolders(const std::string& folder) = 0;
  // Returns when names that were made, changed or removed in `folder` survive a crash of the
  // machine.
  virtual Status SyncFolder(const std::string& folder) = 0;
};

// The files of this machine. Lives until the process ends.
FileSystem* LocalFileSystem();

// The folder of `path`: "a/b" for "a/b/c", "." for "c", "/" for "/c".
std::string FolderOf(absl::string_view path);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_FILE_SYSTEM_H_
