// A cursor over the short texts of op specifications.
#ifndef MILLSTREAM_FRAMEWORK_TEXT_SCANNER_H_
#define MILLSTREAM_FRAMEWORK_TEXT_SCANNER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "framework/status.h"

namespace millstream {

// Reads one text from left to right; white space separates and is otherwise skipped. The text must
// outlive the scanner.
class TextScanner {
 public:
  explicit TextScanner(absl::string_view text) : text_(text), rest_(text) {}

  // Steps over `token` if it comes next.
  bool Consume(absl::string_view token);
  // INVALID_ARGUMENT unless `token` comes next; steps over it.
  Status Expect(absl::string_view token);
  bool AtEnd();
  // INVALID_ARGUMENT when something is left.
  Status ExpectEnd();
  // The next character, 0 at the end.
  char Peek();
  // A letter or underscore, then letters, digits and underscores. INVALID_ARGUMENT when none comes.
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
