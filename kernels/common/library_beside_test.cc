#include "kernels/common/library_beside.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millstream::kernels {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Table {
  uint32_t version;
};

constexpr LibraryBeside kMissing = {"../missing/libmissing.so", "the library of nothing", "get", 1};

TEST(LibraryBesideTest, PathIsFromTheFolderOfTheCode) {
  EXPECT_THAT(PathOf(kMissing), EndsWith("/../missing/libmissing.so"));
}

TEST(LibraryBesideTest, MissingFileIsAnErrorThatSaysWhatItIsFor) {
  const OpenedLibrary<Table> opened(kMissing);
  EXPECT_EQ(opened.table, nullptr);
  EXPECT_THAT(opened.error, AllOf(StartsWith("cannot open the library of nothing: "),
                                  HasSubstr("/../missing/libmissing.so")));
}

}  // namespace
}  // namespace millstream::kernels
