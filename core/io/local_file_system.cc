// The files of this machine, by POSIX calls.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/io/errno_status.h"
#include "core/io/file_system.h"
#include "core/io/local_files.h"

namespace millstream {
namespace {

// The result of `call`, which is made again when a signal interrupted it.
template <typename Call>
auto Uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// The error of the system's last call, or success.
Status Result(bool succeeded, const std::string& path) {
  return succeeded ? absl::OkStatus() : ErrnoStatus(errno, path);
}

StatusOr<int> Open(const std::string& path, int flags) {
  const int descriptor = Uninterrupted([&] { return open(path.c_str(), flags | O_CLOEXEC, 0666); });
  if (descriptor < 0) return ErrnoStatus(errno, path);
  return descriptor;
}

// Not made again after a signal: Linux has given the descriptor back by then.
Status CloseDescriptor(int descriptor, const std::string& path) {
  return Result(close(descriptor) == 0 || errno == EINTR, path);
}

class LocalReadableFile : public ReadableFile {
 public:
  LocalReadableFile(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  ~LocalReadableFile() override { close(descriptor_); }

  StatusOr<size_t> ReadAt(uint64_t offset, absl::Span<char> buffer) const override {
    size_t filled = 0;
    while (filled < buffer.size()) {
      const ssize_t count = Uninterrupted([&] {
        return pread(descriptor_, buffer.data() + filled, buffer.size() - filled,
                     static_cast<off_t>(offset + filled));
      });
      if (count < 0) return ErrnoStatus(errno, path_);
      if (count == 0) break;
      filled += static_cast<size_t>(count);
    }
    return filled;
  }

 private:
  const std::string path_;
  const int descriptor_;
};

class LocalAppendableFile : public AppendableFile {
 public:
  LocalAppendableFile(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  ~LocalAppendableFile() override { Close().IgnoreError(); }

  Status Append(absl::string_view data) override {
    MS_RETURN_IF_ERROR(CheckOpen());
    while (!data.empty()) {
      const ssize_t count =
          Uninterrupted([&] { return write(descriptor_, data.data(), data.size()); });
      if (count < 0) return ErrnoStatus(errno, path_);
      data.remove_prefix(static_cast<size_t>(count));
    }
    return absl::OkStatus();
  }

  Status Sync() override {
    MS_RETURN_IF_ERROR(CheckOpen());
    return Result(Uninterrupted([&] { return fsync(descriptor_); }) == 0, path_);
  }

  Status Close() override {
    if (descriptor_ < 0) return absl::OkStatus();
    return CloseDescriptor(std::exchange(descriptor_, -1), path_);
  }

 private:
  Status CheckOpen() const {
    if (descriptor_ >= 0) return absl::OkStatus();
    return errors::FailedPrecondition(path_, ": the file is closed");
  }

  const std::string path_;
  int descriptor_;  // -1: closed
};

// The file goes with the lock. Who opened it before that finds that it is not the file of the name.
class LocalFileLock : public FileLock {
 public:
  LocalFileLock(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  ~LocalFileLock() override {
    unlink(path_.c_str());
    close(descriptor_);
  }

 private:
  const std::string path_;
  const int descriptor_;
};

// Whether the file that is open is the one that has the name.
bool HasName(int descriptor, const std::string& path) {
  struct stat opened = {};
  struct stat named = {};
  return fstat(descriptor, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

int FlagsFor(FileSystem::Existing existing) {
  switch (existing) {
    case FileSystem::Existing::kRefuse: return O_EXCL;
    case FileSystem::Existing::kReplace: return O_TRUNC;
    case FileSystem::Existing::kKeep: return 0;
  }
  return O_EXCL;
}

class PosixFileSystem : public FileSystem {
 public:
  StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) override {
    MS_ASSIGN_OR_RETURN(const int descriptor, Open(path, O_RDONLY));
    return std::make_unique<LocalReadableFile>(path, descriptor);
  }

  StatusOr<std::unique_ptr<AppendableFile>> OpenForAppending(const std::string& path,
                                                             Existing existing) override {
    MS_ASSIGN_OR_RETURN(const int descriptor,
                        Open(path, O_WRONLY | O_CREAT | O_APPEND | FlagsFor(existing)));
    return std::make_unique<LocalAppendableFile>(path, descriptor);
  }

  StatusOr<FileInfo> Describe(const std::string& path) override {
    struct stat found = {};
    if (stat(path.c_str(), &found) != 0) return ErrnoStatus(errno, path);
    return FileInfo{static_cast<uint64_t>(found.st_size), S_ISDIR(found.st_mode)};
  }

  Status Rename(const std::string& from, const std::string& to, Existing existing) override {
    if (existing == Existing::kReplace) return Result(rename(from.c_str(), to.c_str()) == 0, to);
    if (existing == Existing::kKeep) {
      return errors::InvalidArgument(to, ": a rename refuses or replaces an existing file");
    }
    const int renamed = renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
    // NFS has no such rename (EINVAL), and neither have old kernels (ENOSYS).
    if (renamed != 0 && (errno == EINVAL || errno == ENOSYS)) return RenameByLink(from, to);
    return Result(renamed == 0, to);
  }

  Status Link(const std::string& from, const std::string& to) override {
    return Result(link(from.c_str(), to.c_str()) == 0, to);
  }

  StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    while (true) {
      MS_ASSIGN_OR_RETURN(const int descriptor, Open(path, O_RDWR | O_CREAT));
      const bool is_taken =
          Uninterrupted([&] { return flock(descriptor, LOCK_EX | LOCK_NB); }) != 0 &&
          errno == EWOULDBLOCK;
      if (!is_taken && HasName(descriptor, path)) {
        return std::make_unique<LocalFileLock>(path, descriptor);
      }
      close(descriptor);
      if (is_taken) return errors::FailedPrecondition(path, ": somebody else holds this lock");
    }
  }

  Status Remove(const std::string& path) override {
    return Result(unlink(path.c_str()) == 0, path);
  }

  Status RemoveFolder(const std::string& path) override {
    return Result(rmdir(path.c_str()) == 0, path);
  }

  StatusOr<std::vector<std::string>> List(const std::string& folder) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), &closedir);
    if (entries == nullptr) return ErrnoStatus(errno, folder);
    std::vector<std::string> names;
    errno = 0;  // tells an error from the end
    while (const dirent* const entry = readdir(entries.get())) {
      std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(std::move(name));
    }
    if (errno != 0) return ErrnoStatus(errno, folder);
    std::sort(names.begin(), names.end());
    return names;
  }

  Status MakeFolders(const std::string& folder) override {
    Status made = MakeFolder(folder);
    if (!absl::IsNotFound(made)) return made;
    const std::string above = FolderOf(folder);
    if (above == folder) return made;
    MS_RETURN_IF_ERROR(MakeFolders(above));
    return MakeFolder(folder);
  }

  Status SyncFolder(const std::string& folder) override {
    MS_ASSIGN_OR_RETURN(const int descriptor, Open(folder, O_RDONLY | O_DIRECTORY));
    const Status synced =
        Result(Uninterrupted([&] { return fsync(descriptor); }) == 0 || errno == EINVAL, folder);
    const Status closed = CloseDescriptor(descriptor, folder);
    return synced.ok() ? closed : synced;
  }

 private:
  // Succeeds when the folder is there.
  Status MakeFolder(const std::string& folder) {
    if (mkdir(folder.c_str(), 0777) == 0) return absl::OkStatus();
    const Status error = ErrnoStatus(errno, folder);
    const StatusOr<FileInfo> found = Describe(folder);
    return found.ok() && found->is_folder ? absl::OkStatus() : error;
  }
};

}  // namespace

Status RenameByLink(const std::string& from, const std::string& to) {
  MS_RETURN_IF_ERROR(Result(link(from.c_str(), to.c_str()) == 0, to));
  return Result(unlink(from.c_str()) == 0, from);
}

FileSystem* LocalFileSystem() {
  static PosixFileSystem* const files = new PosixFileSystem;  // never freed: exiting threads use it
  return files;
}

std::string FolderOf(absl::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  while (!path.empty() && path.back() != '/') path.remove_suffix(1);
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return std::string(path);
}

}  // namespace millstream
