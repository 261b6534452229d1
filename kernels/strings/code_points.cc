#include "kernels/strings/code_points.h"

#include <iconv.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <utility>

namespace millstream::kernels {
namespace {

unsigned char ByteAt(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

bool IsSurrogate(char32_t code) { return code >= 0xD800 && code <= 0xDFFF; }

void AppendUnit(uint32_t unit, int bytes, std::string* text) {
  for (int i = bytes; i-- > 0;) text->push_back(static_cast<char>(unit >> (8 * i) & 255));
}

// The character at the beginning of a text that is not empty (Unicode standard, table 3-7).
DecodedCharacter NextUtf8(std::string_view text) {
  const unsigned char first = ByteAt(text, 0);
  if (first < 0x80) return {first, 1, true};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return {kReplacementCharacter, 1, false};
  char32_t code = first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    // The second byte must not make an overlong form, a surrogate, or a number that is too large.
    const bool second = i == 1;
    const unsigned char low = second && first == 0xE0   ? 0xA0
                              : second && first == 0xF0 ? 0x90
                                                        : 0x80;
    const unsigned char high = second && first == 0xED   ? 0x9F
                               : second && first == 0xF4 ? 0x8F
                                                         : 0xBF;
    if (i >= text.size() || ByteAt(text, i) < low || ByteAt(text, i) > high) {
      return {kReplacementCharacter, i, false};
    }
    code = code << 6 | (ByteAt(text, i) & 0x3Fu);
  }
  return {code, length, true};
}

class Utf8Decoder final : public TextDecoder {
 public:
  void Decode(std::string_view text, const CharacterFunction& function) const override {
    DecodeUtf8(text, function);
  }
};

// Latin-1, or ASCII, where bytes from 128 on are no characters.
class ByteDecoder final : public TextDecoder {
 public:
  explicit ByteDecoder(unsigned last) : last_(last) {}
  void Decode(std::string_view text, const CharacterFunction& function) const override {
    for (size_t i = 0; i < text.size(); ++i) {
      const unsigned byte = ByteAt(text, i);
      const bool is_valid = byte <= last_;
      function({is_valid ? byte : kReplacementCharacter, 1, is_valid});
    }
  }

 private:
  const unsigned last_;
};

// Units of 2 or 4 bytes.
class UnitDecoder final : public TextDecoder {
 public:
  UnitDecoder(size_t bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}
  void Decode(std::string_view text, const CharacterFunction& function) const override {
    for (size_t at = 0; at < text.size();) {
      const DecodedCharacter next = Next(text.substr(at));
      function(next);
      at += next.bytes;
    }
  }

  // Whether a text begins with a byte order mark of this order.
  bool IsMarked(std::string_view text) const {
    return text.size() >= bytes_ && UnitAt(text, 0) == 0xFEFF;
  }

 private:
  uint32_t UnitAt(std::string_view text, size_t at) const {
    uint32_t unit = 0;
    for (size_t i = 0; i < bytes_; ++i) {
      unit = unit << 8 | ByteAt(text, at + (big_endian_ ? i : bytes_ - 1 - i));
    }
    return unit;
  }

  DecodedCharacter Next(std::string_view text) const {
    if (text.size() < bytes_) return {kReplacementCharacter, text.size(), false};
    const char32_t unit = UnitAt(text, 0);
    if (!IsSurrogate(unit)) {
      const bool is_valid = unit <= 0x10FFFF;
      return {is_valid ? unit : kReplacementCharacter, bytes_, is_valid};
    }
    const bool may_begin_pair = bytes_ == 2 && unit < 0xDC00;
    if (may_begin_pair && text.size() < 2 * bytes_) {
      return {kReplacementCharacter, text.size(), false};
    }
    const char32_t second = may_begin_pair ? UnitAt(text, bytes_) : 0;
    if (second < 0xDC00 || second > 0xDFFF) return {kReplacementCharacter, bytes_, false};
    return {0x10000 + ((unit - 0xD800) << 10) + (second - 0xDC00), 2 * bytes_, true};
  }

  const size_t bytes_;
  const bool big_endian_;
};

// Units whose order a mark in front of them tells. Without one the first byte is the highest (RFC
// 2781, section 4.3).
class MarkedUnitDecoder final : public TextDecoder {
 public:
  explicit MarkedUnitDecoder(size_t bytes)
      : bytes_(bytes), big_(bytes, true), little_(bytes, false) {}

  void Decode(std::string_view text, const CharacterFunction& function) const override {
    const bool is_little = little_.IsMarked(text);
    // The mark is no character; its bytes are those of the first one.
    size_t mark = is_little || big_.IsMarked(text) ? bytes_ : 0;
    (is_little ? little_ : big_).Decode(text.substr(mark), [&](DecodedCharacter next) {
      next.bytes += mark;
      mark = 0;
      function(next);
    });
  }

 private:
  const size_t bytes_;
  const UnitDecoder big_;
  const UnitDecoder little_;
};

// One character after the other through iconv, so that the bytes of each are known.
class LibraryDecoder final : public TextDecoder {
 public:
  explicit LibraryDecoder(std::string encoding) : encoding_(std::move(encoding)) {}

  void Decode(std::string_view text, const CharacterFunction& function) const override {
    // A descriptor has state, so each text has its own.
    const iconv_t converter = iconv_open("UTF-32BE", encoding_.c_str());
    if (converter == reinterpret_cast<iconv_t>(-1)) return;
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
      char32_t code = 0;
      const Result result = Next(converter, text.substr(at), &at, &code);
      if (result == Result::kNothing) continue;
      function({result == Result::kCharacter ? code : kReplacementCharacter, at - begin,
                result == Result::kCharacter});
      begin = at;
    }
    iconv_close(converter);
  }

 private:
  enum class Result { kCharacter, kNoCharacter, kNothing };

  // Converts the first character of a text, and moves *at behind it. Bytes may also change the
  // converter's state alone.
  static Result Next(iconv_t converter, std::string_view text, size_t* at, char32_t* code) {
    // More than a character needs, but few: the library reads ahead at each call.
    constexpr size_t kMost = 16;
    const size_t offered = std::min(text.size(), kMost);
    char* from = const_cast<char*>(text.data());  // iconv does not change it
    size_t left = offered;
    char output[4] = {};
    char* to = output;
    size_t room = sizeof(output);
    const bool has_failed = iconv(converter, &from, &left, &to, &room) == static_cast<size_t>(-1);
    *at += offered - left;
    if (room == 0) {
      for (const char byte : output) *code = *code << 8 | static_cast<unsigned char>(byte);
      return Result::kCharacter;
    }
    if (!has_failed) return Result::kNothing;
    *at += errno == EINVAL ? left : 1;  // the text ends within a character
    return Result::kNoCharacter;
  }

  const std::string encoding_;
};

// Small letters and digits alone: "UTF-16-BE" and "utf16be" are one encoding.
std::string PlainName(const std::string& encoding) {
  std::string plain;
  for (const unsigned char c : encoding) {
    if (std::isalnum(c) != 0) plain.push_back(static_cast<char>(std::tolower(c)));
  }
  return plain;
}

// Whether a text can name an encoding. The library drops all other characters, and takes a name of
// none for the encoding of the process's locale, and "//" for an instruction.
bool IsName(const std::string& encoding) {
  return !PlainName(encoding).empty() &&
         std::all_of(encoding.begin(), encoding.end(), [](unsigned char c) {
           const bool is_letter = c < 0x80 && std::isalnum(c) != 0;
           return is_letter || std::string_view("-_.: ").find(c) != std::string_view::npos;
         });
}

}  // namespace

bool IsCodePoint(int64_t code) {
  return code >= 0 && code <= kLastCodePoint && !IsSurrogate(static_cast<char32_t>(code));
}

void AppendUtf8(char32_t code, std::string* text) {
  if (IsSurrogate(code)) code = kReplacementCharacter;
  if (code < 0x80) {
    text->push_back(static_cast<char>(code));
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  const char32_t mark = more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0;
  text->push_back(static_cast<char>(mark | code >> (6 * more)));
  for (int i = more; i-- > 0;) {
    text->push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3F)));
  }
}

void AppendUtf16BigEndian(char32_t code, std::string* text) {
  if (code < 0x10000) return AppendUnit(code, 2, text);
  AppendUnit(0xD800 + ((code - 0x10000) >> 10), 2, text);
  AppendUnit(0xDC00 + ((code - 0x10000) & 0x3FF), 2, text);
}

void AppendUtf32BigEndian(char32_t code, std::string* text) { AppendUnit(code, 4, text); }

void DecodeUtf8(std::string_view text, const CharacterFunction& function) {
  while (!text.empty()) {
    const DecodedCharacter next = NextUtf8(text);
    function(next);
    text.remove_prefix(next.bytes);
  }
}

ms::Status MakeTextDecoder(const std::string& encoding, std::unique_ptr<TextDecoder>* decoder) {
  const std::string name = IsName(encoding) ? PlainName(encoding) : "";
  if (name == "utf8") {
    *decoder = std::make_unique<Utf8Decoder>();
  } else if (name == "iso88591" || name == "latin1") {
    *decoder = std::make_unique<ByteDecoder>(0xFF);
  } else if (name == "usascii" || name == "ascii") {
    *decoder = std::make_unique<ByteDecoder>(0x7F);
  } else if (name == "utf16be" || name == "utf16le") {
    *decoder = std::make_unique<UnitDecoder>(2, name[5] == 'b');
  } else if (name == "utf32be" || name == "utf32le") {
    *decoder = std::make_unique<UnitDecoder>(4, name[5] == 'b');
  } else if (name == "utf16" || name == "ucs2") {
    *decoder = std::make_unique<MarkedUnitDecoder>(2);
  } else if (name == "utf32" || name == "ucs4") {
    *decoder = std::make_unique<MarkedUnitDecoder>(4);
  } else {
    const iconv_t converter =
        name.empty() ? reinterpret_cast<iconv_t>(-1) : iconv_open("UTF-32BE", encoding.c_str());
    if (converter == reinterpret_cast<iconv_t>(-1)) {
      return ms::InvalidArgument("Could not create converter for input encoding: attribute ",
                                 "'input_encoding' is ", encoding);
    }
    iconv_close(converter);
    *decoder = std::make_unique<LibraryDecoder>(encoding);
  }
  return ms::Status();
}

}  // namespace millstream::kernels
