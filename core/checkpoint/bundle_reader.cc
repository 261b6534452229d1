#include "core/checkpoint/bundle_reader.h"

#include <algorithm>
#include <set>
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
// What one thread reads of a large tensor at a time.
constexpr uint64_t kThreadBytes = uint64_t{1} << 23;

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
  MS_ASSIGN_OR_RETURN(TableEntries table, ReadTable(files, path));
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
    auto [key, text] = std::exchange(table[i], {});  // no memory is held twice
    proto::BundleEntryProto entry;
    if (!entry.ParseFromString(text) || entry.shard_id() < 0 ||
        entry.shard_id() >= index.num_shards || entry.offset() < 0 || entry.size() < 0) {
      return DamagedTensor(path, key, "its entry is damaged");
    }
    index.entries.emplace_hint(index.entries.end(), std::move(key), std::move(entry));
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

std::string BundleReader::PathOf(const proto::BundleEntryProto& entry) const {
  return DataPath(prefix(), entry.shard_id(), index_.num_shards);
}

Status BundleReader::Damaged(absl::string_view name, const proto::BundleEntryProto& entry,
                             absl::string_view why) const {
  return DamagedTensor(PathOf(entry), name, absl::StrCat("at byte ", entry.offset(), ": ", why));
}

StatusOr<const ReadableFile*> BundleReader::FileOf(absl::string_view name,
                                                   const proto::BundleEntryProto& entry) const {
  absl::MutexLock lock(&mutex_);
  auto found = shards_.find(entry.shard_id());
  if (found == shards_.end()) {
    const std::string path = PathOf(entry);
    Shard shard;
    MS_ASSIGN_OR_RETURN(const FileInfo info, files_.Describe(path));
    MS_ASSIGN_OR_RETURN(shard.file, files_.OpenForReading(path));
    shard.size = info.size;
    found = shards_.emplace(entry.shard_id(), std::move(shard)).first;
  }
  const Shard& shard = found->second;
  const auto offset = static_cast<uint64_t>(entry.offset());
  const auto size = static_cast<uint64_t>(entry.size());
  if (offset <= shard.size && size <= shard.size - offset) return shard.file.get();
  return Damaged(name, entry,
                 absl::StrCat(size, " bytes are not within the file, which has ", shard.size));
}

// Of a tensor in slices, an element takes a byte or more in one of them. One that is missing is
// found when the tensor is read.
Status BundleReader::CheckHeld(absl::string_view name) const {
  MS_ASSIGN_OR_RETURN(const Info info, Find(name));
  MS_ASSIGN_OR_RETURN(const proto::BundleEntryProto* const entry, FindEntry(name));
  if (entry->slices().empty()) return FileOf(name, *entry).status();
  MS_ASSIGN_OR_RETURN(const std::vector<TensorSlice> slices, SlicesOf(name, info.shape));
  uint64_t bytes = 0;
  std::set<const proto::BundleEntryProto*> counted;  // a hostile list may have one many times
  for (const TensorSlice& slice : slices) {
    const StatusOr<const proto::BundleEntryProto*> part = FindEntry(SliceKey(name, slice));
    if (!part.ok() || !counted.insert(*part).second) continue;
    MS_RETURN_IF_ERROR(FileOf(name, **part).status());
    bytes += static_cast<uint64_t>((*part)->size());
  }
  const auto count = static_cast<uint64_t>(info.shape.num_elements());
  if (count <= bytes) return absl::OkStatus();
  return DamagedTensor(IndexPath(prefix()), name,
                       absl::StrCat(count, " elements are not in ", bytes, " bytes"));
}

Status BundleReader::ReadInto(absl::string_view name, const proto::BundleEntryProto& entry,
                              uint64_t begin, absl::Span<char> bytes, uint32_t* crc) const {
  MS_ASSIGN_OR_RETURN(const ReadableFile* const file, FileOf(name, entry));
  while (!bytes.empty()) {
    const absl::Span<char> piece = bytes.subspan(0, kPieceBytes);
    MS_ASSIGN_OR_RETURN(const size_t read, file->ReadAt(entry.offset() + begin, piece));
    if (read != piece.size()) return Damaged(name, entry, "the file is cut");
    if (crc != nullptr) *crc = Crc32c(absl::string_view(piece.data(), piece.size()), *crc);
    begin += piece.size();
    bytes.remove_prefix(piece.size());
  }
  return absl::OkStatus();
}

// The entry's bytes, all of them, into a tensor of its dtype and shape.
Status BundleReader::ReadBytes(absl::string_view name, const proto::BundleEntryProto& entry,
                               const Tensor& out) const {
  const auto size = static_cast<uint64_t>(entry.size());
  uint32_t crc = 0;
  if (out.dtype() == DataType::kString) {
    MS_RETURN_IF_ERROR(FileOf(name, entry).status());  // before there is memory for it
    std::string text(size, '\0');
    MS_RETURN_IF_ERROR(ReadInto(name, entry, 0, absl::MakeSpan(&text[0], size), nullptr));
    const Status taken = ReadStrings(text, out.flat<std::string>(), &crc);
    if (!taken.ok()) return Damaged(name, entry, taken.message());
  } else {
    if (size != out.bytes()) return Damaged(name, entry, "its size is not that of its slice");
    MS_RETURN_IF_ERROR(
        ReadInto(name, entry, 0, absl::MakeSpan(static_cast<char*>(out.raw()), out.bytes()), &crc));
  }
  if (MaskCrc32c(crc) == entry.crc32c()) return absl::OkStatus();
  return Damaged(name, entry, "the checksum is wrong");
}

uint64_t BundleReader::NumPieces(absl::string_view name) const {
  const StatusOr<const proto::BundleEntryProto*> entry = FindEntry(name);
  if (!entry.ok() || !(*entry)->slices().empty() || (*entry)->dtype() == proto::DT_STRING) return 1;
  return std::max<uint64_t>(1, ((*entry)->size() + kThreadBytes - 1) / kThreadBytes);
}

StatusOr<uint32_t> BundleReader::ReadPiece(absl::string_view name, uint64_t piece,
                                           const Tensor& out) const {
  MS_ASSIGN_OR_RETURN(const proto::BundleEntryProto* const entry, FindEntry(name));
  if (static_cast<uint64_t>(entry->size()) != out.bytes()) {
    return Damaged(name, *entry, "its size is not that of its tensor");
  }
  const absl::Span<char> bytes(static_cast<char*>(out.raw()), out.bytes());
  const uint64_t begin = piece * kThreadBytes;
  uint32_t crc = 0;
  MS_RETURN_IF_ERROR(ReadInto(name, *entry, begin, bytes.subspan(begin, kThreadBytes), &crc));
  return crc;
}

Status BundleReader::CheckPieces(absl::string_view name, const std::vector<uint32_t>& crcs) const {
  MS_ASSIGN_OR_RETURN(const proto::BundleEntryProto* const entry, FindEntry(name));
  uint64_t left = static_cast<uint64_t>(entry->size());
  uint32_t crc = 0;
  for (const uint32_t piece : crcs) {
    const uint64_t size = std::min(left, kThreadBytes);
    crc = JoinedCrc32c(crc, piece, size);
    left -= size;
  }
  if (MaskCrc32c(crc) == entry->crc32c()) return absl::OkStatus();
  return Damaged(name, *entry, "the checksum is wrong");
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
