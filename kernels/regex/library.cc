// The library's table.
#include <re2/re2.h>

#include <memory>
#include <string>

#include "kernels/regex/regex_table.h"
#include "kernels/regex/scripts.h"

namespace millstream::regex {
namespace {

re2::StringPiece PieceOf(millstream_text text) { return {text.data, text.size}; }

millstream_text TextOf(const std::string& text) { return {text.data(), text.size()}; }

const re2::RE2& RegexOf(const void* regex) { return *static_cast<const re2::RE2*>(regex); }

void* Compile(millstream_text pattern, millstream_take_text take, void* user) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto regex = std::make_unique<re2::RE2>(PieceOf(pattern), options);
  if (regex->ok()) return regex.release();
  take(user, TextOf(regex->error()));
  return nullptr;
}

void Destroy(void* regex) { delete static_cast<re2::RE2*>(regex); }

int32_t CheckRewrite(const void* regex, millstream_text rewrite, millstream_take_text take,
                     void* user) {
  std::string error;
  if (RegexOf(regex).CheckRewriteString(PieceOf(rewrite), &error)) return 1;
  take(user, TextOf(error));
  return 0;
}

int32_t MatchesAll(const void* regex, millstream_text text) {
  return re2::RE2::FullMatch(PieceOf(text), RegexOf(regex)) ? 1 : 0;
}

void Replace(const void* regex, millstream_text rewrite, int32_t each, millstream_text text,
             millstream_take_text take, void* user) {
  std::string result(text.data, text.size);
  if (each != 0) {
    re2::RE2::GlobalReplace(&result, RegexOf(regex), PieceOf(rewrite));
  } else {
    re2::RE2::Replace(&result, RegexOf(regex), PieceOf(rewrite));
  }
  take(user, TextOf(result));
}

constexpr millstream_regex_table kTable = {
    kMillstreamRegexVersion, &Compile, &Destroy, &CheckRewrite, &MatchesAll, &Replace, &ScriptOf};

}  // namespace
}  // namespace millstream::regex

extern "C" __attribute__((visibility("default"))) const millstream_regex_table* millstream_regex() {
  return &millstream::regex::kTable;
}
