#include "framework/forbidden_ops.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

constexpr char kOption[] = "ConfigProto.forbidden_ops";

struct Outside {
  absl::string_view name;
  absl::string_view meaning;
};
constexpr Outside kOutside[] = {
    {kTouchesCode, "runs code that a node names"},
    {kTouchesFiles, "reads or writes files"},
    {kTouchesNetwork, "talks to other machines"},
    {kTouchesOutput, "writes to the program's output"},
    {kTouchesPlugins, "is a plugin's"},
};

const Outside* FindOutside(absl::string_view name) {
  const auto* const found = std::find_if(std::begin(kOutside), std::end(kOutside),
                                         [name](const Outside& one) { return one.name == name; });
  return found == std::end(kOutside) ? nullptr : found;
}

// Of the runtime ("_Send") or of users, in any namespace ("Acme>Cube"). Who writes "Files" means
// "files".
bool MayBeOp(absl::string_view name) {
  if (FindOutside(absl::AsciiStrToLower(name)) != nullptr) return false;
  if (name.empty() || !(absl::ascii_isupper(name[0]) || name[0] == '_')) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '>';
  });
}

Status Forbidden(absl::string_view what, absl::string_view entry) {
  return absl::PermissionDeniedError(
      absl::StrCat("the op ", what, " forbidden by ", kOption, " (\"", entry, "\")"));
}

}  // namespace

StatusOr<ForbiddenOps> ForbiddenOps::Create(const std::vector<std::string>& entries) {
  ForbiddenOps forbidden;
  for (const std::string& entry : entries) {
    if (FindOutside(entry) == nullptr && !MayBeOp(entry)) {
      return errors::InvalidArgument(kOption, ": expected the name of an op or one of ",
                                     "\"code\", \"files\", \"network\", \"output\", \"plugins\"; ",
                                     "got \"", entry, "\"");
    }
    forbidden.entries_.insert(entry);
  }
  return forbidden;
}

Status ForbiddenOps::Check(const OpDef& op) const {
  if (entries_.empty()) return absl::OkStatus();
  if (entries_.contains(op.name)) {
    return Forbidden("is", op.name);
  }
  std::vector<std::string> touches = op.touches;
  if (!op.plugin.empty()) touches.emplace_back(kTouchesPlugins);
  for (const std::string& touched : touches) {
    if (!entries_.contains(touched)) continue;
    return Forbidden(absl::StrCat(FindOutside(touched)->meaning, ", which is"), touched);
  }
  return absl::OkStatus();
}

}  // namespace millstream
