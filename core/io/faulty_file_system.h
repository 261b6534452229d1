// A file system in memory for tests, whose operations fail and whose machine crashes on request.
#ifndef MILLSTREAM_CORE_IO_FAULTY_FILE_SYSTEM_H_
#define MILLSTREAM_CORE_IO_FAULTY_FILE_SYSTEM_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/io/file_system.h"

namespace millstream {

// The folders are ".", "/" and those that MakeFolders created. They survive crashes. Paths are
// compared as strings: "a/b" and "./a/b" are two files. Thread-safe.
class FaultyFileSystem : public FileSystem {
 public:
  // The names that exist after a crash. A real system guarantees only the synced ones.
  enum class Names {
    kSynced,   // the names at the last SyncFolder of their folder
    kCurrent,  // all names; unsynced contents are lost nevertheless
  };

  // Makes the n-th operation from now on, counted from 1, fail with `error`. It does nothing else,
  // except that a failing Append writes the first half of its data. Every method of the file system
  // and of its files counts, except destructors. 0: none fails.
  void FailOperation(int n, Status error) ABSL_LOCKS_EXCLUDED(mutex_);
  // Like FailOperation, for the n-th operation and all later ones, until the next call of either.
  void FailFrom(int n, Status error) ABSL_LOCKS_EXCLUDED(mutex_);
  // The number of operations since the last FailOperation or FailFrom, including the failed one.
  int num_operations() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Simulates a crash of the machine: unsynced contents are lost. Append and Sync of files that are
  // open then return UNAVAILABLE.
  void Crash(Names names) ABSL_LOCKS_EXCLUDED(mutex_);
  // All files, by path. Does not count as an operation.
  std::map<std::string, std::string> Contents() const ABSL_LOCKS_EXCLUDED(mutex_);

  StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) override;
  StatusOr<std::unique_ptr<AppendableFile>> OpenForAppending(const std::string& path,
                                                             Existing existing) override;
  StatusOr<FileInfo> Describe(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to, Existing existing) override;
  Status Link(const std::string& from, const std::string& to) override;
  // Locks are no files here. A crash releases them.
  StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override;
  Status Remove(const std::string& path) override;
  Status RemoveFolder(const std::string& path) override;
  StatusOr<std::vector<std::string>> List(const std::string& folder) override;
  Status MakeFolders(const std::string& folder) override;
  Status SyncFolder(const std::string& folder) override;

 private:
  class Reader;
  class Appender;
  class Holder;
  struct File {
    std::string contents;
    std::string synced;
  };
  using FilesByName = std::map<std::string, std::shared_ptr<File>>;

  void Fail(int first, int last, Status error) ABSL_LOCKS_EXCLUDED(mutex_);
  Status Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<std::shared_ptr<File>> Find(const std::string& path) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckFolder(const std::string& folder) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  FilesByName names_ ABSL_GUARDED_BY(mutex_);
  FilesByName synced_names_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> folders_ ABSL_GUARDED_BY(mutex_) = {".", "/"};
  std::set<std::string> locks_ ABSL_GUARDED_BY(mutex_);
  int crashes_ ABSL_GUARDED_BY(mutex_) = 0;
  int num_operations_ ABSL_GUARDED_BY(mutex_) = 0;
  int first_failing_ ABSL_GUARDED_BY(mutex_) = 0;
  int last_failing_ ABSL_GUARDED_BY(mutex_) = 0;
  Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_FAULTY_FILE_SYSTEM_H_
