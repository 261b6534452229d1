#include "kernels/regex/regex.h"

#include "kernels/common/library_beside.h"

namespace millstream::kernels {
namespace {

constexpr LibraryBeside kLibrary = {"../regex/libmillstream_regex.so",
                                    "the library of regular expressions", MILLSTREAM_REGEX_SYMBOL,
                                    kMillstreamRegexVersion};

millstream_text TextOf(std::string_view text) { return {text.data(), text.size()}; }

// A millstream_take_text for a std::string.
void Take(void* user, millstream_text text) {
  static_cast<std::string*>(user)->assign(text.data, text.size);
}

}  // namespace

ms::Status OpenRegexTable(const millstream_regex_table** table) {
  // Never freed: steps may run as long as the process does.
  static const auto* const opened = new OpenedLibrary<millstream_regex_table>(kLibrary);
  *table = opened->table;
  if (opened->table != nullptr) return ms::Status();
  return ms::Status(MS_FAILED_PRECONDITION, opened->error);
}

ms::Status Regex::Compile(std::string_view pattern, const char* name,
                          std::unique_ptr<Regex>* regex) {
  const millstream_regex_table* table = nullptr;
  MS_TRY(OpenRegexTable(&table));
  std::string error;
  void* const compiled = table->compile(TextOf(pattern), &Take, &error);
  if (compiled == nullptr) {
    return ms::InvalidArgument("Invalid pattern: ", pattern, ", error: ", error, " (", name, ")");
  }
  regex->reset(new Regex(table, compiled));
  return ms::Status();
}

Regex::~Regex() { table_->destroy(regex_); }

ms::Status Regex::CheckRewrite(std::string_view rewrite, const char* name) const {
  std::string error;
  if (table_->check_rewrite(regex_, TextOf(rewrite), &Take, &error) != 0) return ms::Status();
  return ms::InvalidArgument("Invalid rewrite: ", rewrite, ", error: ", error, " (", name, ")");
}

bool Regex::MatchesAll(std::string_view text) const {
  return table_->matches_all(regex_, TextOf(text)) != 0;
}

std::string Regex::Replace(std::string_view text, std::string_view rewrite, bool each) const {
  std::string result;
  table_->replace(regex_, TextOf(rewrite), each ? 1 : 0, TextOf(text), &Take, &result);
  return result;
}

}  // namespace millstream::kernels
