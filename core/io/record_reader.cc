#include "core/io/record_reader.h"

#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/io/crc32c.h"

namespace millstream {
namespace {

constexpr uint64_t kLengthBytes = sizeof(uint64_t);
constexpr uint64_t kChecksumBytes = sizeof(uint32_t);

// The machine is little-endian, as the format is.
template <typename T>
T NumberAt(const char* bytes) {
  T number;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

}  // namespace

StatusOr<RecordReader> RecordReader::Open(FileSystem* files, const std::string& path) {
  MS_ASSIGN_OR_RETURN(const FileInfo info, files->Describe(path));
  MS_ASSIGN_OR_RETURN(auto file, files->OpenForReading(path));
  return RecordReader(path, info.size, std::move(file));
}

Status RecordReader::Damaged(const char* what) const {
  return absl::DataLossError(absl::StrCat(path_, " ", what, " at byte ", offset_));
}

StatusOr<std::string> RecordReader::ReadChecked(uint64_t offset, uint64_t size,
                                                const char* what) const {
  const uint64_t left = offset < size_ ? size_ - offset : 0;
  if (left < kChecksumBytes || size > left - kChecksumBytes) {
    return Damaged("ends within the record");
  }
  std::string bytes(size + kChecksumBytes, '\0');
  MS_ASSIGN_OR_RETURN(const size_t read,
                      file_->ReadAt(offset, absl::MakeSpan(&bytes[0], bytes.size())));
  if (read < bytes.size()) return Damaged("ends within the record");
  const auto checksum = NumberAt<uint32_t>(bytes.data() + size);
  bytes.resize(size);
  if (checksum != MaskCrc32c(Crc32c(bytes))) return Damaged(what);
  return bytes;
}

StatusOr<std::optional<std::string>> RecordReader::Next() {
  if (offset_ >= size_) return std::optional<std::string>();
  MS_ASSIGN_OR_RETURN(const std::string length,
                      ReadChecked(offset_, kLengthBytes, "has a wrong checksum of the length"));
  const auto size = NumberAt<uint64_t>(length.data());
  const uint64_t header = kLengthBytes + kChecksumBytes;
  MS_ASSIGN_OR_RETURN(std::string data,
                      ReadChecked(offset_ + header, size, "has a wrong checksum of the record"));
  offset_ += header + size + kChecksumBytes;
  return std::optional<std::string>(std::move(data));
}

}  // namespace millstream
