// Regular expressions, as kernels find them: by the library that regex_table.h describes.
#ifndef MILLSTREAM_KERNELS_REGEX_REGEX_H_
#define MILLSTREAM_KERNELS_REGEX_REGEX_H_

#include <memory>
#include <string>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/regex/regex_table.h"

namespace millstream::kernels {

// Sets *table to that of the library, which the first call of the process opens. The library is the
// file regex/libmillstream_regex.so beside the plugin's folder. MS_FAILED_PRECONDITION if it is not
// there, or is of another version. Any thread may call it.
ms::Status OpenRegexTable(const millstream_regex_table** table);

// A compiled regular expression. Any number of threads may use it.
class Regex {
 public:
  // INVALID_ARGUMENT, with the argument's or attribute's name, for a pattern that is none; else the
  // errors of OpenRegexTable.
  static ms::Status Compile(std::string_view pattern, const char* name,
                            std::unique_ptr<Regex>* regex);
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;
  ~Regex();

  // INVALID_ARGUMENT, with the argument's or attribute's name, unless Replace takes the rewrite.
  ms::Status CheckRewrite(std::string_view rewrite, const char* name) const;
  // Whether the whole text matches.
  bool MatchesAll(std::string_view text) const;
  // The text with its first match, or each of its matches, rewritten. REQUIRES: that CheckRewrite
  // took the rewrite.
  std::string Replace(std::string_view text, std::string_view rewrite, bool each) const;

 private:
  Regex(const millstream_regex_table* table, void* regex) : table_(table), regex_(regex) {}

  const millstream_regex_table* const table_;
  void* const regex_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_REGEX_REGEX_H_
