// The index of a checkpoint and its data must fit at any time, and one rename changes one name. So
// the names of data files hold their number: "-of-00001" for one file. When a checkpoint replaces
// another, these are its states:
//
//   1. The old index. The new data have names of a number that no old file has: "-of-00002".
//   2. The new index says that number. The old data are not used any more, and are removed.
//   3. The data get their usual names, "-of-00001", beside the others, and the index says so.
//
// Each state is a complete checkpoint. What a crash leaves over is removed by the next writer.
#include "core/checkpoint/bundle_publish.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/checkpoint/bundle_format.h"
#include "core/checkpoint/table.h"
#include "core/io/write_file.h"

namespace millstream {
namespace {

// The paths of all data files of this prefix.
StatusOr<std::vector<std::string>> DataFiles(FileSystem* files, const std::string& prefix) {
  const std::string folder = FolderOf(prefix);
  const size_t name_begin = prefix.rfind('/') + 1;  // 0 if there is no "/"
  const std::string first = absl::StrCat(prefix.substr(name_begin), ".data-");
  constexpr absl::string_view kRest = "00000-of-00001";
  MS_ASSIGN_OR_RETURN(const std::vector<std::string> names, files->List(folder));
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    if (name.size() != first.size() + kRest.size() || !absl::StartsWith(name, first)) continue;
    paths.push_back(prefix.substr(0, name_begin) + name);
  }
  return paths;
}

std::string NumberOf(int count) { return absl::StrCat("-of-", absl::Dec(count, absl::kZeroPad5)); }

// The least number from `count` on that no data file has in its name.
int FreeNumber(const std::vector<std::string>& paths, int count) {
  const auto is_taken = [&](int number) {
    return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
      return absl::EndsWith(path, NumberOf(number));
    });
  };
  while (is_taken(count)) ++count;
  return count;
}

std::string IndexText(int num_shards, const BundleEntries& entries) {
  proto::BundleHeaderProto header;
  header.set_num_shards(num_shards);
  header.mutable_version()->set_producer(1);
  TableEntries table = {{std::string(), header.SerializeAsString()}};
  for (const auto& [key, entry] : entries) table.emplace_back(key, entry.SerializeAsString());
  return WriteTable(table);
}

Status WriteIndex(FileSystem* files, const std::string& prefix, const std::string& text) {
  return WriteFileAtomically(files, IndexPath(prefix), text, FileSystem::Existing::kReplace);
}

// True if the index may have these contents: they are read, or cannot be read.
bool MayBeIndex(FileSystem* files, const std::string& prefix, const std::string& text) {
  const auto file = files->OpenForReading(IndexPath(prefix));
  if (!file.ok()) return !absl::IsNotFound(file.status());
  std::string found(text.size() + 1, '\0');
  const StatusOr<size_t> size = (*file)->ReadAt(0, absl::MakeSpan(&found[0], found.size()));
  return !size.ok() || found.substr(0, *size) == text;
}

// Removes data files of `prefix` whose names do not have this number. The checkpoint is complete
// with them and without.
void RemoveOthers(FileSystem* files, const std::string& prefix, int number) {
  const StatusOr<std::vector<std::string>> paths = DataFiles(files, prefix);
  if (!paths.ok()) return;
  for (const std::string& path : *paths) {
    if (!absl::EndsWith(path, NumberOf(number))) files->Remove(path).IgnoreError();
  }
}

// State 2, from state 1. The names of the data survive a crash before that of the index does.
Status Publish(FileSystem* files, const std::string& prefix, const std::vector<std::string>& data,
               int number, const std::string& index) {
  for (size_t i = 0; i < data.size(); ++i) {
    MS_RETURN_IF_ERROR(files->Rename(data[i], DataPath(prefix, static_cast<int>(i), number),
                                     FileSystem::Existing::kReplace));
  }
  MS_RETURN_IF_ERROR(files->SyncFolder(FolderOf(prefix)));
  return WriteIndex(files, prefix, index);
}

// State 3, from state 2, which has `num_files` files with `number` in their names.
Status UseUsualNames(FileSystem* files, const std::string& prefix, int num_files, int number,
                     const BundleEntries& entries) {
  const int count = std::max(1, num_files);
  for (int i = 0; i < num_files; ++i) {
    MS_RETURN_IF_ERROR(files->Link(DataPath(prefix, i, number), DataPath(prefix, i, count)));
  }
  MS_RETURN_IF_ERROR(files->SyncFolder(FolderOf(prefix)));
  return WriteIndex(files, prefix, IndexText(count, entries));
}

// True for PATH.data.12-3.tmp and PATH.index.12-3.tmp: temporary files have the numbers of a
// process and of a file in their names.
bool IsTemporaryOf(absl::string_view path, absl::string_view name) {
  if (!absl::ConsumePrefix(&name, path) || !absl::ConsumeSuffix(&name, ".tmp")) return false;
  if (!absl::ConsumePrefix(&name, ".data.") && !absl::ConsumePrefix(&name, ".index.")) return false;
  return !name.empty() && name.find_first_not_of("0123456789-") == absl::string_view::npos;
}

void RemoveTemporaries(FileSystem* files, const std::string& prefix) {
  const size_t name_begin = prefix.rfind('/') + 1;  // 0 if there is no "/"
  const StatusOr<std::vector<std::string>> names = files->List(FolderOf(prefix));
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!IsTemporaryOf(prefix.substr(name_begin), name)) continue;
    files->Remove(prefix.substr(0, name_begin) + name).IgnoreError();
  }
}

}  // namespace

StatusOr<std::unique_ptr<FileLock>> LockBundle(FileSystem* files, const std::string& prefix) {
  StatusOr<std::unique_ptr<FileLock>> lock = files->Lock(absl::StrCat(prefix, ".lock"));
  if (lock.ok()) RemoveTemporaries(files, prefix);
  if (!absl::IsFailedPrecondition(lock.status())) return lock;
  return errors::FailedPrecondition("somebody else writes the checkpoint ", prefix,
                                    " now: ", lock.status().message());
}

Status PublishBundle(FileSystem* files, const std::string& prefix,
                     const std::vector<std::string>& data, const BundleEntries& entries) {
  MS_ASSIGN_OR_RETURN(const std::vector<std::string> old, DataFiles(files, prefix));
  const int num_files = static_cast<int>(data.size());
  const int count = std::max(1, num_files);  // one has tensors without elements alone
  const int number = FreeNumber(old, count);
  const std::string index = IndexText(number, entries);
  const Status published = Publish(files, prefix, data, number, index);
  if (!published.ok()) {
    // If only the last sync failed, the index is the new one and needs the data.
    if (MayBeIndex(files, prefix, index)) return published;
    for (int i = 0; i < num_files; ++i) files->Remove(DataPath(prefix, i, number)).IgnoreError();
    return published;
  }
  RemoveOthers(files, prefix, number);
  if (number == count) return absl::OkStatus();
  // Without links the names stay: the checkpoint is complete.
  if (UseUsualNames(files, prefix, num_files, number, entries).ok()) {
    RemoveOthers(files, prefix, count);
  }
  return absl::OkStatus();
}

Status RemoveBundle(FileSystem* files, const std::string& prefix) {
  const Status removed = files->Remove(IndexPath(prefix));
  if (absl::IsNotFound(removed)) return absl::OkStatus();
  MS_RETURN_IF_ERROR(removed);
  RemoveOthers(files, prefix, 0);
  return absl::OkStatus();
}

}  // namespace millstream
