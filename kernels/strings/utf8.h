// Characters of text in UTF-8. A character begins at every byte that does not continue one, so that
// any bytes have some.
#ifndef MILLSTREAM_KERNELS_STRINGS_UTF8_H_
#define MILLSTREAM_KERNELS_STRINGS_UTF8_H_

#include <cstdint>
#include <string_view>

namespace millstream::kernels {

inline bool BeginsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

inline int64_t CountCharacters(std::string_view text) {
  int64_t count = 0;
  for (const char byte : text) count += BeginsCharacter(byte) ? 1 : 0;
  return count;
}

// Where character `i` begins; the end of the text if it has only i characters.
inline size_t CharacterStart(std::string_view text, int64_t i) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (BeginsCharacter(text[at]) && i-- == 0) return at;
  }
  return text.size();
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_STRINGS_UTF8_H_
