// Code points of Unicode in texts of several encodings.
#ifndef MILLSTREAM_KERNELS_STRINGS_CODE_POINTS_H_
#define MILLSTREAM_KERNELS_STRINGS_CODE_POINTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// Stands for bytes that are no character.
inline constexpr char32_t kReplacementCharacter = 0xFFFD;
inline constexpr int64_t kLastCodePoint = 0x10FFFF;

struct DecodedCharacter {
  char32_t code;
  size_t bytes;   // from the one before to the next
  bool is_valid;  // else the bytes are no character
};
using CharacterFunction = std::function<void(const DecodedCharacter&)>;

// False for surrogates and numbers that are negative or beyond the last code point.
bool IsCodePoint(int64_t code);

// A surrogate, which UTF-8 has no bytes for, is the replacement character. REQUIRES: the code is
// not beyond the last code point, here and below.
void AppendUtf8(char32_t code, std::string* text);
void AppendUtf16BigEndian(char32_t code, std::string* text);
void AppendUtf32BigEndian(char32_t code, std::string* text);

// Calls `function` for each character. Of bytes that are none, each longest part that begins a
// character is one that is not valid, as the Unicode standard recommends (chapter 3, D93b).
void DecodeUtf8(std::string_view text, const CharacterFunction& function);

// Decodes texts of one encoding. Thread-safe.
class TextDecoder {
 public:
  virtual ~TextDecoder() = default;
  virtual void Decode(std::string_view text, const CharacterFunction& function) const = 0;
};

// INVALID_ARGUMENT for an encoding that is not known. Common ones are decoded by ourselves, others
// by the C library.
ms::Status MakeTextDecoder(const std::string& encoding, std::unique_ptr<TextDecoder>* decoder);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_STRINGS_CODE_POINTS_H_
