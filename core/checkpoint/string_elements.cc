#include "core/checkpoint/string_elements.h"

#include "core/checkpoint/coding.h"
#include "core/io/crc32c.h"

namespace millstream {
namespace {

uint32_t ExtendByLength(uint64_t length, uint32_t crc) {
  std::string text;
  AppendFixed32(static_cast<uint32_t>(length), &text);
  if (length > UINT32_MAX) AppendFixed32(static_cast<uint32_t>(length >> 32), &text);
  return Crc32c(text, crc);
}

// Takes the lengths and their checksum from *bytes. *crc is that of what was taken.
Status TakeLengths(uint64_t count, absl::string_view* bytes, uint32_t* crc) {
  *crc = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t length = 0;
    if (!TakeVarint(bytes, &length)) return absl::DataLossError("the lengths of strings are cut");
    *crc = ExtendByLength(length, *crc);
  }
  if (bytes->size() < 4 || Fixed32At(*bytes) != MaskCrc32c(*crc)) {
    return absl::DataLossError("the checksum of the strings' lengths is wrong");
  }
  *crc = Crc32c(bytes->substr(0, 4), *crc);
  bytes->remove_prefix(4);
  return absl::OkStatus();
}

}  // namespace

StringElements WriteStrings(absl::Span<const std::string> strings) {
  StringElements written;
  for (const std::string& text : strings) {
    AppendVarint(text.size(), &written.bytes);
    written.crc = ExtendByLength(text.size(), written.crc);
  }
  std::string checksum;
  AppendFixed32(MaskCrc32c(written.crc), &checksum);
  written.bytes += checksum;
  written.crc = Crc32c(checksum, written.crc);
  for (const std::string& text : strings) {
    written.bytes += text;
    written.crc = Crc32c(text, written.crc);
  }
  return written;
}

Status CheckStringLengths(absl::string_view bytes, uint64_t count) {
  uint32_t crc = 0;
  return TakeLengths(count, &bytes, &crc);
}

Status ReadStrings(absl::string_view bytes, absl::Span<std::string> strings, uint32_t* crc) {
  absl::string_view lengths = bytes;
  MS_RETURN_IF_ERROR(TakeLengths(strings.size(), &bytes, crc));
  for (std::string& text : strings) {
    uint64_t length = 0;
    TakeVarint(&lengths, &length);  // once more, which takes no memory for them
    if (length > bytes.size()) return absl::DataLossError("the strings are cut");
    text = std::string(bytes.substr(0, length));
    bytes.remove_prefix(length);
    *crc = Crc32c(text, *crc);
  }
  return bytes.empty() ? absl::OkStatus() : absl::DataLossError("bytes follow the strings");
}

}  // namespace millstream
