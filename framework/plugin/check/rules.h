// What a plugin must hold to, rule by rule. docs/plugin_check.md has the same table for readers.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_RULES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_RULES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace millstream::plugin_check {

struct Rule {
  const char* id;  // "MEM-ALIGN"; never used again for another rule
  const char* suite;
  const char* sentence;
};

// In the order of the report; the rules of a suite stand together.
absl::Span<const Rule> Rules();
// Null when there is none.
const Rule* FindRule(absl::string_view id);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_RULES_H_
