#include "core/io/faulty_file_system.h"

#include <cerrno>
#include <iterator>
#include <limits>
#include <utility>

#include "core/io/errno_status.h"

namespace millstream {

class FaultyFileSystem::Reader : public ReadableFile {
 public:
  Reader(FaultyFileSystem* files, std::shared_ptr<File> file)
      : files_(files), file_(std::move(file)) {}

  StatusOr<size_t> ReadAt(uint64_t offset, absl::Span<char> buffer) const override {
    absl::MutexLock lock(&files_->mutex_);
    MS_RETURN_IF_ERROR(files_->Begin());
    const std::string& contents = file_->contents;
    if (offset >= contents.size()) return size_t{0};
    return contents.copy(buffer.data(), buffer.size(), offset);
  }

 private:
  FaultyFileSystem* const files_;
  const std::shared_ptr<File> file_;
};

class FaultyFileSystem::Appender : public AppendableFile {
 public:
  Appender(FaultyFileSystem* files, std::string path, std::shared_ptr<File> file, int crashes)
      : files_(files), path_(std::move(path)), file_(std::move(file)), crashes_(crashes) {}

  Status Append(absl::string_view data) override {
    absl::MutexLock lock(&files_->mutex_);
    MS_RETURN_IF_ERROR(CheckOpen());
    const Status begun = files_->Begin();
    file_->contents.append(data.data(), begun.ok() ? data.size() : data.size() / 2);
    return begun;
  }

  Status Sync() override {
    absl::MutexLock lock(&files_->mutex_);
    MS_RETURN_IF_ERROR(CheckOpen());
    MS_RETURN_IF_ERROR(files_->Begin());
    file_->synced = file_->contents;
    return absl::OkStatus();
  }

  Status Close() override {
    if (std::exchange(closed_, true)) return absl::OkStatus();
    absl::MutexLock lock(&files_->mutex_);
    return files_->Begin();
  }

 private:
  Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(files_->mutex_) {
    if (files_->crashes_ != crashes_) return absl::UnavailableError(path_ + ": crashed");
    if (closed_) return errors::FailedPrecondition(path_, ": the file is closed");
    return absl::OkStatus();
  }

  FaultyFileSystem* const files_;
  const std::string path_;
  const std::shared_ptr<File> file_;
  const int crashes_;  // before it was opened
  bool closed_ = false;
};

class FaultyFileSystem::Holder : public FileLock {
 public:
  Holder(FaultyFileSystem* files, std::string path, int crashes)
      : files_(files), path_(std::move(path)), crashes_(crashes) {}
  ~Holder() override {
    absl::MutexLock lock(&files_->mutex_);
    if (files_->crashes_ == crashes_) files_->locks_.erase(path_);
  }

 private:
  FaultyFileSystem* const files_;
  const std::string path_;
  const int crashes_;  // before it was taken
};

void FaultyFileSystem::Fail(int first, int last, Status error) {
  absl::MutexLock lock(&mutex_);
  num_operations_ = 0;
  first_failing_ = first;
  last_failing_ = last;
  error_ = std::move(error);
}

void FaultyFileSystem::FailOperation(int n, Status error) { Fail(n, n, std::move(error)); }

void FaultyFileSystem::FailFrom(int n, Status error) {
  Fail(n, std::numeric_limits<int>::max(), std::move(error));
}

int FaultyFileSystem::num_operations() const {
  absl::MutexLock lock(&mutex_);
  return num_operations_;
}

void FaultyFileSystem::Crash(Names names) {
  absl::MutexLock lock(&mutex_);
  ++crashes_;
  locks_.clear();
  if (names == Names::kSynced) names_ = synced_names_;
  for (const auto& [path, file] : names_) file->contents = file->synced;
  synced_names_ = names_;
}

std::map<std::string, std::string> FaultyFileSystem::Contents() const {
  absl::MutexLock lock(&mutex_);
  std::map<std::string, std::string> contents;
  for (const auto& [path, file] : names_) contents[path] = file->contents;
  return contents;
}

Status FaultyFileSystem::Begin() {
  ++num_operations_;
  const bool fails = first_failing_ <= num_operations_ && num_operations_ <= last_failing_;
  return fails ? error_ : absl::OkStatus();
}

StatusOr<std::shared_ptr<FaultyFileSystem::File>> FaultyFileSystem::Find(
    const std::string& path) const {
  if (folders_.count(path) > 0) return ErrnoStatus(EISDIR, path);
  const auto found = names_.find(path);
  if (found == names_.end()) return ErrnoStatus(ENOENT, path);
  return found->second;
}

Status FaultyFileSystem::CheckFolder(const std::string& folder) const {
  if (folders_.count(folder) > 0) return absl::OkStatus();
  return ErrnoStatus(names_.count(folder) > 0 ? ENOTDIR : ENOENT, folder);
}

StatusOr<std::unique_ptr<ReadableFile>> FaultyFileSystem::OpenForReading(const std::string& path) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(Begin());
  MS_ASSIGN_OR_RETURN(std::shared_ptr<File> file, Find(path));
  return std::make_unique<Reader>(this, std::move(file));
}

StatusOr<std::unique_ptr<AppendableFile>> FaultyFileSystem::OpenForAppending(
    const std::string& path, Existing existing) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(Begin());
  MS_RETURN_IF_ERROR(CheckFolder(FolderOf(path)));
  StatusOr<std::shared_ptr<File>> file = Find(path);
  if (!file.ok() && !absl::IsNotFound(file.status())) return file.status();
  if (file.ok() && existing == Existing::kRefuse) return ErrnoStatus(EEXIST, path);
  if (!file.ok()) {
    file = std::make_shared<File>();
    names_[path] = *file;
  }
  if (existing == Existing::kReplace) (*file)->contents.clear();
  return std::make_unique<Appender>(this, path, *std::move(file), crashes_);
}

StatusOr<FileInfo> FaultyFileSystem::Describe(const std::string& path) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(Begin());
  if (folders_.count(path) > 0) return FileInfo{0, true};
  MS_ASSIGN_OR_RETURN(const std::shared_ptr<File> file, Find(path));
  return FileInfo{file->contents.size(), false};
}

Status FaultyFileSystem::Rename(const std::string& from, const std::string& to, Existing existing) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(Begin());
  if (existing == Existing::kKeep) {
    return errors::InvalidArgument(to, ": a rename refuses or replaces an existing file");
  }
  MS_ASSIGN_OR_RETURN(std::shared_ptr<File> file, Find(from));
  MS_RETURN_IF_ERROR(CheckFolder(FolderOf(to)));
  if (existing == Existing::kRefuse && names_.count(to) > 0) return ErrnoStatus(EEXIST, to);
  names_.erase(from);
  names_[to] = std::move(file);
  return absl::OkStatus();
}

Status FaultyFileSystem::Link(const std::string& from, const std::string& to) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(Begin());
  MS_ASSIGN_OR_RETURN(std::shared_ptr<File> file, Find(from));
  MS_RETURN_IF_ERROR(CheckFolder(FolderOf(to)));
  if (!names_.emplace(to, std::move(file)).second) return ErrnoStatus(EEXIST, to);
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<FileLock>> FaultyFileSystem::Lock(const std::string& path) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(Begin());
  MS_RETURN_IF_ERROR(CheckFolder(FolderOf(path)));
  if (!locks_.insert(path).second) {
    return errors::FailedPrecondition(path, ": somebody else holds this lock");
  }
  return std::make_unique<Holder>(this, path, crashes_);
}

Status FaultyFileSystem::Remove(const std::string& path) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(Begin());
  MS_RETURN_IF_ERROR(Find(path).status());
  names_.erase(path);
  return absl::OkStatus();
}

Status FaultyFileSystem::RemoveFolder(const std::string& path) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(Begin());
  MS_RETURN_IF_ERROR(CheckFolder(path));
  for (const auto& [name, file] : names_) {
    if (FolderOf(name) == path) return ErrnoStatus(ENOTEMPTY, path);
  }
  folders_.erase(path);
  return absl::OkStatus();
}

StatusOr<std::vector<std::string>> FaultyFileSystem::List(const std::string& folder) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(Begin());
  MS_RETURN_IF_ERROR(CheckFolder(folder));
  std::set<std::string> names;
  const auto add = [&](const std::string& path) {
    if (path != folder && FolderOf(path) == folder) names.insert(path.substr(path.rfind('/') + 1));
  };
  for (const auto& [path, file] : names_) add(path);
  for (const std::string& path : folders_) add(path);
  return std::vector<std::string>(names.begin(), names.end());
}

Status FaultyFileSystem::MakeFolders(const std::string& folder) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(Begin());
  std::vector<std::string> missing;
  for (std::string path = folder; folders_.count(path) == 0; path = FolderOf(path)) {
    if (names_.count(path) > 0) return ErrnoStatus(path == folder ? EEXIST : ENOTDIR, folder);
    missing.push_back(path);
  }
  folders_.insert(missing.begin(), missing.end());
  return absl::OkStatus();
}

Status FaultyFileSystem::SyncFolder(const std::string& folder) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(Begin());
  MS_RETURN_IF_ERROR(CheckFolder(folder));
  const auto is_inside = [&](const std::string& path) { return FolderOf(path) == folder; };
  for (auto it = synced_names_.begin(); it != synced_names_.end();) {
    it = is_inside(it->first) ? synced_names_.erase(it) : std::next(it);
  }
  for (const auto& [path, file] : names_) {
    if (is_inside(path)) synced_names_[path] = file;
  }
  return absl::OkStatus();
}

}  // namespace millstream
