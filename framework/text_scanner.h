// A scanner for the short texts of op specifications.
#ifndef MILLSTREAM_FRAMEWORK_TEXT_SCANNER_H_
#define MILLSTREAM_FRAMEWORK_TEXT_SCANNER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "framework/status.h"

namespace millstream {

// Reads one text from left to right and skips white space. Not thread-safe. REQUIRES: the text
// outlives the scanner.
class TextScanner {
 public:
  explicit TextScanner(absl::string_view text) : text_(text), rest_(text) {}

  // Reads `token` if it is next; returns whether it is.
  bool Consume(absl::string_view token);
  // Reads `token`. INVALID_ARGUMENT if it is not next.
  Status Expect(absl::string_view token);
  bool AtEnd();
  // INVALID_ARGUMENT unless AtEnd().
  Status ExpectEnd();
  // The next character, 0 at the end.
  char Peek();
  // Reads a letter or underscore, then letters, digits and underscores. INVALID_ARGUMENT if there
  // is none.
  StatusOr<std::string> Identifier();
  // The characters up to the next white space or one of `,]}=`; may be empty.
  absl::string_view Word();
  StatusOr<int64_t> Integer();
  // Between double or single quotes, with C escapes.
  StatusOr<std::string> QuotedString();
  // The rest of the text, without the white space around it.
  absl::string_view Rest();
  // INVALID_ARGUMENT: "expected X at 'rest' of 'text'".
  Status Error(absl::string_view expected);

 private:
  void SkipSpace();

  const absl::string_view text_;
  absl::string_view rest_;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_TEXT_SCANNER_H_
