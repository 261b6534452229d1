#include "core/io/match_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace millstream {
namespace {

bool HasWildcards(absl::string_view part) { return part.find_first_of("*?[\\") != part.npos; }

std::string Below(const std::string& folder, absl::string_view name) {
  if (folder.empty()) return std::string(name);
  return folder.back() == '/' ? absl::StrCat(folder, name) : absl::StrCat(folder, "/", name);
}

// Adds what matches one component of a pattern in a folder, "" being the current one.
Status MatchIn(FileSystem* files, const std::string& folder, const std::string& part,
               std::vector<std::string>* found) {
  const auto names = files->List(folder.empty() ? "." : folder);
  if (!names.ok()) {
    const bool is_absent = absl::IsNotFound(names.status()) ||
                           absl::IsFailedPrecondition(names.status()) ||
                           absl::IsPermissionDenied(names.status());
    return is_absent ? absl::OkStatus() : names.status();
  }
  for (const std::string& name : *names) {
    if (fnmatch(part.c_str(), name.c_str(), FNM_PATHNAME) == 0) {
      found->push_back(Below(folder, name));
    }
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::vector<std::string>> MatchFiles(FileSystem* files, const std::string& pattern) {
  if (pattern.find('\0') != pattern.npos) {
    return errors::InvalidArgument("a pattern of files must have no zero byte");
  }
  std::vector<std::string> found = {pattern.empty() || pattern[0] != '/' ? "" : "/"};
  const std::vector<std::string> parts = absl::StrSplit(pattern, '/', absl::SkipEmpty());
  for (const std::string& part : parts) {
    std::vector<std::string> next;
    for (const std::string& folder : found) {
      if (HasWildcards(part)) {
        MS_RETURN_IF_ERROR(MatchIn(files, folder, part, &next));
      } else if (files->Describe(Below(folder, part)).ok()) {
        next.push_back(Below(folder, part));
      }
    }
    found = std::move(next);
  }
  if (parts.empty()) found.clear();
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace millstream
