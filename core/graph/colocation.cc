#include "core/graph/colocation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace millstream {
namespace {

constexpr char kPrefix[] = "loc:@";

// Null when there are none.
const std::vector<std::string>* EntriesOf(const AttrMap& attrs) {
  const AttrValue* const value = FindAttr(attrs, kColocationAttr);
  return value == nullptr ? nullptr : value->get<std::vector<std::string>>();
}

}  // namespace

std::string ColocationGroup(absl::string_view node) { return absl::StrCat(kPrefix, node); }

std::vector<absl::string_view> ColocatedWith(const AttrMap& attrs) {
  std::vector<absl::string_view> found;
  const std::vector<std::string>* const entries = EntriesOf(attrs);
  if (entries == nullptr) return found;
  for (absl::string_view entry : *entries) {
    if (absl::ConsumePrefix(&entry, kPrefix)) found.push_back(entry);
  }
  return found;
}

void RenameColocated(absl::FunctionRef<std::optional<std::string>(absl::string_view)> rename,
                     AttrMap* attrs) {
  const std::vector<std::string>* const entries = EntriesOf(*attrs);
  if (entries == nullptr) return;
  std::vector<std::string> renamed = *entries;
  for (std::string& entry : renamed) {
    absl::string_view node = entry;
    if (!absl::ConsumePrefix(&node, kPrefix)) continue;
    if (const std::optional<std::string> name = rename(node)) entry = ColocationGroup(*name);
  }
  SetAttr(attrs, kColocationAttr, std::move(renamed));
}

}  // namespace millstream
