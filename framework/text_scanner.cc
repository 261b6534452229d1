#include "framework/text_scanner.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace millstream {
namespace {

bool IsIdentifierCharacter(char c) { return absl::ascii_isalnum(c) || c == '_'; }

bool EndsWord(char c) {
  return absl::ascii_isspace(c) || c == ',' || c == ']' || c == '}' || c == '=';
}

}  // namespace

void TextScanner::SkipSpace() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }

bool TextScanner::Consume(absl::string_view token) {
  SkipSpace();
  return absl::ConsumePrefix(&rest_, token);
}

Status TextScanner::Expect(absl::string_view token) {
  if (Consume(token)) return absl::OkStatus();
  return Error(absl::StrCat("'", token, "'"));
}

bool TextScanner::AtEnd() {
  SkipSpace();
  return rest_.empty();
}

Status TextScanner::ExpectEnd() { return AtEnd() ? absl::OkStatus() : Error("the end"); }

char TextScanner::Peek() {
  SkipSpace();
  return rest_.empty() ? '\0' : rest_[0];
}

StatusOr<std::string> TextScanner::Identifier() {
  SkipSpace();
  size_t length = 0;
  while (length < rest_.size() && IsIdentifierCharacter(rest_[length])) ++length;
  if (length == 0 || absl::ascii_isdigit(rest_[0])) return Error("a name");
  std::string name(rest_.substr(0, length));
  rest_.remove_prefix(length);
  return name;
}

absl::string_view TextScanner::Word() {
  SkipSpace();
  size_t length = 0;
  while (length < rest_.size() && !EndsWord(rest_[length])) ++length;
  const absl::string_view word = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return word;
}

StatusOr<int64_t> TextScanner::Integer() {
  SkipSpace();
  const absl::string_view start = rest_;
  int64_t value = 0;
  if (absl::SimpleAtoi(Word(), &value)) return value;
  rest_ = start;
  return Error("a 64-bit integer");
}

StatusOr<std::string> TextScanner::QuotedString() {
  const char quote = Peek();
  if (quote != '"' && quote != '\'') return Error("a quoted string");
  size_t end = 1;
  while (end < rest_.size() && rest_[end] != quote) end += rest_[end] == '\\' ? 2 : 1;
  if (end >= rest_.size()) return Error("a string with a closing quote");
  std::string value;
  if (!absl::CUnescape(rest_.substr(1, end - 1), &value)) return Error("a string with C escapes");
  rest_.remove_prefix(end + 1);
  return value;
}

absl::string_view TextScanner::Rest() { return absl::StripAsciiWhitespace(rest_); }

Status TextScanner::Error(absl::string_view expected) {
  return errors::InvalidArgument("expected ", expected, " at '", Rest(), "' of '", text_, "'");
}

}  // namespace millstream
