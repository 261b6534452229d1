#include "core/checkpoint/coding.h"

#include <cstring>

namespace millstream {
namespace {

// ---- The ordered code: byte strings that sort as what they stand for ----

// The number of bytes, then the bytes, the highest first.
void AppendOrdered(uint64_t value, std::string* out) {
  std::string bytes;
  for (; value != 0; value >>= 8) bytes.insert(bytes.begin(), static_cast<char>(value & 0xff));
  out->push_back(static_cast<char>(bytes.size()));
  out->append(bytes);
}

// 0 and 255 are followed by a byte that tells them from the end, 0 1.
void AppendOrdered(absl::string_view text, std::string* out) {
  for (const char c : text) {
    out->push_back(c);
    if (c == '\0') out->push_back('\xff');
    if (c == '\xff') out->push_back('\0');
  }
  out->push_back('\0');
  out->push_back('\1');
}

// The first bits say how many bytes there are: as many ones as bytes, inverted for negative
// numbers. The sign's bit follows them, so that a byte has six bits of a number, two have 13.
void AppendOrderedSigned(int64_t value, std::string* out) {
  const uint64_t magnitude = value < 0 ? ~static_cast<uint64_t>(value) : value;
  int length = 1;
  while (length < 10 && magnitude >> (7 * length - 1) != 0) ++length;
  char bytes[10];
  std::memset(bytes, value < 0 ? 0xff : 0, sizeof(bytes));
  for (int i = 0; i < 8; ++i) bytes[9 - i] = static_cast<char>(value >> (8 * i));
  char* const begin = bytes + sizeof(bytes) - length;
  begin[0] ^= static_cast<char>(length < 8 ? 0xff << (8 - length) : 0xff);
  if (length > 8) begin[1] ^= static_cast<char>(length == 9 ? 0x80 : 0xc0);
  out->append(begin, length);
}

}  // namespace

void AppendFixed32(uint32_t value, std::string* out) {
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 128; value >>= 7) out->push_back(static_cast<char>(value | 128));
  out->push_back(static_cast<char>(value));
}

uint32_t Fixed32At(absl::string_view text) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(text[i]);
  return value;
}

bool TakeVarint(absl::string_view* text, uint64_t* value) {
  *value = 0;
  for (size_t i = 0; i < text->size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>((*text)[i]);
    if (i == 9 && byte > 1) return false;  // more than 64 bits
    if (i > 0 && byte == 0) return false;  // a byte more than the number needs
    *value |= static_cast<uint64_t>(byte & 127) << (7 * i);
    if (byte < 128) {
      text->remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

std::string SliceKey(absl::string_view tensor_name, const TensorSlice& slice) {
  std::string key;
  AppendOrdered(uint64_t{0}, &key);
  AppendOrdered(tensor_name, &key);
  AppendOrdered(uint64_t{slice.extents.size()}, &key);
  for (const TensorSlice::Extent& extent : slice.extents) {
    AppendOrderedSigned(extent.start, &key);
    AppendOrderedSigned(extent.length, &key);
  }
  return key;
}

}  // namespace millstream
