#include "core/checkpoint/bundle_reader.h"

#include <algorithm>
#include <utility>

#include "core/checkpoint/bundle_format.h"
#include "core/checkpoint/coding.h"
#include "core/checkpoint/string_elements.h"
#include "core/checkpoint/table.h"
#include "core/io/crc32c.h"
#include "framework/proto_conversion.h"

namespace millstream {
namespace {

constexpr int kMostShards = 1 << 20;
// Read at once, so that the checksum finds the bytes in the processor's cache.
constexpr uint64_t kPieceBytes = uint64_t{1} << 18;

StatusOr<BundleReader::Info> InfoOf(const proto::BundleEntryProto& entry) {
  MS_ASSIGN_OR_RETURN(Shape shape, ShapeFromProto(entry.shape()));
  MS_ASSIGN_OR_RETURN(const DataType dtype, DataTypeFromProto(entry.dtype()));
  const bool is_text = dtype == DataType::kString;
  if (!IsPlainData(dtype) && !is_text) {
    return errors::Unimplemented("a checkpoint has no ", DataTypeName(dtype));
  }
  // Before anybody allocates memory for what the file cannot hold. A string has at least a byte.
  const auto size = static_cast<uint64_t>(entry.size());
  const auto count = static_cast<uint64_t>(shape.num_elements());
  const bool fits = is_text
                        ? count <= size
                        : size / DataTypeSize(dtype) == count && size % DataTypeSize(dtype) == 0;
  if (entry.slices().empty() && !fits) {
    return absl::DataLossError(
        absl::StrCat(size, " bytes are not those of ", DataTypeName(dtype), shape.ToString()));
  }
  return BundleReader::Info{dtype, std::move(shape)};
}

}  // namespace

StatusOr<BundleIndex> ReadBundleIndex(FileSystem* files, const std::string& prefix) {
  const std::string path = IndexPath(prefix);
  MS_ASSIGN_OR_RETURN(const TableEntries table, ReadTable(files, path));
  proto::BundleHeaderProto header;
  if (table.empty() || !table[0].first.empty() || !header.ParseFromString(table[0].second) ||
      header.num_shards() < 1 || header.num_shards() > kMostShards) {
    return absl::DataLossError(absl::StrCat(path, ": a table, but not the index of a checkpoint"));
  }
  if (header.endianness() != proto::BundleHeaderProto::LITTLE) {
    return errors::Unimplemented(path, ": its numbers are big-endian");
  }
  if (header.version().min_consumer() > 1) {
    return errors::Unimplemented(path, ": asks for readers of version ",
                                 header.version().min_consumer(), ", this is one of version 1");
  }
  BundleIndex index;
  index.num_shards = header.num_shards();
  for (size_t i = 1; i < table.size(); ++i) {
    proto::BundleEntryProto entry;
    if (!entry.ParseFromString(table[i].second) || entry.shard_id() < 0 ||
        entry.shard_id() >= index.num_shards || entry.offset() < 0 || entry.size() < 0) {
      return DamagedTensor(path, table[i].first, "its entry is damaged");
    }
    index.entries.emplace_hint(index.entries.end(), table[i].first, std::move(entry));
  }
  return index;
}

BundleReader::BundleReader(FileSystem* files, std::string prefix, BundleIndex index)
    : CheckpointReader(std::move(prefix)), files_(*files), index_(std::move(index)) {}

StatusOr<std::unique_ptr<CheckpointReader>> BundleReader::Open(FileSystem* files,
                                                               std::string prefix) {
  MS_ASSIGN_OR_RETURN(BundleIndex index, ReadBundleIndex(files, prefix));
  return std::unique_ptr<CheckpointReader>(
      new BundleReader(files, std::move(prefix), std::move(index)));
}

StatusOr<const proto::BundleEntryProto*> BundleReader::FindEntry(absl::string_view name) const {
  const auto found = index_.entries.find(std::string(name));
  if (found != index_.entries.end()) return &found->second;
  return errors::NotFound("Key ", name, " not found in checkpoint ", prefix());
}

StatusOr<BundleReader::Info> BundleReader::Find(absl::string_view name) const {
  MS_ASSIGN_OR_RETURN(const proto::BundleEntryProto* const entry, FindEntry(name));
  StatusOr<Info> info = InfoOf(*entry);
  if (!info.ok()) return DamagedTensor(IndexPath(prefix()), name, info.status().message());
  return info;
}

std::vector<std::string> BundleReader::Names() const {
  std::vector<std::string> names;
  for (const auto& [key, entry] : index_.entries) {
    if (key[0] != '\0') names.push_back(key);
  }
  return names;
}

// The entry's bytes, all of them, into a tensor of its dtype and shape.
Status BundleReader::ReadBytes(absl::string_view name, const proto::BundleEntryProto& entry,
                               const Tensor& out) const {
  const std::string path = DataPath(prefix(), entry.shard_id(), index_.num_shards);
  const bool is_text = out.dtype() == DataType::kString;
  const auto size = static_cast<uint64_t>(entry.size());
  const auto damaged = [&](absl::string_view why) {
    return DamagedTensor(path, name, absl::StrCat("at byte ", entry.offset(), ": ", why));
  };
  if (!is_text && size != out.bytes()) return damaged("its size is not that of its slice");
  MS_ASSIGN_OR_RETURN(const FileInfo info, files_.Describe(path));
  if (entry.offset() > static_cast<int64_t>(info.size) || size > info.size - entry.offset()) {
    return damaged(absl::StrCat(size, " bytes are not within the file, which has ", info.size));
  }
  MS_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files_.OpenForReading(path));
  std::string text(is_text ? size : 0, '\0');
  char* const bytes = is_text ? &text[0] : static_cast<char*>(out.raw());
  uint32_t crc = 0;
  for (uint64_t done = 0; done < size; done += kPieceBytes) {
    const uint64_t wanted = std::min(kPieceBytes, size - done);
    MS_ASSIGN_OR_RETURN(const size_t read,
                        file->ReadAt(entry.offset() + done, absl::MakeSpan(bytes + done, wanted)));
    if (read != wanted) return damaged("the file is cut");
    if (!is_text) crc = Crc32c(absl::string_view(bytes + done, wanted), crc);
  }
  if (is_text) {
    const Status taken = ReadStrings(text, out.flat<std::string>(), &crc);
    if (!taken.ok()) return damaged(taken.message());
  }
  return MaskCrc32c(crc) == entry.crc32c() ? absl::OkStatus() : damaged("the checksum is wrong");
}

StatusOr<std::vector<TensorSlice>> BundleReader::SlicesOf(absl::string_view name,
                                                          const Shape& whole) const {
  MS_ASSIGN_OR_RETURN(const proto::BundleEntryProto* const entry, FindEntry(name));
  if (entry->slices().empty()) return std::vector<TensorSlice>{TensorSlice::Whole(whole)};
  std::vector<TensorSlice> slices;
  for (const proto::TensorSliceProto& message : entry->slices()) {
    StatusOr<TensorSlice> slice = FromProto(message, whole);
    if (!slice.ok()) return DamagedTensor(IndexPath(prefix()), name, slice.status().message());
    slices.push_back(*std::move(slice));
  }
  return slices;
}

Status BundleReader::ReadSlice(absl::string_view name, const TensorSlice& slice,
                               const Tensor& out) const {
  MS_ASSIGN_OR_RETURN(const proto::BundleEntryProto* const entry, FindEntry(name));
  if (entry->slices().empty()) return ReadBytes(name, *entry, out);
  const StatusOr<const proto::BundleEntryProto*> part = FindEntry(SliceKey(name, slice));
  if (part.ok()) return ReadBytes(name, **part, out);
  return DamagedTensor(IndexPath(prefix()), name,
                       absl::StrCat("it lacks slice ", slice.ToString()));
}

}  // namespace millstream
