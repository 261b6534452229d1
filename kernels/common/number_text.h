// Numbers in texts, written as in the C locale: what a text says must not depend on the locale of
// the process, whose decimal point may be a comma.
#ifndef MILLSTREAM_KERNELS_COMMON_NUMBER_TEXT_H_
#define MILLSTREAM_KERNELS_COMMON_NUMBER_TEXT_H_

#include <locale.h>
#include <stdlib.h>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace millstream::kernels {

inline bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Without space at both ends.
inline std::string_view Stripped(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// Never null: the C library has this locale built in.
inline locale_t PlainLocale() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return locale;
}

// What the calling thread prints is in the plain locale as long as this lives.
class PlainLocaleScope {
 public:
  PlainLocaleScope() : before_(uselocale(PlainLocale())) {}
  PlainLocaleScope(const PlainLocaleScope&) = delete;
  PlainLocaleScope& operator=(const PlainLocaleScope&) = delete;
  ~PlainLocaleScope() { uselocale(before_); }

 private:
  const locale_t before_;
};

// Sets *number to what the whole text says, but for space at both ends. False if that is no number,
// or no whole number in the range of an integer type. A floating-point number may be decimal or
// hexadecimal, infinity or a NaN; one that is too large is infinity.
template <typename T>
bool ParseNumber(std::string_view text, T* number) {
  text = Stripped(text);
  const char* const end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, *number);
  return read.ec == std::errc() && read.ptr == end;
}
inline bool ParseNumber(std::string_view text, float* number) {
  const std::string stripped(Stripped(text));
  char* end = nullptr;
  *number = strtof_l(stripped.c_str(), &end, PlainLocale());
  return !stripped.empty() && end == stripped.c_str() + stripped.size();
}
inline bool ParseNumber(std::string_view text, double* number) {
  const std::string stripped(Stripped(text));
  char* end = nullptr;
  *number = strtod_l(stripped.c_str(), &end, PlainLocale());
  return !stripped.empty() && end == stripped.c_str() + stripped.size();
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_COMMON_NUMBER_TEXT_H_
