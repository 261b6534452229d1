// The interface to files. The runtime opens files only through it.
//
// Paths are bytes in the form of the file system; on this machine they are the system's paths.
// Errors begin with the path, "logs/a.pb: No space left on device". Errors of the system also
// contain its error number (errno_status.h). Unless a method says otherwise, the codes are:
// NOT_FOUND, the file or its folder does not exist; PERMISSION_DENIED; RESOURCE_EXHAUSTED, no
// space, memory or handles; FAILED_PRECONDITION, the path is a folder, or a part of it is not;
// UNKNOWN, the device fails.
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
  // read. It is less than the size of `buffer` only at the end of the file, and 0 after the end.
  virtual StatusOr<size_t> ReadAt(uint64_t offset, absl::Span<char> buffer) const = 0;
};

// A file that is open for appending. Not thread-safe. The destructor closes the file and ignores
// errors. Call Close to get them.
class AppendableFile {
 public:
  virtual ~AppendableFile() = default;
  // Appends all of `data`. After an error the file may contain a part of it. FAILED_PRECONDITION if
  // the file is closed.
  virtual Status Append(absl::string_view data) = 0;
  // Waits until the contents survive a crash of the machine. The file's name may still be lost, see
  // FileSystem::SyncFolder. FAILED_PRECONDITION if the file is closed.
  virtual Status Sync() = 0;
  // Closes the file, also after an error. Does not sync. A second call does nothing.
  virtual Status Close() = 0;
};

// A lock that this object holds until it is destroyed, or the process ends.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

struct FileInfo {
  uint64_t size = 0;  // bytes; unspecified for a folder
  bool is_folder = false;
};

// Thread-safe. Must outlive the files that it opened.
class FileSystem {
 public:
  // The treatment of an existing file of the same name.
  enum class Existing {
    kRefuse,   // ALREADY_EXISTS; the file does not change. The test and the change are atomic.
    kReplace,  // the new contents replace the old ones
    kKeep,     // new contents are appended to the old ones
  };

  virtual ~FileSystem() = default;

  // Opens an existing file. FAILED_PRECONDITION, from here or from the first read, for a folder.
  virtual StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) = 0;
  // Creates the file if it does not exist.
  virtual StatusOr<std::unique_ptr<AppendableFile>> OpenForAppending(const std::string& path,
                                                                     Existing existing) = 0;
  // NOT_FOUND if there is no file or folder of this name.
  virtual StatusOr<FileInfo> Describe(const std::string& path) = 0;
  // Renames the file `from` to `to`, atomically: at any time `to` is the old file or the new file,
  // each complete. INVALID_ARGUMENT if `existing` is kKeep. REQUIRES: both are on one file system.
  virtual Status Rename(const std::string& from, const std::string& to, Existing existing) = 0;
  // Gives the file `from` a second name. ALREADY_EXISTS if there is a file `to`. Not every file
  // system can: the code is that of its error. REQUIRES: both are on one file system.
  virtual Status Link(const std::string& from, const std::string& to) = 0;
  // Takes the lock `path`, which is a file as long as it is held. Locks exclude each other, also
  // those of one process. FAILED_PRECONDITION if somebody else holds it. A file system that has no
  // locks grants every one.
  virtual StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;
  // Removes a file. FAILED_PRECONDITION or PERMISSION_DENIED for a folder.
  virtual Status Remove(const std::string& path) = 0;
  // Removes a folder. FAILED_PRECONDITION if it is not empty, or is a file.
  virtual Status RemoveFolder(const std::string& path) = 0;
  // Names of the files and folders in `folder`, sorted, without "." and "..".
  virtual StatusOr<std::vector<std::string>> List(const std::string& folder) = 0;
  // Creates the folder and its missing parents. ALREADY_EXISTS if a file has this name.
  virtual Status MakeFolders(const std::string& folder) = 0;
  // Waits until created, changed and removed names in `folder` survive a crash of the machine.
  virtual Status SyncFolder(const std::string& folder) = 0;
};

// The files of this machine. Lives until the process ends.
FileSystem* LocalFileSystem();

// The folder of `path`: "a/b" for "a/b/c", "." for "c", "/" for "/c".
std::string FolderOf(absl::string_view path);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_FILE_SYSTEM_H_
