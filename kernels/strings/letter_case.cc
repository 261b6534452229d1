// StringLower and StringUpper.
#include <locale.h>
#include <cstdint>
#include <cwctype>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/strings/code_points.h"

namespace millstream::kernels {
namespace {

// The letters of the C library's Unicode data, for any locale of the process; null if it has none.
locale_t UnicodeLocale() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

// Letters whose capitals are several (SpecialCasing.txt of Unicode; those that depend on a language
// are left out).
struct Capitals {
  char32_t letter;
  char32_t capitals[3];
};
constexpr Capitals kCapitals[] = {
    {0x00DF, {'S', 'S'}},
    {0x0149, {0x02BC, 'N'}},
    {0x01F0, {'J', 0x030C}},
    {0x0390, {0x0399, 0x0308, 0x0301}},
    {0x03B0, {0x03A5, 0x0308, 0x0301}},
    {0x0587, {0x0535, 0x0552}},
    {0x1E96, {'H', 0x0331}},
    {0x1E97, {'T', 0x0308}},
    {0x1E98, {'W', 0x030A}},
    {0x1E99, {'Y', 0x030A}},
    {0x1E9A, {'A', 0x02BE}},
    {0x1F50, {0x03A5, 0x0313}},
    {0x1F52, {0x03A5, 0x0313, 0x0300}},
    {0x1F54, {0x03A5, 0x0313, 0x0301}},
    {0x1F56, {0x03A5, 0x0313, 0x0342}},
    {0x1FB2, {0x1FBA, 0x0399}},
    {0x1FB3, {0x0391, 0x0399}},
    {0x1FB4, {0x0386, 0x0399}},
    {0x1FB6, {0x0391, 0x0342}},
    {0x1FB7, {0x0391, 0x0342, 0x0399}},
    {0x1FBC, {0x0391, 0x0399}},
    {0x1FC2, {0x1FCA, 0x0399}},
    {0x1FC3, {0x0397, 0x0399}},
    {0x1FC4, {0x0389, 0x0399}},
    {0x1FC6, {0x0397, 0x0342}},
    {0x1FC7, {0x0397, 0x0342, 0x0399}},
    {0x1FCC, {0x0397, 0x0399}},
    {0x1FD2, {0x0399, 0x0308, 0x0300}},
    {0x1FD3, {0x0399, 0x0308, 0x0301}},
    {0x1FD6, {0x0399, 0x0342}},
    {0x1FD7, {0x0399, 0x0308, 0x0342}},
    {0x1FE2, {0x03A5, 0x0308, 0x0300}},
    {0x1FE3, {0x03A5, 0x0308, 0x0301}},
    {0x1FE4, {0x03A1, 0x0313}},
    {0x1FE6, {0x03A5, 0x0342}},
    {0x1FE7, {0x03A5, 0x0308, 0x0342}},
    {0x1FF2, {0x1FFA, 0x0399}},
    {0x1FF3, {0x03A9, 0x0399}},
    {0x1FF4, {0x038F, 0x0399}},
    {0x1FF6, {0x03A9, 0x0342}},
    {0x1FF7, {0x03A9, 0x0342, 0x0399}},
    {0x1FFC, {0x03A9, 0x0399}},
    {0xFB00, {'F', 'F'}},
    {0xFB01, {'F', 'I'}},
    {0xFB02, {'F', 'L'}},
    {0xFB03, {'F', 'F', 'I'}},
    {0xFB04, {'F', 'F', 'L'}},
    {0xFB05, {'S', 'T'}},
    {0xFB06, {'S', 'T'}},
    {0xFB13, {0x0544, 0x0546}},
    {0xFB14, {0x0544, 0x0535}},
    {0xFB15, {0x0544, 0x053B}},
    {0xFB16, {0x054E, 0x0546}},
    {0xFB17, {0x0544, 0x053D}},
};

void AppendCapital(char32_t letter, std::string* text) {
  // Three rows of eight small Greek letters with an iota below, then of their title forms.
  if (letter >= 0x1F80 && letter <= 0x1FAF) {
    const char32_t bases[] = {0x1F08, 0x1F28, 0x1F68};
    AppendUtf8(bases[(letter - 0x1F80) / 16] + letter % 8, text);
    AppendUtf8(0x0399, text);
    return;
  }
  for (const Capitals& row : kCapitals) {
    if (row.letter != letter) continue;
    for (const char32_t capital : row.capitals) {
      if (capital != 0) AppendUtf8(capital, text);
    }
    return;
  }
  AppendUtf8(static_cast<char32_t>(towupper_l(static_cast<wint_t>(letter), UnicodeLocale())), text);
}

bool IsLetterWithCase(char32_t letter) {
  const locale_t locale = UnicodeLocale();
  const auto code = static_cast<wint_t>(letter);
  return iswupper_l(code, locale) != 0 || iswlower_l(code, locale) != 0;
}

// A capital sigma at the end of a word is a small letter of its own.
bool EndsWord(const std::vector<char32_t>& letters, size_t i) {
  const bool begins = i == 0 || !IsLetterWithCase(letters[i - 1]);
  return !begins && (i + 1 == letters.size() || !IsLetterWithCase(letters[i + 1]));
}

void AppendSmall(const std::vector<char32_t>& letters, size_t i, std::string* text) {
  constexpr char32_t kSigma = 0x03A3;
  const char32_t letter = letters[i];
  if (letter == 0x0130) {  // I with a dot: the dot stays
    text->append("i\xCC\x87");
  } else if (letter == kSigma && EndsWord(letters, i)) {
    AppendUtf8(0x03C2, text);
  } else {
    AppendUtf8(static_cast<char32_t>(towlower_l(static_cast<wint_t>(letter), UnicodeLocale())),
               text);
  }
}

void ChangeUnicode(std::string_view text, bool is_upper, std::string* result) {
  std::vector<char32_t> letters;
  DecodeUtf8(text, [&](const DecodedCharacter& character) {
    letters.push_back(character.is_valid ? character.code : kReplacementCharacter);
  });
  for (size_t i = 0; i < letters.size(); ++i) {
    if (is_upper) {
      AppendCapital(letters[i], result);
    } else {
      AppendSmall(letters, i, result);
    }
  }
}

void ChangeAscii(std::string_view text, bool is_upper, std::string* result) {
  const char first = is_upper ? 'a' : 'A';
  for (const char c : text) {
    const bool changes = c >= first && c < first + 26;
    result->push_back(changes ? static_cast<char>(c ^ 0x20) : c);
  }
}

class ChangeCase {
 public:
  struct Row {
    bool is_upper;
  };

  explicit ChangeCase(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    std::string encoding;
    MS_TRY(info.Attr("encoding", &encoding));
    is_unicode_ = encoding == "utf-8";
    if (!is_unicode_ && !encoding.empty()) {
      return ms::InvalidArgument(
          "only utf-8 or '' (no encoding) is supported for attribute 'encoding', got ", encoding);
    }
    if (is_unicode_ && UnicodeLocale() == nullptr) {
      return ms::Status(MS_UNIMPLEMENTED,
                        "attribute 'encoding': the C library has no locale C.UTF-8");
    }
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    std::string result;
    for (int64_t i = 0; i < input.size(); ++i) {
      std::string_view text;
      MS_TRY(input.GetString(i, &text));
      result.clear();
      (is_unicode_ ? ChangeUnicode : ChangeAscii)(text, row_.is_upper, &result);
      MS_TRY(output.SetString(i, result));
    }
    return ms::Status();
  }

 private:
  const Row& row_;
  bool is_unicode_ = false;
};

constexpr ChangeCase::Row kLower = {false};
constexpr ChangeCase::Row kUpper = {true};

const ms::Registered lower = ms::RegisterRow<ChangeCase>("StringLower", kLower);
const ms::Registered upper = ms::RegisterRow<ChangeCase>("StringUpper", kUpper);

}  // namespace
}  // namespace millstream::kernels
