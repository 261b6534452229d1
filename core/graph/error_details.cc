#include "core/graph/error_details.h"

#include <algorithm>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millstream {
namespace {

constexpr char kDetailsPayload[] = "millstream/details";
constexpr size_t kMostInputsNamed = 8;

}  // namespace

Status WithErrorText(const Status& status, absl::string_view text) {
  Status result(status.code(), text);
  status.ForEachPayload([&result](absl::string_view url, const absl::Cord& payload) {
    result.SetPayload(url, payload);
  });
  return result;
}

Status WithErrorDetail(const Status& status, absl::string_view label, absl::string_view text) {
  if (status.ok()) return status;
  absl::Cord lines = status.GetPayload(kDetailsPayload).value_or(absl::Cord());
  lines.Append(absl::StrCat("\n  ", label, ": ", text));
  Status result = status;
  result.SetPayload(kDetailsPayload, lines);
  return result;
}

Status WithErrorNode(const Status& status, absl::string_view node) {
  if (status.ok()) return status;
  const absl::Cord lines = status.GetPayload(kDetailsPayload).value_or(absl::Cord());
  Status result =
      WithErrorText(status, absl::StrCat(status.message(), "\n  ", node, std::string(lines)));
  result.ErasePayload(kDetailsPayload);
  return result;
}

std::string JoinInputs(absl::Span<const std::string> inputs) {
  const size_t named = std::min(inputs.size(), kMostInputsNamed);
  std::string text = absl::StrJoin(inputs.subspan(0, named), ", ");
  if (named < inputs.size()) absl::StrAppend(&text, " and ", inputs.size() - named, " more");
  return text;
}

}  // namespace millstream
