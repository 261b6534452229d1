#include "core/io/write_file.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

std::string TemporaryNameFor(const std::string& path) {
  static std::atomic<int> number{0};
  return absl::StrCat(path, ".", getpid(), "-", number.fetch_add(1), ".tmp");
}

// A file of this name is the rest of an earlier process, which had this one's number.
Status WriteAndSync(FileSystem* files, const std::string& path, absl::string_view contents) {
  MS_ASSIGN_OR_RETURN(const std::unique_ptr<AppendableFile> file,
                      files->OpenForAppending(path, FileSystem::Existing::kReplace));
  MS_RETURN_IF_ERROR(file->Append(contents));
  MS_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

}  // namespace

Status WriteFileAtomically(FileSystem* files, const std::string& path, absl::string_view contents,
                           FileSystem::Existing existing) {
  if (existing == FileSystem::Existing::kKeep) {
    return errors::InvalidArgument(path, ": a file is refused or replaced as a whole");
  }
  const std::string temporary = TemporaryNameFor(path);
  Status status = WriteAndSync(files, temporary, contents);
  if (status.ok()) status = files->Rename(temporary, path, existing);
  if (!status.ok()) {
    files->Remove(temporary).IgnoreError();  // it may not be there
    return status;
  }
  return files->SyncFolder(FolderOf(path));
}

}  // namespace millstream
