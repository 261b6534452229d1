#include "core/checkpoint/saved_slices_reader.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/checkpoint/coding.h"
#include "core/checkpoint/saved_slices_format.h"
#include "framework/message_size.h"
#include "framework/proto_conversion.h"

namespace millstream {
namespace {

StatusOr<std::vector<std::string>> MatchingPaths(FileSystem* files, const std::string& pattern) {
  const bool is_pattern = pattern.find_first_of("?*[") != std::string::npos;
  if (!is_pattern) {
    MS_RETURN_IF_ERROR(files->Describe(pattern).status());
    return std::vector<std::string>{pattern};
  }
  const std::string folder = FolderOf(pattern);
  const size_t name_begin = pattern.rfind('/') + 1;  // 0 if there is no "/"
  MS_ASSIGN_OR_RETURN(const std::vector<std::string> names, files->List(folder));
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    if (fnmatch(pattern.c_str() + name_begin, name.c_str(), 0) != 0) continue;
    paths.push_back(pattern.substr(0, name_begin) + name);
  }
  if (paths.empty()) return errors::NotFound(pattern, ": no file has such a name");
  return paths;
}

// What a table of contents may take in memory: so much, and so many times the size of its file.
// That of numbers with four dimensions takes 8 times as much as the file. What is made of it takes
// as much once more.
constexpr int64_t kLeastContentsBytes = int64_t{12} << 20;
constexpr int64_t kContentsGrowth = 8;
// The same for the values of a slice. Empty strings take most: 36 times as much as in the file.
constexpr int64_t kLeastValueBytes = int64_t{16} << 20;
constexpr int64_t kValueGrowth = 40;

// Parses an entry. False if it is none, or one that takes more than `limit` bytes of memory.
bool ParseEntry(const std::string& bytes, int64_t limit, proto::SavedTensorSlices* message) {
  return ParsedBytes(message->GetDescriptor(), bytes, limit) <= limit &&
         message->ParseFromString(bytes);
}

// How many values the lists of a message have; a complex number has two.
int64_t CountValues(const proto::TensorProto& message) {
  const google::protobuf::Reflection* const reflection = message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  int64_t count = 0;
  for (const google::protobuf::FieldDescriptor* const field : fields) {
    if (field->is_repeated()) count += reflection->FieldSize(message, field);
  }
  return count;
}

// TensorFromProto would repeat the last value of a list that is too short.
Status CheckCount(const proto::TensorProto& message, const Tensor& out) {
  const bool is_complex =
      out.dtype() == DataType::kComplex64 || out.dtype() == DataType::kComplex128;
  const int64_t wanted = out.num_elements() * (is_complex ? 2 : 1);
  const int64_t count = CountValues(message);
  if (count == wanted || !message.tensor_content().empty()) return absl::OkStatus();
  return errors::InvalidArgument("a slice of ", wanted, " values has ", count);
}

// Without a second tensor in between, whose strings would take memory once more.
Status MoveStrings(proto::TensorProto* message, const Tensor& out) {
  if (message->string_val_size() != out.num_elements()) {
    return errors::InvalidArgument("a slice of ", out.num_elements(), " strings has ",
                                   message->string_val_size());
  }
  for (int i = 0; i < message->string_val_size(); ++i) {
    out.data<std::string>()[i] = std::move(*message->mutable_string_val(i));
  }
  return absl::OkStatus();
}

Status CopyElements(proto::TensorProto* message, const Tensor& out) {
  MS_RETURN_IF_ERROR(CheckCount(*message, out));
  if (out.dtype() == DataType::kString && message->tensor_content().empty()) {
    return MoveStrings(message, out);
  }
  message->set_dtype(DataTypeToProto(out.dtype()));
  ShapeToProto(PartialShape(out.shape()), message->mutable_tensor_shape());
  MS_ASSIGN_OR_RETURN(const Tensor read, TensorFromProto(*message));
  if (out.dtype() == DataType::kString) {
    std::copy_n(read.data<std::string>(), out.num_elements(), out.data<std::string>());
  } else if (out.bytes() > 0) {
    std::memcpy(out.raw(), read.raw(), out.bytes());
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<CheckpointReader>> SavedSlicesReader::Open(FileSystem* files,
                                                                    std::string pattern) {
  MS_ASSIGN_OR_RETURN(const std::vector<std::string> paths, MatchingPaths(files, pattern));
  std::unique_ptr<SavedSlicesReader> reader(new SavedSlicesReader(std::move(pattern)));
  for (const std::string& path : paths) {
    MS_ASSIGN_OR_RETURN(std::unique_ptr<TableFile> file, TableFile::Open(files, path));
    MS_RETURN_IF_ERROR(reader->AddFile(std::move(file)));
  }
  return std::unique_ptr<CheckpointReader>(std::move(reader));
}

Status SavedSlicesReader::AddFile(std::unique_ptr<TableFile> file) {
  MS_ASSIGN_OR_RETURN(const std::optional<std::string> contents, file->Find(""));
  proto::SavedTensorSlices message;
  const int64_t limit = kLeastContentsBytes + kContentsGrowth * static_cast<int64_t>(file->size());
  if (!contents.has_value() || !ParseEntry(*contents, limit, &message) || !message.has_meta()) {
    return absl::DataLossError(absl::StrCat(file->path(), ": a table, but not a checkpoint"));
  }
  const int version = message.meta().versions().min_consumer();
  if (version > kSavedSlicesVersion) {
    return errors::Unimplemented(file->path(), ": asks for readers of version ", version,
                                 ", this is one of version ", kSavedSlicesVersion);
  }
  for (const proto::SavedSliceMeta& meta : message.meta().tensor()) {
    const Status added = AddTensor(*file, meta);
    if (!added.ok()) return DamagedTensor(file->path(), meta.name(), added.message());
  }
  files_.push_back(std::move(file));
  return absl::OkStatus();
}

Status SavedSlicesReader::AddTensor(const TableFile& file, const proto::SavedSliceMeta& meta) {
  MS_ASSIGN_OR_RETURN(Shape shape, ShapeFromProto(meta.shape()));
  MS_ASSIGN_OR_RETURN(const DataType dtype, DataTypeFromProto(meta.type()));
  if (!IsPlainData(dtype) && dtype != DataType::kString) {
    return errors::Unimplemented("a checkpoint has no ", DataTypeName(dtype));
  }
  const auto [found, is_new] = entries_.try_emplace(meta.name(), Entry{{dtype, shape}, {}, {}});
  Entry& entry = found->second;
  if (entry.info.dtype != dtype || entry.info.shape != shape) {
    return errors::InvalidArgument("its slices have different dtypes or are of different shapes");
  }
  for (const proto::TensorSliceProto& slice : meta.slice()) {
    MS_ASSIGN_OR_RETURN(TensorSlice added, FromProto(slice, shape));
    entry.slices.push_back(std::move(added));
    entry.files.push_back(&file);
  }
  return absl::OkStatus();
}

StatusOr<const SavedSlicesReader::Entry*> SavedSlicesReader::FindEntry(
    absl::string_view name) const {
  const auto found = entries_.find(std::string(name));
  if (found != entries_.end()) return &found->second;
  return errors::NotFound("Key ", name, " not found in checkpoint ", prefix());
}

StatusOr<CheckpointReader::Info> SavedSlicesReader::Find(absl::string_view name) const {
  MS_ASSIGN_OR_RETURN(const Entry* const entry, FindEntry(name));
  return entry->info;
}

// An element takes a byte or more, a string two.
Status SavedSlicesReader::CheckHeld(absl::string_view name) const {
  MS_ASSIGN_OR_RETURN(const Entry* const entry, FindEntry(name));
  uint64_t bytes = 0;
  for (const std::unique_ptr<TableFile>& file : files_) bytes += file->size();
  const auto count = static_cast<uint64_t>(entry->info.shape.num_elements());
  if (count <= (entry->info.dtype == DataType::kString ? bytes / 2 : bytes)) {
    return absl::OkStatus();
  }
  return DamagedTensor(prefix(), name,
                       absl::StrCat(count, " elements are not in ", bytes, " bytes"));
}

std::vector<std::string> SavedSlicesReader::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

StatusOr<std::vector<TensorSlice>> SavedSlicesReader::SlicesOf(absl::string_view name,
                                                               const Shape& whole) const {
  MS_ASSIGN_OR_RETURN(const Entry* const entry, FindEntry(name));
  return entry->slices;
}

Status SavedSlicesReader::ReadSlice(absl::string_view name, const TensorSlice& slice,
                                    const Tensor& out) const {
  MS_ASSIGN_OR_RETURN(const Entry* const entry, FindEntry(name));
  const auto found =
      std::find_if(entry->slices.begin(), entry->slices.end(),
                   [&](const TensorSlice& stored) { return stored.extents == slice.extents; });
  const TableFile& file = *entry->files[found - entry->slices.begin()];
  const auto damaged = [&](absl::string_view why) {
    return DamagedTensor(file.path(), name, absl::StrCat("slice ", slice.ToString(), ": ", why));
  };
  MS_ASSIGN_OR_RETURN(const std::optional<std::string> value, file.Find(SliceKey(name, slice)));
  if (!value.has_value()) return damaged("it is not in the file");
  proto::SavedTensorSlices message;
  const int64_t limit = kLeastValueBytes + kValueGrowth * static_cast<int64_t>(value->size());
  if (!ParseEntry(*value, limit, &message) || !message.has_data()) {
    return damaged("its entry is damaged");
  }
  const Status copied = CopyElements(message.mutable_data()->mutable_data(), out);
  return copied.ok() ? copied : damaged(copied.message());
}

}  // namespace millstream
