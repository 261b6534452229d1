#include "core/checkpoint/bundle_reader.h"

#include <algorithm>
#include <climits>
#include <set>
#include <utility>

#include "core/checkpoint/bundle_format.h"
#include "core/checkpoint/coding.h"
#include "core/checkpoint/string_elements.h"
#include "core/checkpoint/table.h"
#include "core/io/crc32c.h"
#include "framework/message_size.h"
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

// True if strings of which a file has so many bytes take at most 14 times as much in memory, each
// its object and its text. The objects of empty ones take 32 times as much.
bool AreOfSomeLength(uint64_t count, uint64_t bytes) { return count <= 7 * bytes / 16; }

// Takes the entries of an index, the header first.
class IndexBuilder {
 public:
  explicit IndexBuilder(const TableFile& table)
      : path_(table.path()), room_(kLeastIndexBytes + kIndexGrowth * table.size()) {}

  Status Add(const std::string& key, absl::string_view value) {
    if (index_.num_shards == 0) return TakeHeader(key, value);
    proto::BundleEntryProto entry;
    if (Exceeds(entry, value)) return TooLarge(key);
    if (!entry.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
        entry.shard_id() < 0 || entry.shard_id() >= index_.num_shards || entry.offset() < 0 ||
        entry.size() < 0) {
      return DamagedTensor(path_, key, "its entry is damaged");
    }
    const uint64_t bytes = kNodeBytes + key.size() + entry.SpaceUsedLong();
    if (bytes > room_) return TooLarge(key);
    room_ -= bytes;
    index_.entries.emplace_hint(index_.entries.end(), key, std::move(entry));
    return absl::OkStatus();
  }

  // The index, once all entries are added.
  StatusOr<BundleIndex> Take() {
    if (index_.num_shards == 0) return NoIndex();
    return std::move(index_);
  }

 private:
  // An index may take 40 MiB and so many times its size, in memory. The entry of a scalar takes 12
  // times as much as in the file.
  static constexpr uint64_t kLeastIndexBytes = uint64_t{40} << 20;
  static constexpr uint64_t kIndexGrowth = 12;
  // Of the map that has the entries, without key and entry.
  static constexpr uint64_t kNodeBytes = 64;
  // An entry of that size may be parsed before its memory is counted.
  static constexpr size_t kSmallEntry = size_t{1} << 16;

  Status TakeHeader(const std::string& key, absl::string_view value) {
    proto::BundleHeaderProto header;
    if (!key.empty() || value.size() > kSmallEntry ||
        !header.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
        header.num_shards() < 1 || header.num_shards() > kMostShards) {
      return NoIndex();
    }
    if (header.endianness() != proto::BundleHeaderProto::LITTLE) {
      return errors::Unimplemented(path_, ": its numbers are big-endian");
    }
    if (header.version().min_consumer() > 1) {
      return errors::Unimplemented(path_, ": asks for readers of version ",
                                   header.version().min_consumer(), ", this is one of version 1");
    }
    index_.num_shards = header.num_shards();
    return absl::OkStatus();
  }

  // Before the entry is parsed: whether it would take more memory than there is room for.
  bool Exceeds(const proto::BundleEntryProto& entry, absl::string_view value) const {
    if (value.size() <= kSmallEntry) return false;
    const auto room = static_cast<int64_t>(room_);
    return value.size() > INT_MAX || ParsedBytes(entry.GetDescriptor(), value, room) > room;
  }
  Status NoIndex() const {
    return absl::DataLossError(absl::StrCat(path_, ": a table, but not the index of a checkpoint"));
  }
  Status TooLarge(const std::string& key) const {
    return DamagedTensor(path_, key,
                         "up to it, entries take more memory than a file of this size has a use "
                         "for");
  }

  const std::string& path_;
  uint64_t room_;
  BundleIndex index_;
};

}  // namespace

StatusOr<BundleIndex> ReadBundleIndex(FileSystem* files, const std::string& prefix) {
  MS_ASSIGN_OR_RETURN(const std::unique_ptr<TableFile> table,
                      TableFile::Open(files, IndexPath(prefix)));
  IndexBuilder builder(*table);
  MS_RETURN_IF_ERROR(
      table->Visit([&](uint64_t /*at*/, const std::string& key, absl::string_view value) {
        return builder.Add(key, value);
      }));
  return builder.Take();
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

// Of a tensor in slices, some may be missing, which is found when the tensor is read. Those that
// are there have a part of it that is worth the memory.
Status BundleReader::CheckHeld(absl::string_view name) const {
  MS_ASSIGN_OR_RETURN(const Info info, Find(name));
  MS_ASSIGN_OR_RETURN(const proto::BundleEntryProto* const entry, FindEntry(name));
  const auto count = static_cast<uint64_t>(info.shape.num_elements());
  if (entry->slices().empty()) return CheckPart(name, *entry, info.dtype, count);
  MS_ASSIGN_OR_RETURN(const std::vector<TensorSlice> slices, SlicesOf(name, info.shape));
  uint64_t bytes = 0;
  uint64_t elements = 0;
  std::set<const proto::BundleEntryProto*> counted;  // a hostile list may have one many times
  for (const TensorSlice& slice : slices) {
    const StatusOr<const proto::BundleEntryProto*> part = FindEntry(SliceKey(name, slice));
    if (!part.ok() || !counted.insert(*part).second) continue;
    MS_ASSIGN_OR_RETURN(const Shape shape, slice.ShapeIn(info.shape));
    MS_RETURN_IF_ERROR(CheckPart(name, **part, info.dtype, shape.num_elements()));
    bytes += static_cast<uint64_t>((*part)->size());
    elements += static_cast<uint64_t>(shape.num_elements());
  }
  const bool is_held = info.dtype == DataType::kString
                           ? count <= elements || AreOfSomeLength(count, bytes)
                           : count <= bytes && count * DataTypeSize(info.dtype) <= 8 * bytes;
  if (is_held) return absl::OkStatus();
  return DamagedTensor(IndexPath(prefix()), name,
                       absl::StrCat(count, " elements are not in ", bytes, " bytes"));
}

// That the file has the entry's bytes, and that they may be those of so many elements.
Status BundleReader::CheckPart(absl::string_view name, const proto::BundleEntryProto& entry,
                               DataType dtype, uint64_t count) const {
  MS_RETURN_IF_ERROR(FileOf(name, entry).status());
  const auto size = static_cast<uint64_t>(entry.size());
  if (dtype != DataType::kString) {
    const uint64_t bytes = DataTypeSize(dtype);
    if (size / bytes == count && size % bytes == 0) return absl::OkStatus();
    return Damaged(name, entry, "its size is not that of its slice");
  }
  if (count > size) return Damaged(name, entry, "its size is not that of its slice");
  if (AreOfSomeLength(count, size)) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(const std::string text, ReadText(name, entry));
  const Status lengths = CheckStringLengths(text, count);
  return lengths.ok() ? lengths : Damaged(name, entry, lengths.message());
}

StatusOr<std::string> BundleReader::ReadText(absl::string_view name,
                                             const proto::BundleEntryProto& entry) const {
  MS_RETURN_IF_ERROR(FileOf(name, entry).status());  // before there is memory for it
  const auto size = static_cast<uint64_t>(entry.size());
  std::string text(size, '\0');
  MS_RETURN_IF_ERROR(ReadInto(name, entry, 0, absl::MakeSpan(&text[0], size), nullptr));
  return text;
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
    MS_ASSIGN_OR_RETURN(const std::string text, ReadText(name, entry));
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
