#include "framework/plugin/plugin_text.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "framework/plugin/plugin_limits.h"

namespace millstream {
namespace {

constexpr size_t kExcerptBytes = 64;

// Of the UTF-8 character at the front: no surrogates, no longer form than needed. 0: there is none.
size_t CharacterBytes(absl::string_view text) {
  constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return 1;
  const size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  if (first < 0xC2 || first > 0xF4 || more >= text.size()) return 0;
  uint32_t code = first & (0x3FU >> more);
  for (size_t k = 1; k <= more; ++k) {
    const auto next = static_cast<uint8_t>(text[k]);
    if ((next & 0xC0) != 0x80) return 0;
    code = code << 6 | (next & 0x3F);
  }
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  return code < kLeast[more] || code > 0x10FFFF || is_surrogate ? 0 : more + 1;
}

bool IsControl(char c) {
  const auto byte = static_cast<uint8_t>(c);
  return byte < 0x20 || byte == 0x7F;
}

bool IsLayout(char c) { return c == '\n' || c == '\t'; }

// What most names are of: text that needs no closer look.
bool IsPrintableAscii(absl::string_view text) {
  return absl::c_all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; });
}

std::string Escaped(absl::string_view text, size_t most) {
  std::string shown;
  const absl::string_view whole = text;
  while (!text.empty() && whole.size() - text.size() < most) {
    const size_t bytes = CharacterBytes(text);
    const bool is_shown = bytes > 0 && (!IsControl(text[0]) || IsLayout(text[0]));
    if (is_shown) {
      absl::StrAppend(&shown, text.substr(0, bytes));
    } else {
      absl::StrAppend(&shown, "\\x", absl::Hex(static_cast<uint8_t>(text[0]), absl::kZeroPad2));
    }
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  if (!text.empty()) absl::StrAppend(&shown, "... (", whole.size(), " bytes)");
  return shown;
}

Status Check(MS_Str given, uint64_t most, bool layout, absl::string_view what) {
  if (given.size == 0) return absl::OkStatus();
  if (given.data == nullptr) {
    return errors::InvalidArgument(what, " has ", given.size, " bytes, and its data is null");
  }
  if (given.size > most) {
    return errors::InvalidArgument(what, " has ", given.size, " bytes, at most ", most,
                                   " are allowed");
  }
  absl::string_view rest(given.data, static_cast<size_t>(given.size));
  if (IsPrintableAscii(rest)) return absl::OkStatus();
  while (!rest.empty()) {
    const size_t bytes = CharacterBytes(rest);
    if (bytes == 0 || (IsControl(rest[0]) && !(layout && IsLayout(rest[0])))) {
      return errors::InvalidArgument(what, " is no UTF-8 text without control characters: \"",
                                     Excerpt({given.data, static_cast<size_t>(given.size)}), "\"");
    }
    rest.remove_prefix(bytes);
  }
  return absl::OkStatus();
}

}  // namespace

std::string Printable(absl::string_view text) { return Escaped(text, kMostTextBytes); }

std::string Excerpt(absl::string_view text) { return Escaped(text, kExcerptBytes); }

Status CheckName(MS_Str name, absl::string_view what) {
  return Check(name, kMostNameBytes, /*layout=*/false, what);
}

Status CheckText(MS_Str text, absl::string_view what) {
  return Check(text, kMostTextBytes, /*layout=*/true, what);
}

bool IsDeviceType(absl::string_view text) {
  const auto is_part = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; };
  return !text.empty() && absl::ascii_isalpha(static_cast<unsigned char>(text[0])) &&
         absl::c_all_of(text, is_part);
}

Status CheckCount(uint64_t count, uint64_t most, absl::string_view what) {
  if (count <= most) return absl::OkStatus();
  return errors::InvalidArgument(what, ": ", count, " items, at most ", most, " are allowed");
}

Status CheckArray(const void* data, uint64_t count, uint64_t most, absl::string_view what) {
  MS_RETURN_IF_ERROR(CheckCount(count, most, what));
  if (count == 0 || data != nullptr) return absl::OkStatus();
  return errors::InvalidArgument(what, ": ", count, " items, and the array is null");
}

}  // namespace millstream
