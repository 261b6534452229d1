#include "core/graph/colocation.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

AttrMap AttrsOf(const std::vector<std::string>& entries) {
  AttrMap attrs;
  SetAttr(&attrs, kColocationAttr, entries);
  return attrs;
}

TEST(ColocationTest, NamesTheNodesOfItsGroups) {
  EXPECT_EQ(ColocationGroup("a/b"), "loc:@a/b");
  EXPECT_THAT(ColocatedWith(AttrsOf({"loc:@v", "other", "loc:@w"})), ElementsAre("v", "w"));
  EXPECT_THAT(ColocatedWith({}), IsEmpty());
  EXPECT_THAT(ColocatedWith({{kColocationAttr, AttrValue("loc:@v")}}), IsEmpty());
}

TEST(ColocationTest, RenamesWhereThereIsAName) {
  AttrMap attrs = AttrsOf({"loc:@v", "v", "loc:@w"});
  const auto rename = [](absl::string_view node) -> std::optional<std::string> {
    if (node == "v") return "scope/v";
    return std::nullopt;
  };
  RenameColocated(rename, &attrs);
  EXPECT_THAT(*GetAttr<std::vector<std::string>>(attrs, kColocationAttr),
              ElementsAre("loc:@scope/v", "v", "loc:@w"));
  AttrMap none;
  RenameColocated(rename, &none);
  EXPECT_THAT(none, IsEmpty());
}

}  // namespace
}  // namespace millstream
