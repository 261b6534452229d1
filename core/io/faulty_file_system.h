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

// Thread-safe. Folders, apart from "." and "/", are there once MakeFolders made them; they survive
// crashes. Paths are compared as they are written: "a/b" and "./a/b" are two files.
class FaultyFileSystem : public FileSystem {
 public:
  // Which names are there after a crash. A system promises the synced ones and may have others.
  enum class Names {
    kSynced,   // those of the last SyncFolder of their folder
    kCurrent,  // all, as if each had been synced at once; contents are lost all the same
  };

  // The n-th operation from now on, counted from 1, fails with `error` and does nothing, but that a
  // failing Append leaves the first half of its data in the file. Every method of the file system
  // and of its files counts, except destructors. 0: none fails.
  void FailOperation(int n, Status error) ABSL_LOCKS_EXCLUDED(mutex_);
  // As FailOperation, for the n-th operation and all that follow it, until it is called again.
  void FailFrom(int n, Status error) ABSL_LOCKS_EXCLUDED(mutex_);
  // That were called since FailOperation, FailFrom or the beginning, the failed one included.
  int num_operations() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The machine stops: contents that were not synced are lost. Files that are open then answer
  // Append and Sync with UNAVAILABLE.
  void Crash(Names names) ABSL_LOCKS_EXCLUDED(mutex_);
  // All files, by path. Does not count as an operation.
  std::map<std::string, std::string> Contents() const ABSL_LOCKS_EXCLUDED(mutex_);

  StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) override;
  StatusOr<std::unique_ptr<AppendableFile>> OpenForAppending(const std::string& path,
                                                             Existing existing) override;
  StatusOr<FileInfo> Describe(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to, Existing existing) override;
  Status Remove(const std::string& path) override;
  StatusOr<std::vector<std::string>> List(const std::string& folder) override;
  Status MakeFolders(const std::string& folder) override;
  Status SyncFolder(const std::string& folder) override;

 private:
  class Reader;
  class Appender;
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
  int crashes_ ABSL_GUARDED_BY(mutex_) = 0;
  int num_operations_ ABSL_GUARDED_BY(mutex_) = 0;
  int first_failing_ ABSL_GUARDED_BY(mutex_) = 0;
  int last_failing_ ABSL_GUARDED_BY(mutex_) = 0;
  Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_FAULTY_FILE_SYSTEM_H_
