// Patterns of files, on files in memory.
#include "core/io/match_files.h"

#include <string>
#include <vector>

#include "core/io/faulty_file_system.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MatchFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* const folder : {"data", "data/deep", "other"}) {
      ASSERT_TRUE(files_.MakeFolders(folder).ok());
    }
    for (const char* const path : {"data/a1.txt", "data/a2.txt", "data/b1.txt", "data/.hidden",
                                   "data/deep/a1.txt", "other/a1.txt", "data/a*.txt"}) {
      auto file = files_.OpenForAppending(path, FileSystem::Existing::kRefuse);
      ASSERT_TRUE(file.ok()) << file.status();
    }
  }
  std::vector<std::string> Match(const std::string& pattern) {
    const auto found = MatchFiles(&files_, pattern);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(std::vector<std::string>());
  }

  FaultyFileSystem files_;
};

TEST_F(MatchFilesTest, AStarIsAnyPartOfAName) {
  EXPECT_THAT(Match("data/a*.txt"), ElementsAre("data/a*.txt", "data/a1.txt", "data/a2.txt"));
  EXPECT_THAT(Match("data/*1*"), ElementsAre("data/a1.txt", "data/b1.txt"));
}

TEST_F(MatchFilesTest, AnswersAreSortedAndHaveHiddenFilesAndFolders) {
  EXPECT_THAT(Match("data/*"), ElementsAre("data/.hidden", "data/a*.txt", "data/a1.txt",
                                           "data/a2.txt", "data/b1.txt", "data/deep"));
}

TEST_F(MatchFilesTest, OneCharacterOrOneOfSome) {
  EXPECT_THAT(Match("data/?2.txt"), ElementsAre("data/a2.txt"));
  EXPECT_THAT(Match("data/[bc]1.txt"), ElementsAre("data/b1.txt"));
  EXPECT_THAT(Match("data/[!ab]*"), ElementsAre("data/.hidden", "data/deep"));
}

TEST_F(MatchFilesTest, ABackslashTakesTheMeaningAway) {
  EXPECT_THAT(Match("data/a\\*.txt"), ElementsAre("data/a*.txt"));
}

TEST_F(MatchFilesTest, FoldersMayBePatternsToo) {
  EXPECT_THAT(Match("*/a1.txt"), ElementsAre("data/a1.txt", "other/a1.txt"));
  EXPECT_THAT(Match("data/*/a?.txt"), ElementsAre("data/deep/a1.txt"));
}

TEST_F(MatchFilesTest, PlainPathsMatchThemselves) {
  EXPECT_THAT(Match("data/b1.txt"), ElementsAre("data/b1.txt"));
  EXPECT_THAT(Match("data/none.txt"), IsEmpty());
  EXPECT_THAT(Match("none/*"), IsEmpty());
  EXPECT_THAT(Match("data/b1.txt/*"), IsEmpty());
  EXPECT_THAT(Match(""), IsEmpty());
}

TEST_F(MatchFilesTest, AZeroByteIsRefused) {
  const auto found = MatchFiles(&files_, std::string("a\0b", 3));
  EXPECT_EQ(found.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millstream
