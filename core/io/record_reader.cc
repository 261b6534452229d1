#include "core/io/record_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/io/crc32c.h"

namespace millstream {
namespace {

constexpr uint64_t kLengthBytes = sizeof(uint64_t);
constexpr uint64_t kChecksumBytes = sizeof(uint32_t);
// Where it is not known how many bytes there are, memory grows with those that come.
constexpr uint64_t kPieceBytes = 1 << 20;

// The machine is little-endian, as the format is.
template <typename T>
T NumberAt(const char* bytes) {
  T number;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

}  // namespace

StatusOr<Compression> CompressionNamed(absl::string_view name) {
  if (name.empty()) return Compression::kNone;
  if (name == "ZLIB") return Compression::kZlib;
  if (name == "GZIP") return Compression::kGzip;
  return errors::InvalidArgument("expected '', 'ZLIB' or 'GZIP', got '", absl::CHexEscape(name),
                                 "'");
}

StatusOr<std::unique_ptr<ByteStream>> OpenStream(FileSystem* files, const std::string& path,
                                                 Compression compression) {
  MS_ASSIGN_OR_RETURN(const FileInfo info, files->Describe(path));
  MS_ASSIGN_OR_RETURN(auto file, files->OpenForReading(path));
  std::unique_ptr<ByteStream> bytes = StreamOf(std::move(file), info.size);
  if (compression == Compression::kNone) return bytes;
  return Inflated(std::move(bytes), compression == Compression::kGzip, path);
}

StatusOr<RecordReader> RecordReader::Open(FileSystem* files, const std::string& path,
                                          Compression compression) {
  MS_ASSIGN_OR_RETURN(auto bytes, OpenStream(files, path, compression));
  return RecordReader(path, std::move(bytes));
}

Status RecordReader::Truncated() const {
  return absl::DataLossError(absl::StrCat(path_, " ends within the record at byte ", offset_,
                                          ": truncated record at ", offset_));
}

Status RecordReader::Corrupted(const char* checksum) const {
  return absl::DataLossError(absl::StrCat(path_, " has a wrong checksum of the ", checksum,
                                          " at byte ", offset_, ": corrupted record at ", offset_));
}

Status RecordReader::Read(uint64_t size, std::string* bytes) const {
  const bool is_known = bytes_->most_left() < std::numeric_limits<uint64_t>::max();
  const uint64_t piece = is_known ? size : kPieceBytes;
  while (size > 0) {
    const size_t before = bytes->size();
    const auto wanted = static_cast<size_t>(std::min(size, piece));
    bytes->resize(before + wanted);
    MS_ASSIGN_OR_RETURN(const size_t read, bytes_->Read(absl::MakeSpan(&(*bytes)[before], wanted)));
    bytes->resize(before + read);
    if (read < wanted) return absl::OkStatus();
    size -= read;
  }
  return absl::OkStatus();
}

StatusOr<std::string> RecordReader::ReadChecked(uint64_t size) const {
  const uint64_t left = bytes_->most_left();
  if (left < kChecksumBytes || size > left - kChecksumBytes) {
    return Truncated();
  }
  std::string bytes;
  MS_RETURN_IF_ERROR(Read(size + kChecksumBytes, &bytes));
  if (bytes.size() < size + kChecksumBytes) return Truncated();
  const auto checksum = NumberAt<uint32_t>(bytes.data() + size);
  bytes.resize(size);
  if (checksum != MaskCrc32c(Crc32c(bytes))) return Corrupted("record");
  return bytes;
}

StatusOr<std::optional<std::string>> RecordReader::Next() {
  if (bytes_->most_left() == 0) return std::optional<std::string>();
  std::string header;
  MS_RETURN_IF_ERROR(Read(kLengthBytes + kChecksumBytes, &header));
  if (header.empty()) return std::optional<std::string>();
  if (header.size() < kLengthBytes + kChecksumBytes) return Truncated();
  const auto size = NumberAt<uint64_t>(header.data());
  const auto checksum = NumberAt<uint32_t>(header.data() + kLengthBytes);
  if (checksum != MaskCrc32c(Crc32c(absl::string_view(header).substr(0, kLengthBytes)))) {
    return Corrupted("length");
  }
  MS_ASSIGN_OR_RETURN(std::string data, ReadChecked(size));
  offset_ += header.size() + size + kChecksumBytes;
  return std::optional<std::string>(std::move(data));
}

}  // namespace millstream
