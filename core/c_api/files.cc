// Files of this machine.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/c_api/c_api.h"
#include "core/c_api/handles.h"
#include "core/c_api/json.h"
#include "core/checkpoint/checkpoint_reader.h"
#include "core/io/crc32c.h"
#include "core/io/file_system.h"

struct millstream_file {
  std::unique_ptr<millstream::AppendableFile> file;
};

using millstream::AppendableFile;
using millstream::CheckpointReader;
using millstream::FileSystem;
using millstream::LocalFileSystem;
using millstream::StatusOr;
using millstream::c_api::Give;
using millstream::c_api::GiveBytes;

millstream_status* millstream_make_folders(const char* folder) {
  return Give(LocalFileSystem()->MakeFolders(folder));
}

millstream_status* millstream_checkpoint_list(const char* prefix, millstream_bytes* out) {
  *out = {nullptr, 0};
  const StatusOr<std::unique_ptr<CheckpointReader>> reader =
      CheckpointReader::Open(LocalFileSystem(), prefix);
  if (!reader.ok()) return Give(reader.status());
  std::string json;
  for (const std::string& name : (*reader)->Names()) {
    const StatusOr<CheckpointReader::Info> info = (*reader)->Find(name);
    if (!info.ok()) return Give(info.status());
    absl::StrAppend(&json, json.empty() ? "" : ",", "{\"name\":");
    millstream::c_api::AppendJsonString(name, &json);
    absl::StrAppend(&json, ",\"dtype\":", static_cast<int>(info->dtype), ",\"shape\":[",
                    absl::StrJoin(info->shape.dims(), ","), "]}");
  }
  *out = GiveBytes(absl::StrCat("[", json, "]"));
  return nullptr;
}

uint32_t millstream_crc32c(const void* data, size_t size) {
  return millstream::Crc32c(absl::string_view(static_cast<const char*>(data), size));
}

millstream_status* millstream_file_create(const char* path, millstream_file** out) {
  *out = nullptr;
  StatusOr<std::unique_ptr<AppendableFile>> file =
      LocalFileSystem()->OpenForAppending(path, FileSystem::Existing::kRefuse);
  if (!file.ok()) return Give(file.status());
  *out = new millstream_file{*std::move(file)};
  return nullptr;
}

millstream_status* millstream_file_append(millstream_file* file, const void* data, size_t size) {
  return Give(file->file->Append(absl::string_view(static_cast<const char*>(data), size)));
}

millstream_status* millstream_file_sync(millstream_file* file) { return Give(file->file->Sync()); }

millstream_status* millstream_file_close(millstream_file* file) {
  return Give(file->file->Close());
}

void millstream_file_free(millstream_file* file) { delete file; }
