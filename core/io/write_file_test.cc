// A whole file or none, whatever fails and whenever the machine crashes.
#include "core/io/write_file.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "core/io/errno_status.h"
#include "core/io/faulty_file_system.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Existing = FileSystem::Existing;
using Names = FaultyFileSystem::Names;

constexpr char kPath[] = "saved.pb";
// Open, append, sync, close, rename, sync of the folder.
constexpr int kOperations = 6;
constexpr int kRename = 5;

// A file system with a synced file `kPath` of these contents.
void Prepare(FaultyFileSystem* files, absl::string_view contents) {
  ASSERT_EQ(WriteFileAtomically(files, kPath, contents, Existing::kRefuse), absl::OkStatus());
}

TEST(WriteFileTest, MakesAFileOfTheContents) {
  FaultyFileSystem files;
  Prepare(&files, "old");
  EXPECT_EQ(files.num_operations(), kOperations);
  EXPECT_THAT(files.Contents(), ElementsAre(Pair(kPath, "old")));
}

TEST(WriteFileTest, RefusesOrReplacesWhatIsThere) {
  FaultyFileSystem files;
  Prepare(&files, "old");
  EXPECT_TRUE(absl::IsAlreadyExists(WriteFileAtomically(&files, kPath, "new", Existing::kRefuse)));
  EXPECT_TRUE(absl::IsInvalidArgument(WriteFileAtomically(&files, kPath, "new", Existing::kKeep)));
  EXPECT_THAT(files.Contents(), ElementsAre(Pair(kPath, "old")));
  EXPECT_EQ(WriteFileAtomically(&files, kPath, "new", Existing::kReplace), absl::OkStatus());
  EXPECT_THAT(files.Contents(), ElementsAre(Pair(kPath, "new")));
}

TEST(WriteFileTest, AFailureLeavesTheOldFileOrTheNewOneAndNothingElse) {
  for (int n = 1; n <= kOperations; ++n) {
    FaultyFileSystem files;
    Prepare(&files, "old");
    files.FailOperation(n, ErrnoStatus(EIO, kPath));
    EXPECT_EQ(ErrnoOf(WriteFileAtomically(&files, kPath, "new", Existing::kReplace)), EIO) << n;
    EXPECT_THAT(files.Contents(), ElementsAre(Pair(kPath, n <= kRename ? "old" : "new"))) << n;
  }
}

TEST(WriteFileTest, AFailureLeavesNoFileWhereNoneWas) {
  for (int n = 1; n <= kRename; ++n) {
    FaultyFileSystem files;
    files.FailOperation(n, ErrnoStatus(EIO, kPath));
    EXPECT_EQ(ErrnoOf(WriteFileAtomically(&files, kPath, "new", Existing::kRefuse)), EIO) << n;
    EXPECT_THAT(files.Contents(), IsEmpty()) << n;
  }
}

// The machine crashes at the n-th operation: neither it nor what follows happens.
void ExpectWholeAfterCrash(int n, Names names) {
  FaultyFileSystem files;
  Prepare(&files, "old");
  files.FailFrom(n, ErrnoStatus(EIO, kPath));
  EXPECT_FALSE(WriteFileAtomically(&files, kPath, "new", Existing::kReplace).ok());
  files.Crash(names);
  const auto contents = files.Contents();
  ASSERT_EQ(contents.count(kPath), 1) << n;
  const std::string& found = contents.at(kPath);
  const bool is_renamed = n > kRename && names == Names::kCurrent;
  EXPECT_EQ(found, is_renamed ? "new" : "old") << n;
}

TEST(WriteFileTest, ACrashLeavesAWholeFile) {
  for (int n = 1; n <= kOperations; ++n) {
    ExpectWholeAfterCrash(n, Names::kSynced);
    ExpectWholeAfterCrash(n, Names::kCurrent);
  }
}

TEST(WriteFileTest, ANewFileSurvivesACrash) {
  for (const Names names : {Names::kSynced, Names::kCurrent}) {
    FaultyFileSystem files;
    Prepare(&files, "old");
    EXPECT_EQ(WriteFileAtomically(&files, kPath, "new", Existing::kReplace), absl::OkStatus());
    files.Crash(names);
    EXPECT_THAT(files.Contents(), ElementsAre(Pair(kPath, "new")));
  }
}

TEST(WriteFileTest, ThreadsThatWriteOneFileLeaveOneOfTheirs) {
  std::string folder = ::testing::TempDir() + "/write-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  FileSystem* const files = LocalFileSystem();
  const std::string path = folder + "/" + kPath;
  std::vector<std::thread> threads;
  for (char letter = 'a'; letter < 'e'; ++letter) {
    threads.emplace_back([=] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(WriteFileAtomically(files, path, std::string(5000, letter), Existing::kReplace),
                  absl::OkStatus());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(*files->List(folder), ElementsAre(kPath));
  std::string contents(6000, '\0');
  const auto file = *files->OpenForReading(path);
  EXPECT_EQ(*file->ReadAt(0, absl::MakeSpan(&contents[0], contents.size())), 5000);
  EXPECT_EQ(contents.substr(0, 5000), std::string(5000, contents[0]));
}

}  // namespace
}  // namespace millstream
